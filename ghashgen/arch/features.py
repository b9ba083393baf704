"""The CPU features of an architecture for C: a table, and the variable that hides some."""

from collections.abc import Mapping

FEATURES_OFF = "GHASHGEN_FEATURES_OFF"
"""Environment variable with CPU features to hide on this machine, separated by commas.

``harness/cpu.c`` reads it, so it applies to every program that runs kernels: the harness, the
benchmark, and the verbs that use them (validate, bench, tune, compare, doctor). The emitted
dispatcher uses the same name.
"""

HEADER = "cpu_features.h"
"""The file name by which C includes the table when the harness is compiled."""


def feature_table(features: Mapping[str, str]) -> str:
    """Return `Arch.features` in C: CPU_FEATURES(ROW), with ROW(NAME, "name", how) for each."""
    rows = [f'    ROW({name.upper()}, "{name}", {how})' for name, how in features.items()]
    *lines, last = ["#define CPU_FEATURES(ROW)", *rows]
    width = max(map(len, rows), default=0) + 1
    return "".join(f"{line:<{width}}\\\n" for line in lines) + f"{last}\n"

"""The CPU features of an architecture for C: a table of them, and the variable that hides some."""

from collections.abc import Mapping

FEATURES_OFF = "GHASHGEN_FEATURES_OFF"
"""Environment variable: CPU features that this machine is to lack, separated by commas.

``harness/cpu.c`` reads it, so it holds for every program that runs kernels: the harness and the
benchmark, and what asks them (validate, bench, tune, compare, doctor). The emitted dispatcher knows
it by the same name.
"""

HEADER = "cpu_features.h"
"""The file of the table where the harness is compiled; C includes it by this name."""


def feature_table(features: Mapping[str, str]) -> str:
    """Return `Arch.features` in C: CPU_FEATURES(ROW), which is ROW(NAME, "name", how) for each."""
    rows = [f'    ROW({name.upper()}, "{name}", {how})' for name, how in features.items()]
    *lines, last = ["#define CPU_FEATURES(ROW)", *rows]
    width = max(map(len, rows), default=0) + 1
    return "".join(f"{line:<{width}}\\\n" for line in lines) + f"{last}\n"

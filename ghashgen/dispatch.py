"""The dispatcher: a C file and header with which a program picks a kernel at run time.

Rendered from manifest entries. The CPU detection in it is the text of ``harness/cpu_detect.h``,
which the harness compiles too.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from ghashgen.errors import GhashgenError
from ghashgen.harness import FEATURES
from ghashgen.manifest import Entry
from ghashgen.paths import project_root
from ghashgen.render import PROTOTYPES
from ghashgen.templates import environment

LIBRARY = "ghashgen"
"""What the dispatcher's functions, macros, variables and files begin with, without a prefix."""

_SUFFIXES = ("_dispatch.h", "_dispatch.c")
NAMES = tuple(LIBRARY + suffix for suffix in _SUFFIXES)
"""The files that `render_dispatch` returns, without a prefix."""

PREFERENCE: Mapping[str, tuple[Any, ...]] = {
    "isa": ("avx512", "avx512vl", "avx2", "avx", "sse"),
    "wipe": (False, True),
    "multiply": ("winograd", "karatsuba", "k", "schoolbook"),
    "blocks": (16, 12, 8, 32, 24, 48, 6, 4, 2, 1),
    "order": ("reflected", "natural"),
    "reduce": ("clmul1", "clmul2", "clmul3", "shift-xor"),
}
"""Values of each axis, the preferred first; an earlier axis outweighs all later ones.

A convention (wider registers, then fewer carry-less products), not a measurement. A value that is
not listed comes after those that are; kernels equal in all axes here go by name, so that an axis
at its default, which leaves no trace in the name, is preferred.
"""


def ranked(entries: Iterable[Entry]) -> tuple[Entry, ...]:
    """Return the GHASH kernels of the System V convention, the most preferred first.

    Others are left out: their functions do not have the type or the meaning that the table says.
    """
    fitting = (
        entry
        for entry in entries
        if entry["axes"]["abi"] == "sysv" and entry["axes"].get("op", "ghash") == "ghash"
    )
    return tuple(sorted(fitting, key=_rank))


def _rank(entry: Entry) -> tuple[tuple[int, ...], str]:
    axes = entry["axes"]
    places = tuple(
        values.index(axes[axis]) if axes.get(axis) in values else len(values)
        for axis, values in PREFERENCE.items()
    )
    return places, entry["name"]


def render_dispatch(entries: Iterable[Entry], library: str = LIBRARY) -> dict[str, str]:
    """Return the text of the dispatcher's files by name, for these kernels and no others.

    `library` begins their names and those of everything that they define. The order of `entries`
    does not matter.

    Raises:
        GhashgenError: a kernel needs a CPU feature that the detection does not know.
    """
    kernels = [_row(entry, library) for entry in ranked(entries)]
    values = {
        "library": library,
        "kernels": kernels,
        "features": FEATURES,
        "prototypes": PROTOTYPES,
        "max_bytes": max((kernel["table_bytes"] for kernel in kernels), default=1),
        "max_align": max((kernel["table_align"] for kernel in kernels), default=1),
        "best_align": max((kernel["best_align"] for kernel in kernels), default=1),
        "detection": (project_root() / "harness" / "cpu_detect.h").read_text(encoding="utf-8"),
    }
    return {
        library + suffix: environment().get_template(f"{LIBRARY}{suffix}.j2").render(values)
        for suffix in _SUFFIXES
    }


def _row(entry: Entry, library: str) -> dict[str, Any]:
    needed = set(entry["cpu_features"])
    bit = f"{library.upper()}_CPU_"
    if unknown := sorted(needed - set(FEATURES)):
        raise GhashgenError(
            f"kernel {entry['name']} needs {unknown[0]}, which the dispatcher cannot detect",
            "add it to harness/cpu_detect.h, harness/cpu.h and ghashgen.harness.FEATURES",
        )
    return {
        "name": entry["name"],
        "isa": entry["axes"]["isa"],
        "blocks": entry["axes"]["blocks"],
        "table_bytes": entry["table"]["bytes"],
        "table_align": entry["table"]["align"],
        "best_align": entry["table"]["best_align"],
        # A kernel that needs nothing would fit every x86-64 CPU.
        "needs": " | ".join(bit + n.upper() for n in FEATURES if n in needed) or "0",
        "symbols": entry["symbols"],
        "pointers": [entry["symbols"].get(name, "NULL") for name in PROTOTYPES],
    }

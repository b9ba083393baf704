"""The runtime for threads: a C file and header that hash, seal or open one message in several.

It calls kernels by pointers to their functions, and where the folder has a dispatcher, whatever
that takes. The scheme is that of papers/kryptus-parallel-ghash-contiguous, with pieces in place of
segments a thread: docs/threads.md.
"""

from collections.abc import Collection, Iterable
from math import lcm

from ghashgen.kernels.manifest import Entry
from ghashgen.support.errors import GhashgenError
from ghashgen.support.templates import environment

SUFFIXES = ("_threads.h", "_threads.c")

_DISPATCHERS = {"hash": "_dispatch", "gcm": "_gcm_dispatch"}
"""What the names of the families' dispatchers end in."""

CROSSOVER = 1 << 14
"""Bytes below which a pool hashes in the caller's thread alone, until it is told otherwise: what
the fastest kernels hash in some 500 ns, with which two threads gain (docs/comparisons.md)."""

SPIN_NS = 20000
"""Nanoseconds for which idle threads look for work before they sleep, until told otherwise."""

_LONGEST_GROUP = 256
"""Blocks; groups of many kinds in one folder have no common multiple that is of use."""


def render_threads(
    entries: Iterable[Entry], library: str, beside: Collection[str]
) -> dict[str, str]:
    """Return the text of the runtime's files by name, for the kernels of a folder.

    `library` begins their names and those of everything that they define. `beside` are the folder's
    other files: where a dispatcher of hashes is among them, the runtime takes its keys too.

    Raises:
        GhashgenError: no kernel exports what puts pieces together.
    """
    entries = tuple(entries)
    able = {entry.family for entry in entries if "combine" in entry.symbols}
    if not able:
        raise GhashgenError(
            "no kernel here can put pieces of a message together",
            "add --segments, or leave out --threads",
        )
    group = group_of(int(e.axes["blocks"]) for e in entries if e.family in able)
    there = {family: f"{library}{suffix}.h" in beside for family, suffix in _DISPATCHERS.items()}
    return rendered(
        library,
        group,
        dispatched=there["hash"] and "hash" in able,
        gcm="gcm" in able,
        gcm_dispatched=there["gcm"],
    )


def rendered(
    library: str,
    group: int,
    *,
    dispatched: bool,
    gcm: bool = False,
    gcm_dispatched: bool = False,
) -> dict[str, str]:
    """Return the text of the runtime's files by name, for pieces of so many blocks a group.

    `gcm` adds what seals and opens messages, `dispatched` and `gcm_dispatched` keys from the
    dispatchers' keys.
    """
    values = {
        "library": library,
        "dispatched": dispatched,
        "gcm": gcm,
        "gcm_dispatched": gcm and gcm_dispatched,
        "group": group,
        "crossover": CROSSOVER,
        "spin_ns": SPIN_NS,
    }
    return {
        library + suffix: environment().get_template(f"ghashgen{suffix}.j2").render(values)
        for suffix in SUFFIXES
    }


def group_of(blocks: Iterable[int]) -> int:
    """Return the blocks that a piece is a multiple of, for kernels with groups of so many.

    Their least common multiple, so that a piece is whole groups to each; where that is long, their
    maximum.
    """
    groups = tuple(blocks)
    common = lcm(*groups)
    return common if common <= _LONGEST_GROUP else max(groups)

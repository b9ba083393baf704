"""The thread pool: a C file and header that hash, seal or open one message in several threads.

It calls kernels through function pointers, and the folder's dispatcher if there is one. The scheme
is that of papers/kryptus-parallel-ghash-contiguous, with pieces instead of one segment for each
thread; see docs/threads.md.
"""

from collections.abc import Collection, Iterable
from math import lcm

from ghashgen.kernels.families import brought
from ghashgen.kernels.manifest import Entry
from ghashgen.support.errors import GhashgenError
from ghashgen.support.templates import environment

SUFFIXES = ("_threads.h", "_threads.c")

CROSSOVER = 1 << 14
"""Default length in bytes below which a pool hashes in the caller's thread alone. The fastest
kernels hash this much in some 500 ns; from there two threads gain (docs/comparisons.md).
"""

SPIN_NS = 20000
"""Default time in ns for which idle threads look for work before they sleep."""

_LONGEST_GROUP = 256
"""Longest piece in blocks. Beyond it, the common multiple of many group sizes is of no use."""


def render_threads(
    entries: Iterable[Entry], library: str, beside: Collection[str]
) -> dict[str, str]:
    """Return the pool's files, text by name, for a folder's kernels.

    `library` begins their names and those of everything that they define. `beside` are the folder's
    other files: if they include a dispatcher, the pool also takes the dispatcher's keys.

    Raises:
        GhashgenError: no kernel exports the functions that join pieces.
    """
    entries = tuple(entries)
    able = {entry.family for entry in entries if "combine" in entry.symbols}
    if not able:
        raise GhashgenError(
            "no kernel here can join pieces of a message", "add --segments, or leave out --threads"
        )
    group = group_of(int(e.axes["blocks"]) for e in entries if e.family in able)
    parts = brought("dispatcher")
    there = {family: f"{library}{part}_dispatch.h" in beside for family, part in parts.items()}
    return rendered(
        library,
        group,
        dispatched=there["hash"] and "hash" in able,
        gcm="gcm" in able,
        gcm_dispatched=there["gcm"],
    )


def rendered(
    library: str, group: int, *, dispatched: bool, gcm: bool = False, gcm_dispatched: bool = False
) -> dict[str, str]:
    """Return the pool's files, text by name, for pieces that are multiples of `group` blocks.

    `gcm` adds sealing and opening of messages; `dispatched` and `gcm_dispatched` add pools that
    take the dispatchers' keys.
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
    """Return the number of blocks that a piece is a multiple of, for kernels with these group
    sizes.

    This is the least common multiple, so that a piece is whole groups to every kernel; if that is
    too long, it is the maximum.
    """
    groups = tuple(blocks)
    common = lcm(*groups)
    return common if common <= _LONGEST_GROUP else max(groups)

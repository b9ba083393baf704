"""Tables of the records in docs/bench: the best kernel beside the best peer, by CPU.

A ratio is the peer's time divided by the kernel's, both measured in turns in one process.
"""

import math
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from ghashgen.lab.bench.table import CYCLES_UP_TO
from ghashgen.records.core import (
    EDGES,
    GCM,
    IMIX,
    IMIX_BYTES,
    PIECES,
    PIECES_BYTES,
    SEAL_MODES,
    TEXT,
    Cell,
    Results,
    beside,
)
from ghashgen.records.records import Record

WIDTH = 100
"""Columns of prose."""

LONG_COLUMNS = (
    *(
        ">bytes",
        "kernel",
        ">cycles",
        ">quartiles apart",
        "best peer",
        ">peer's time by the kernel's",
    ),
    *(">calls chained", ">whole GCM messages"),
)
GCM_COLUMNS = (
    *(">key", ">bytes", "kernel", ">cycles", ">quartiles apart", "best peer"),
    *(">peer's time by the kernel's", ">open", ">seal chained", ">open chained", ">text alone"),
)
PIECES_COLUMNS = (
    *(">key", "mode", "kernel", ">cycles", ">its twin that wipes", ">quartiles apart"),
    *("best peer", ">peer's time by the kernel's"),
)
SETUP_COLUMNS = ("subject", ">table bytes", ">cycles")


@dataclass(frozen=True)
class Pair:
    """The best kernel and the best peer of one size and mode."""

    kernel: Cell
    peer: Cell

    @property
    def ratio(self) -> float:
        """The peer's time divided by the kernel's: above 1, the kernel is faster."""
        return self.peer.cycles / self.kernel.cycles


def pair(results: Results, size: int, mode: str = "throughput", key: int = 0) -> Pair | None:
    """Return the best kernel and the best peer at a size in bytes, or None if either is missing.

    For AES-GCM, only those with this key size in bits.
    """
    kernel = results.fastest_kernel(size, mode, key)
    peers = results.of_kind(("peer",), size, mode, key)
    return Pair(kernel, peers[0]) if kernel and peers else None


def figure(cell: Cell) -> str:
    """Return core cycles per call up to 256 bytes, per byte above, with the unit."""
    if cell.size <= CYCLES_UP_TO:
        return f"{cell.cycles:.1f}"
    return f"{cell.per_byte:.3f}/B"


def long_rows(record: Record) -> Iterator[tuple[str, ...]]:
    """Yield one CPU's rows: every size, with spread and the ratios of other ways to call."""
    results = record.results
    for size in [size for mode, size in results.rows() if mode == "throughput"]:
        found = pair(results, size)
        if found is not None:
            others = (pair(results, size, mode) for mode in ("latency", GCM))
            yield (
                str(size),
                f"`{found.kernel.name}`",
                figure(found.kernel),
                _apart(found.kernel),
                found.peer.name,
                f"{found.ratio:.2f}",
                *("" if other is None else f"{other.ratio:.2f}" for other in others),
            )


def gcm_rows(record: Record) -> Iterator[tuple[str, ...]]:
    """Yield one CPU's rows of AES-GCM: each key size with each size of a sealed message."""
    results = record.results
    sizes = [size for mode, size in results.rows() if mode == "seal"]
    for key in results.keys:
        for mode, size in (*(("seal", size) for size in sizes), (IMIX, IMIX_BYTES)):
            if (found := pair(results, size, mode, key)) is None:
                continue
            others = [pair(results, size, other, key) for other in (*SEAL_MODES[1:], TEXT)]
            yield (
                *(str(key), "IMIX" if mode == IMIX else str(size), f"`{found.kernel.name}`"),
                *(figure(found.kernel), _apart(found.kernel), found.peer.name),
                f"{found.ratio:.2f}",
                *("" if other is None else f"{other.ratio:.2f}" for other in others),
            )


def pieces_rows(record: Record) -> Iterator[tuple[str, ...]]:
    """Yield one CPU's rows of messages in pieces; none if none were measured."""
    results = record.results
    for key in results.keys:
        for mode in PIECES:
            if (found := pair(results, PIECES_BYTES, mode, key)) is None:
                continue
            twin = results.cell(_wiping(found.kernel.name), PIECES_BYTES, mode)
            yield (
                *(str(key), mode, f"`{found.kernel.name}`", figure(found.kernel)),
                *("" if twin is None else figure(twin), _apart(found.kernel)),
                *(found.peer.name, f"{found.ratio:.2f}"),
            )


def _wiping(name: str) -> str:
    """Return the name of the wiping variant of a kernel with streams."""
    return name.replace("_streams", "_wipe_streams")


def _apart(cell: Cell) -> str:
    low, high = cell.spread
    return "" if math.isnan(high - low) else f"{100 * (high - low) / cell.cycles:.1f}%"


def setup_rows(record: Record) -> Iterator[tuple[str, ...]]:
    """Yield the key set-up of the kernels in `long_rows`, and of every peer."""
    results = record.results
    named = {
        found.kernel.name
        for mode, size in results.rows()
        for key in results.keys
        if mode not in beside(EDGES) and (found := pair(results, size, mode, key)) is not None
    }
    for name, subject in sorted(results.subjects.items(), key=lambda s: (s[1].kind, s[0])):
        cell = results.cell(name, 0, "init")
        if cell is not None and (name in named or subject.kind == "peer"):
            yield f"`{name}`", str(subject.table_bytes), f"{cell.cycles:.0f}"


def wrapped(text: str) -> str:
    """Return prose in lines of up to WIDTH columns."""
    return textwrap.fill(text, WIDTH, break_long_words=False, break_on_hyphens=False)


def markdown_table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table; a column name with a leading > is right-aligned."""
    rule = ["---:" if column.startswith(">") else "---" for column in columns]
    heads = [column.removeprefix(">") for column in columns]
    return "\n".join(f"| {' | '.join(line)} |" for line in (heads, rule, *rows))


__all__ = [
    "GCM_COLUMNS",
    "LONG_COLUMNS",
    "PIECES_COLUMNS",
    "SETUP_COLUMNS",
    "Pair",
    "figure",
    "gcm_rows",
    "long_rows",
    "markdown_table",
    "pair",
    "pieces_rows",
    "setup_rows",
    "wrapped",
]

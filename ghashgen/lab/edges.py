"""The cost of the edge of mapped memory and of null pointers: tables of the modes in `EDGES`.

Each mode has a baseline mode that differs only in this. A table shows the mode's time, and how many
times as long as the baseline it is.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from ghashgen.lab.bench.table import figure as plain
from ghashgen.lab.standing import span
from ghashgen.records.core import EDGES, Cell, Results, sizes_of
from ghashgen.records.levels import LEVELS
from ghashgen.support.tables import Table

SHOWN = (16, 48, 1500)
"""Sizes behind the page's table, in bytes: one block, less than a wide register, a packet."""

TITLES: Mapping[str, str] = {
    "edge": "message at the end",
    "null": "null, no bytes",
    "seal-aad-null": "seal, AAD null",
    "seal-edge": "seal at the end",
    "open-edge": "open at the end",
}


@dataclass(frozen=True)
class Edge:
    """A subject in a mode of `EDGES` and in its baseline."""

    cell: Cell
    beside: Cell

    @property
    def times(self) -> float:
        """How many times as long it takes at the edge; 1 if that costs nothing."""
        return self.cell.cycles / self.beside.cycles


def edge(
    results: Results, kind: str, mode: str, size: int, key: int = 0, level: int | None = None
) -> Edge | None:
    """Return the subject of a kind that is fastest in the baseline, of one level or of all."""
    for cell in results.of_kind((kind,), size, EDGES[mode], key):
        found = results.cell(cell.name, size, mode)
        if found and level in (None, results.subjects[cell.name].level):
            return Edge(found, cell)
    return None


def edge_cells(results: Results, kind: str) -> Iterator[str]:
    """Yield for each of `TITLES` the least and the greatest cost at the edge; "" if unmeasured.

    Kernels are the fastest of each level and key size; peers have no level, because some choose
    their code at run time.
    """
    levels = range(len(LEVELS)) if kind == "kernel" else (None,)
    for mode in TITLES:
        found = [
            edge(results, kind, mode, size, key, level)
            for size in sizes_of(mode, SHOWN)
            for key in results.keys
            for level in levels
        ]
        times = sorted(one.times for one in found if one)
        yield span(f"{times[0]:.2f}", f"{times[-1]:.2f}") if times else ""


def edge_table(results: Results, key: int = 0) -> Table:
    """Return every mode and size with the kernel and peer that are fastest in its baseline."""
    rows = []
    for mode, size in [row for row in results.rows() if row[0] in EDGES]:
        kernel, peer = (edge(results, kind, mode, size, key) for kind in ("kernel", "peer"))
        if kernel:
            rows.append((mode, f"{size} B", *_columns(kernel), *_columns(peer)))
    title = f"{f'AES-{key}, ' if key else ''}memory as callers have it: core cycles"
    ours = ("mode", ">size", "kernel", ">cycles", ">times mapped")
    theirs = ("peer", ">peer cycles", ">peer times mapped")
    each = {"key": str(key)} if key else {}
    return Table(title, (*ours, *theirs), tuple(rows), each=each)


def _columns(found: Edge | None) -> tuple[str, str, str]:
    if found is None:
        return "no peer", "-", "-"
    return found.cell.name, plain(found.cell), f"{found.times:.2f}"

"""The length from which threads help: from a record, and from a paper's own figures."""

from collections.abc import Iterable

from ghashgen.lab.compare.core import PaperRow
from ghashgen.lab.compare.record import Record
from ghashgen.lab.compare.table import NOTHING
from ghashgen.records.core import size_name
from ghashgen.support.tables import Table

HELPED = 1.05
"""The least speed-up that counts; less is noise (docs/comparisons.md)."""

SAYS = (
    "Crossover: the shortest measured message from which on threads were always faster, by 5% or "
    "more. The true crossover lies between it and the length measured before it. With ≤, that "
    "length has no figure, so the crossover may be shorter."
)


def crossover(ratios: Iterable[tuple[int, float | None]]) -> tuple[int | None, bool]:
    """Return the least size from which on all ratios are at least `HELPED`, or None.

    Also return whether it may be smaller, because the size before it has no ratio.
    """
    found = None
    for size, ratio in sorted(ratios, reverse=True):
        if ratio is None or ratio < HELPED:
            return found, ratio is None
        found = size
    return found, False


def crossovers(record: Record, papers: Iterable[PaperRow]) -> Table:
    """Return a row for each way with several threads, and what the paper's figures say."""
    lines = []
    for row in record.rows:
        if row.figures and int(row.subject.split()[-1]) > 1:
            cell = _cell((f.size, f.ratio) for f in row.figures)
            last = row.figures[-1].ratio
            lines.append((row.group, row.label, cell, NOTHING if last is None else f"×{last:.2f}"))
    for paper in papers:
        cell = _cell(paper.ratios.items())
        lines.append(("the paper's", paper.label, cell, f"×{_last(paper):.2f}"))
    columns = ("group", "way", ">crossover", ">× at the longest")
    return Table("crossover", columns, tuple(lines))


def _last(paper: PaperRow) -> float:
    return paper.ratios[max(paper.ratios)]


def _cell(ratios: Iterable[tuple[int, float | None]]) -> str:
    size, may_be_less = crossover(ratios)
    if size is None:
        return "not measured" if may_be_less else "none"
    return f"≤ {size_name(size)}" if may_be_less else size_name(size)

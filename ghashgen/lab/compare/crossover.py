"""From which length on threads help: read off a record, beside what a paper's own figures say."""

from collections.abc import Iterable

from ghashgen.lab.compare.core import PaperRow
from ghashgen.lab.compare.record import Record
from ghashgen.records.core import size_name
from ghashgen.support.tables import Table

HELPED = 1.05
"""The least speed-up that is one: less is noise (docs/comparisons.md)."""

SAYS = (
    "Crossover: the shortest message measured from which on, at every longer one too, threads were "
    "faster by 5% or more. At the length before it they were not, so the true one lies between."
)


def crossover(ratios: Iterable[tuple[int, float | None]]) -> int | None:
    """Return the least size from which on all ratios are `HELPED` or more; None without one."""
    found = None
    for size, ratio in sorted(ratios, reverse=True):
        if ratio is None or ratio < HELPED:
            break
        found = size
    return found


def crossovers(record: Record, papers: Iterable[PaperRow]) -> Table:
    """Return a row for each way of several threads, and what the paper's figures say."""
    lines = []
    for row in record.rows:
        if row.figures and int(row.subject.split()[-1]) > 1:
            at = crossover((f.size, f.ratio) for f in row.figures)
            lines.append((row.group, row.label, *_cells(at), f"×{row.figures[-1].ratio or 0:.2f}"))
    for paper in papers:
        at = crossover(paper.ratios.items())
        lines.append(("the paper's", paper.label, *_cells(at), f"×{_last(paper):.2f}"))
    columns = ("group", "way", ">crossover", ">× at the longest")
    return Table("crossover", columns, tuple(lines))


def _last(paper: PaperRow) -> float:
    return paper.ratios[max(paper.ratios)]


def _cells(at: int | None) -> tuple[str]:
    return (size_name(at) if at else "none",)

"""From which length on threads help, as a record and the paper's figures say."""

from ghashgen.lab.compare.core import PaperRow
from ghashgen.lab.compare.crossover import HELPED, crossover, crossovers
from ghashgen.lab.compare.record import Figure, Record, Row


def test_it_is_where_threads_help_from_there_on() -> None:
    assert crossover([(1, 0.5), (2, HELPED), (4, 1.9)]) == (2, False)
    assert crossover([(4, 1.9), (1, 0.5), (2, HELPED - 0.01)]) == (4, False)
    assert crossover([(1, 1.9), (2, 0.9), (4, 1.9)]) == (4, False)
    assert crossover([(1, 1.9), (2, 1.9), (4, 1.0)]) == (None, False)
    assert crossover([(1, 1.9), (2, None), (4, 1.9)]) == (4, True)
    assert crossover([(2, 1.9), (4, None)]) == (None, True)
    assert crossover([]) == (None, False)


def row(way: str, ratios: dict[int, float | None]) -> Row:
    figures = tuple(Figure(n, 1, 1, 1, r, r, r, 2, 50, 0) for n, r in ratios.items())
    return Row("code", f"a pool, {way}", f"code {way}", True, "", "", figures)


def test_rows_of_several_threads_stand_beside_the_papers() -> None:
    rows = (
        row("one 1", {1024: 1.0, 8192: 1.0}),
        row("pool 2", {1024: 0.9, 8192: 1.5}),
        row("spawn 2", {1024: 0.1, 8192: 0.2}),
        row("missing 2", {}),
        row("sleeping 2", {1024: None, 8192: 1.5}),
        row("lone 2", {1024: 1.5, 8192: None}),
    )
    record = Record("kryptus", "a core", 2.0, "abc", "threads", 2, 51, (1024, 8192), rows)
    paper = PaperRow("4 threads", "Table 1", {1024: 0.1, 8192: 1.1})
    assert crossovers(record, [paper]).rows == (
        ("code", "a pool, pool 2", "8 KiB", "×1.50"),
        ("code", "a pool, spawn 2", "none", "×0.20"),
        ("code", "a pool, sleeping 2", "≤ 8 KiB", "×1.50"),
        ("code", "a pool, lone 2", "not measured", "–"),
        ("the paper's", "4 threads", "8 KiB", "×1.10"),
    )

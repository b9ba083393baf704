"""The model of more threads than were measured: what it is fitted to, and what bounds it."""

import pytest
from click.testing import CliRunner

from ghashgen.cli.verbs import compare as command
from ghashgen.lab.compare.document import block
from ghashgen.lab.compare.record import Figure, Record, Row
from ghashgen.lab.compare.registry import studies
from ghashgen.lab.compare.scaling import (
    FROM_MEMORY,
    SIZES,
    THREADS,
    Fit,
    bytes_a_cycle,
    fits,
    fitted,
    scaling,
)

COST = 500.0
"""h, in cycles."""

SMALL = 1 << 10
"""Bytes at which a second thread does not help."""


def row(way: str, cycles: dict[int, float], group: str = "code") -> Row:
    """One row, its figures without a spread."""
    figures = tuple(Figure(n, c, c, c, None, None, None, 2, 50, 0) for n, c in cycles.items())
    return Row(group, f"a pool, {way}", f"code {way}", True, "", "", figures)


ONE = row("one 1", {n: n / 2 for n in (SMALL, *SIZES)})
TWO = row("pool 2", {SMALL: 2000, **{n: n / 4 + COST for n in SIZES}})


def record(*rows: Row) -> Record:
    return Record("kryptus", "a core", 2.0, "abc", "threads", 2, 51, (SMALL, *SIZES), rows)


def the_fit() -> Fit:
    found = fitted(ONE, TWO)
    assert found is not None
    return found


def test_what_a_thread_costs_is_found_again() -> None:
    assert the_fit().cost == pytest.approx(COST)
    assert the_fit().error == pytest.approx(0, abs=1e-12)


def test_the_error_is_the_worst_of_what_was_fitted() -> None:
    measured = {n: n / 4 + COST for n in SIZES}
    measured[SIZES[1]] *= 1.1
    found = fitted(ONE, row("pool 2", measured))
    assert found is not None
    errors = [abs(n / 4 + found.cost - time) / time for n, time in measured.items()]
    assert found.error == pytest.approx(max(errors))
    assert found.error > 0.05


def test_threads_that_never_help_have_no_model() -> None:
    assert fitted(ONE, row("pool 2", {n: float(n) for n in SIZES})) is None
    assert scaling(record(ONE)).rows == ()


def test_a_call_takes_as_many_threads_as_pay() -> None:
    one = SIZES[0] / 2
    best = max(one / (one / t + COST * (t - 1)) for t in range(1, 65))
    assert the_fit().speed_up(SIZES[0], 64) == pytest.approx(best)
    assert the_fit().speed_up(SMALL, 64) == 1
    assert the_fit().speed_up(4096, 64) is None


def test_memory_bounds_what_does_not_fit_into_caches() -> None:
    bound = bytes_a_cycle([the_fit()])
    size = max(SIZES)
    assert size >= FROM_MEMORY
    assert bound == pytest.approx(size / (size / 4 + COST))
    two = the_fit().speed_up(size, 2, bound)
    assert two == pytest.approx(the_fit().speed_up(size, 2))
    assert the_fit().speed_up(size, 64, bound) == pytest.approx(two)
    unbounded = the_fit().speed_up(size, 64)
    assert unbounded is not None
    assert unbounded > 30
    assert the_fit().speed_up(SIZES[0], 8, bound) == the_fit().speed_up(SIZES[0], 8)


def test_only_rows_of_two_threads_are_fitted_each_in_its_group() -> None:
    other = row("one 1", {n: n / 8 for n in SIZES}, "faster code")
    four = row("pool 4", {n: n / 8 + COST for n in SIZES})
    slow = row("pool 2", {n: n / 16 + 2 * COST for n in SIZES}, "faster code")
    found = list(fits(record(ONE, TWO, four, other, slow)))
    assert [(f.alone, f.shared) for f in found] == [(ONE, TWO), (other, slow)]
    assert [round(f.cost) for f in found] == [COST, 2 * COST]


def test_the_table_gives_two_figures_where_memory_may_bind() -> None:
    found = scaling(record(ONE, TWO))
    assert len(found.rows) == len(SIZES)
    assert all(len(line) == len(found.columns) == 5 + len(THREADS) for line in found.rows)
    assert found.rows[0][:4] == ("code", "a pool", "0.25", "0%")
    assert ["to" in line[-1] for line in found.rows] == [False, False, True]


def test_the_document_says_that_it_is_a_model() -> None:
    study = studies()["kryptus"]
    text = block(study, [record(ONE, TWO)])
    assert "a model, not a measurement" in " ".join(text.split())
    assert "| code | a pool | 0.25 | 0% |" in text
    assert [s.name for s in studies().values() if s.derived] == ["kryptus"]


def test_the_verb_prints_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(command, "_measured", lambda *arguments: record(ONE, TWO))
    said = CliRunner().invoke(command.COMMAND, ["kryptus"], catch_exceptions=False)
    assert "0.25\t0%" in said.output
    assert "a model, not a measurement" in said.output
    plain = CliRunner().invoke(command.COMMAND, ["kryptus", "--json"], catch_exceptions=False)
    assert '"64 threads"' in plain.output

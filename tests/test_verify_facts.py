"""Numbers with several unknowns against brute force: what facts say, what rows make of them.

The quick form of `ghashgen attack --part facts` (`check/attack/facts_cases.py`).
"""

import random
from collections import Counter
from collections.abc import Callable
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

from ghashgen.check.attack.core import Options
from ghashgen.check.attack.facts_cases import differences, drawn, questions
from ghashgen.check.attack.parts.facts import tasks, work
from ghashgen.check.attack.unknown_cases import codes
from ghashgen.verify.core import linear
from ghashgen.verify.core.linear import Facts
from ghashgen.verify.core.refutation import Refutation
from ghashgen.verify.machine import flags
from ghashgen.verify.rules.state import State
from ghashgen.verify.x86_64.rows.table import code_name

SEED = 1

COMPARISONS = tuple(code for code in codes() if code_name(code).startswith(("CMP", "SUB")))


def findings(forms: int, asked: int, seen: Counter[str]) -> list[str]:
    """Return what is wrong with some forms, and with some answers."""
    rng = random.Random(SEED)
    chosen = [*rng.sample(codes(), forms), *(code for code in COMPARISONS for _ in range(2))]
    wrong = [one for _ in range(asked) for one in questions(rng, seen)]
    for code in chosen:
        wrong += differences(drawn(code, rng), seen)
    return wrong


def test_facts_and_rows_are_right_for_every_assignment() -> None:
    seen: Counter[str] = Counter()
    assert findings(60, 400, seen) == []
    # It is not by refusing everything, or by asking for no cases, that nothing is wrong.
    assert seen["run"] > 60
    assert seen["decided"] > seen["open"], seen
    assert seen["divided"] > 5
    assert seen["asked"] > 1000
    assert seen["impossible"] > 10


Plant = Callable[[pytest.MonkeyPatch], None]


def least_is_one_more(monkeypatch: pytest.MonkeyPatch) -> None:
    """The least value of a number is said to be one more than it is."""
    real = Facts.least
    monkeypatch.setattr(Facts, "least", lambda self, a, *more: real(self, a, *more) + 1)


def constraint_the_wrong_way(monkeypatch: pytest.MonkeyPatch) -> None:
    """A constraint tightens the other end of a range."""
    real = Facts.with_not_negative
    monkeypatch.setattr(
        Facts,
        "with_not_negative",
        lambda self, *numbers: real(self, *(linear.times(a, -1) for a in numbers)),
    )


def a_value_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a number with few values the last is no case."""
    real = Facts.each
    monkeypatch.setattr(Facts, "each", lambda self, e, u: real(self, e, u)[:-1])


def a_residue_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of the residues of a number one is no case."""
    real = Facts.residues
    monkeypatch.setattr(Facts, "residues", lambda self, a, step: real(self, a, step)[1:])


def equal_is_no_case(monkeypatch: pytest.MonkeyPatch) -> None:
    """A number is above 0 or below, never 0."""
    monkeypatch.setattr(flags, "equal_or_not", lambda e: linear.equal_or_not(e)[1:])


def flags_keep_their_unknowns(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where unknowns are numbers, registers keep the unknowns as they were."""
    monkeypatch.setattr(State, "renamed", lambda self, values, facts: _only_facts(self, facts))


def _only_facts(state: State, facts: Facts) -> State:
    state.machine.memory.facts = facts
    return state


def results_are_not_narrowed(monkeypatch: pytest.MonkeyPatch) -> None:
    """No number wraps around."""
    monkeypatch.setattr(Facts, "reduced", lambda self, a, bits: a)


def sign_of_64_bits(monkeypatch: pytest.MonkeyPatch) -> None:
    """A number that fits in 63 bits has no sign, at any width."""
    real = Facts.bit

    def bit(self: Facts, a: Any, k: int) -> bool | None:
        return False if not isinstance(a, int) and self.fits(a, 63) else real(self, a, k)

    monkeypatch.setattr(Facts, "bit", bit)


def shifted_as_it_stands(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is shifted out of a number is 0."""
    monkeypatch.setattr(Facts, "low_bits", lambda self, a, count: 0)


PLANTS: tuple[tuple[Plant, int, int], ...] = (
    (least_is_one_more, 0, 30),
    (constraint_the_wrong_way, 0, 30),
    (a_value_left_out, 40, 0),
    (a_residue_left_out, 40, 0),
    (equal_is_no_case, 0, 0),
    (flags_keep_their_unknowns, 40, 0),
    (results_are_not_narrowed, 40, 0),
    (sign_of_64_bits, 40, 0),
    (shifted_as_it_stands, 100, 0),
)
"""A mistake, and with how many forms, beside comparisons, and how many questions it is found."""


@pytest.mark.parametrize(
    ("plant", "forms", "asked"), PLANTS, ids=lambda p: getattr(p, "__name__", "")
)
def test_a_planted_mistake_is_found(
    plant: Plant, forms: int, asked: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    plant(monkeypatch)
    try:
        found = findings(forms, asked, Counter())
    except (Refutation, AssertionError, KeyError) as error:
        # The register file has refused it, or it asks for cases without end.
        found = [repr(error)]
    assert found


def test_the_part_finds_a_planted_mistake(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    forms = list(islice(tasks(Options(SEED, tmp_path)), 4))
    right = [work(Options(SEED, tmp_path), task) for task in forms]
    assert not any(outcome.findings for outcome in right)
    assert sum(outcome.right for outcome in right) > 10
    least_is_one_more(monkeypatch)
    assert any(work(Options(SEED, tmp_path), task).findings for task in forms)

"""Rules of the checker, each with a fault planted in it: a small function that is wrong shows it.

The functions are wrong for a few lengths or in one byte. The rules refuse them; with a rule that is
broken on purpose they are accepted, so a test would notice such a rule.
"""

import random
from collections.abc import Mapping
from itertools import product
from typing import Any

import pytest

from ghashgen.arch.x86_64.assemblers import find_nasm
from ghashgen.check.attack.facts_cases import value_at
from ghashgen.check.attack.toy.claim import NAME, Claim, meaning
from ghashgen.check.attack.toy.judge import END, HEAD
from ghashgen.support.toolchain import assemble_text
from ghashgen.verify.checking import NOTHING, check_case
from ghashgen.verify.core import renumbering
from ghashgen.verify.core.linear import Case, Facts
from ghashgen.verify.core.moves import apply_moves
from ghashgen.verify.core.numbers import Number, combined, linear
from ghashgen.verify.core.refutation import Refutation
from ghashgen.verify.core.renumbering import renumbered
from ghashgen.verify.core.term import Lane, Term
from ghashgen.verify.core.terms import Terms
from ghashgen.verify.core.values import Linear
from ghashgen.verify.rules.state import State
from ghashgen.verify.x86_64.elf import load_image

DONE = Claim(0, {})
"""The claim that a function returns 0."""


def accepts(lines: str, claim: Claim = DONE, certificate: object = NOTHING) -> bool:
    """Return whether a function of any length is accepted."""
    image = load_image(assemble_text(find_nasm(), NAME, HEAD + lines + END, "elf64"))
    try:
        check_case(image, meaning(claim, (0, 1 << 40)), certificate)
    except Refutation:
        return False
    return True


OF_FOUR = """
    mov rax, rdx
    and rax, 3
    cmp rax, {}
    je .other
    mov eax, 0
.other:
    ret
"""
"""Returns 0, or the residue of the length modulo 4 if it is one value."""


@pytest.mark.parametrize("residue", [1, 2, 3])
def test_every_residue_is_a_case(residue: int, monkeypatch: pytest.MonkeyPatch) -> None:
    assert accepts(OF_FOUR.format(0))
    assert not accepts(OF_FOUR.format(residue))
    real = Facts.residues

    def missing(self: Facts, a: Linear, step: int) -> tuple[Case, ...]:
        return tuple(c for k, c in enumerate(real(self, a, step)) if k != residue)

    monkeypatch.setattr(Facts, "residues", missing)
    assert accepts(OF_FOUR.format(residue))


BELOW = "    mov eax, {}\n    cmp rdx, 100\n    jb .end\n    mov eax, {}\n.end:\n    ret\n"


def test_both_sides_of_a_comparison_are_cases(monkeypatch: pytest.MonkeyPatch) -> None:
    assert accepts(BELOW.format(0, 0))
    assert not accepts(BELOW.format(1, 0))
    assert not accepts(BELOW.format(0, 1))
    real = State.each
    monkeypatch.setattr(State, "each", lambda self, cases: real(self, list(cases)[:1]))
    assert [accepts(BELOW.format(*k)) for k in ((1, 0), (0, 1))].count(True) == 1


SUM = "    lea rax, [rdx + rdx]\n    sub rax, rdx\n    sub rax, rdx\n    ret\n"
"""Returns 0."""
WRAPS = "    mov rax, rdx\n    add rax, {}\n    jc .end\n    mov eax, 0\n.end:\n    ret\n"


def test_a_number_that_wraps_around_is_a_case(monkeypatch: pytest.MonkeyPatch) -> None:
    assert accepts(SUM)
    assert not accepts(WRAPS.format(-3))
    monkeypatch.setattr(Facts, "reduced", lambda self, a, bits: a if isinstance(a, int) else 0)
    assert accepts(WRAPS.format(-3))


TWO = "    cmp rdx, 16\n    jb .end\n    cmp rdx, {}\n    jae .end\n    mov eax, 1\n    ret\n"
TWO += ".end:\n    mov eax, 0\n    ret\n"


def test_two_comparisons_leave_what_both_allow(monkeypatch: pytest.MonkeyPatch) -> None:
    assert accepts(TWO.format(16))
    assert not accepts(TWO.format(17))
    real = Facts.with_not_negative
    off = lambda self, *numbers: real(self, *(combined(a, 1, -1) for a in numbers))  # noqa: E731
    monkeypatch.setattr(Facts, "with_not_negative", off)
    assert accepts(TWO.format(17))


# Numbers by two facts.

UNKNOWNS = {"a": (0, 9), "b": (0, 9), "c": (0, 9)}


def assignments(facts: Facts) -> list[dict[str, int]]:
    """Return all that the unknowns may be."""
    every = (dict(zip("abc", values, strict=True)) for values in product(range(10), repeat=3))
    return [
        one for one in every
        if all(value_at(known, one) >= 0 for known in facts.not_negative)
        and all(low <= one[u] <= high for u, (low, high) in facts.ranges.items())
    ]  # fmt: skip


def too_high(rng: random.Random, tries: int) -> tuple[int, int]:
    """Return how often `least` is above a value that is allowed, and how often two facts help."""
    wrong = helped = 0
    for _ in range(tries):
        k = lambda: {u: rng.choice((0, 1, 1, -1, -1, 2, -3)) for u in "abc"}  # noqa: E731
        known = [linear(rng.randrange(0, 9), k()) for _ in range(3)]
        facts, a = Facts(dict(UNKNOWNS)).with_not_negative(*known), linear(0, k())
        if not (left := assignments(facts)):
            continue
        least = facts.least(a)
        wrong += least > min(value_at(a, one) for one in left)
        helped += least > facts.least(a, more=1)
    return wrong, helped


def test_two_facts_answer_no_more_than_is_so(monkeypatch: pytest.MonkeyPatch) -> None:
    wrong, helped = too_high(random.Random(5), 300)
    assert (wrong, helped > 2) == (0, True)
    real = Facts._least
    monkeypatch.setattr(Facts, "_least", lambda self, *given: real(self, *given) + 1)
    assert too_high(random.Random(5), 60)[0] > 10


def test_a_fact_that_is_wrong_is_not_shown_by_two_others() -> None:
    """With a <= b and b <= c, c - a is not negative, and may be 0."""
    order = [linear(0, {"a": -1, "b": 1}), linear(0, {"b": -1, "c": 1})]
    facts, difference = Facts(dict(UNKNOWNS)), linear(0, {"a": -1, "c": 1})
    both = facts.with_not_negative(*order)
    assert both.shows(difference)
    assert not both.shows(combined(difference, 1, -1))
    assert not any(facts.with_not_negative(one).shows(difference) for one in order)
    assert both.least(difference, more=1) < 0


# Bits of numbers in vector registers.

FACTS = Facts({"n": (0, 15), "m": (0, 15)})
CASE: Mapping[str, Number] = {"n": linear(3, {"n_4": 4})}
AFTER = Facts({"m": (0, 15), "n_4": (0, 3)})


def valued(lane: Lane, numbers: Mapping[str, int]) -> int:
    """Return the bits of a sum of linear functions of numbers."""
    if isinstance(lane, int):
        return lane
    match lane.op, lane.args:
        case "number", (value,):
            assert isinstance(value, Linear)
            return value_at(value, numbers) & lane.mask
        case "xor", (a, b):
            return valued(a, numbers) ^ valued(b, numbers)  # type: ignore[arg-type]
        case "moves", (a, moves):
            return apply_moves(valued(a, numbers), moves)  # type: ignore[arg-type]
    raise AssertionError(lane)


def sums(rng: random.Random, terms: Terms, count: int) -> list[Term]:
    """Return sums of moved bits of numbers."""
    out: list[Lane] = [
        terms.number(Linear(rng.randrange(4), ((u, rng.choice((1, 8))),)), FACTS) for u in "nmn"
    ]
    for _ in range(count):
        a, b = rng.choice(out), rng.choice(out)
        moves = ((rng.choice((-3, 0, 8, 64)), (1 << 100) - 1), (70, 0xFF << 70))
        out.append(rng.choice((terms.xor(a, b), terms.moves(a, moves), terms.xor(a, 5))))
    return [lane for lane in out if isinstance(lane, Term)]


def differences(seed: int) -> int:
    """Return how many sums have other bits in a case than before."""
    terms, rng = Terms(lambda kind, power: NotImplemented), random.Random(seed)
    done: dict[Term, Lane] = {}
    wrong = 0
    for one in sums(rng, terms, 12):
        new = renumbered(terms, one, CASE, AFTER, done)
        for few, m in product(range(4), range(0, 16, 5)):
            before = valued(one, {"n": 3 + 4 * few, "m": m})
            wrong += before != valued(new, {"n_4": few, "m": m})
    return wrong


def test_the_bits_of_a_number_follow_a_case() -> None:
    assert [differences(seed) for seed in range(20)] == [0] * 20


def test_another_number_in_a_case_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    real: Any = renumbering.replaced
    monkeypatch.setattr(renumbering, "replaced", lambda a, v: combined(real(a, v), 1))
    assert differences(0)


def test_parts_that_a_case_does_not_reach_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(renumbering, "rebuilt", lambda terms, term, *arguments: arguments[0])
    assert differences(0)

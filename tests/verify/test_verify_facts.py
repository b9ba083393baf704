"""Numbers with unknowns against brute force: what facts say, and what rows make of them.

At every width, sign and condition. The quick form of `ghashgen attack --part facts`
(`check/attack/facts_cases.py`), and addresses.
"""

import random
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any

import pytest
from iced_x86 import Code, Instruction, OpKind, Register

from ghashgen.check.attack.core import Options
from ghashgen.check.attack.facts_cases import condition, differences, drawn, machine, questions
from ghashgen.check.attack.forms import RAX, RDX, codes, instruction
from ghashgen.check.attack.parts.facts import tasks, work
from ghashgen.verify.core import linear
from ghashgen.verify.core.linear import Facts
from ghashgen.verify.core.refutation import Refutation
from ghashgen.verify.core.term import Lane
from ghashgen.verify.core.values import M64, Linear, Pointer, Value
from ghashgen.verify.machine import flags
from ghashgen.verify.machine.machine import Machine
from ghashgen.verify.rules.state import State
from ghashgen.verify.x86_64 import operands
from ghashgen.verify.x86_64.conditions import CONDITIONS
from ghashgen.verify.x86_64.rows import general
from ghashgen.verify.x86_64.rows.table import code_name, rows, step_of

SEED = 1

COMPARISONS = tuple(code for code in codes() if code_name(code).startswith(("CMP", "SUB")))


ROUNDS = 8
"""Rounds for every form; more of them find no more, but cost more."""


def findings(forms: int, asked: int, seen: Counter[str]) -> list[str]:
    """Return what is wrong with some forms, and with some answers."""
    rng = random.Random(SEED)
    chosen = [*rng.sample(codes(), forms), *(code for code in COMPARISONS for _ in range(4))]
    wrong = [one for _ in range(asked) for one in questions(rng, seen)]
    for code in chosen:
        wrong += differences(drawn(code, rng), seen)
    return wrong


def test_every_form_has_a_row() -> None:
    assert len(set(codes())) == len(codes()) > 140
    assert all(code in rows() for code in codes())


def test_facts_are_right_for_every_assignment() -> None:
    seen: Counter[str] = Counter()
    rng = random.Random(SEED)
    assert [one for _ in range(400) for one in questions(rng, seen)] == []
    assert seen["asked"] > 1000
    assert seen["impossible"] > 10


def test_rows_are_right_for_every_assignment() -> None:
    seen: Counter[str] = Counter()
    rng = random.Random(SEED)
    wrong = []
    for code in codes():
        for _ in range(ROUNDS):
            wrong += differences(drawn(code, rng), seen)
    assert wrong == []
    # It is not by refusing everything, or by asking for no cases, that nothing is wrong.
    assert seen["run"] > ROUNDS * len(codes())
    assert seen["run"] > 2 * seen["refused"], seen
    assert seen["decided"] > 3 * seen["open"], seen
    assert seen["decided"] > 100 * seen["open although all agree"], seen
    assert seen["divided"] > 100


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


def less_by_its_sign(monkeypatch: pytest.MonkeyPatch) -> None:
    """A difference has the sign that it has as a whole number, whatever its width."""
    real = Facts.bit

    def bit(self: Facts, a: Any, k: int) -> bool | None:
        return real(self, a, k) if isinstance(a, int) else self.greatest(a) < 0

    monkeypatch.setattr(Facts, "bit", bit)


def at_most_is_less(monkeypatch: pytest.MonkeyPatch) -> None:
    """What compares as equal is not at most the other."""
    real = general.of_difference

    def less(*given: Any) -> flags.Flags:
        out = real(*given)
        return replace(out, at_most=out.carry)

    monkeypatch.setattr(general, "of_difference", less)


def lanes_of_32_bits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a number in a vector register the upper half is 0."""
    real = operands.to_vector

    def lower(m: Machine, value: Value) -> Lane:
        lane = real(m, value)
        return m.terms.keep(lane, (1 << 32) - 1) if isinstance(value, Linear) else lane

    monkeypatch.setattr(operands, "to_vector", lower)


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
    (less_by_its_sign, 40, 0),
    (at_most_is_less, 0, 0),
    (lanes_of_32_bits, 145, 0),
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


# Addresses: compared as their offsets are only while they lie in their buffer.


def pointers(rng: random.Random) -> tuple[Pointer, Pointer]:
    offsets = [rng.choice((0, 1, 16, 63, 64, 65, -1, -16, 1000, -(1 << 63))) for _ in range(2)]
    first, second = (Pointer("buffer", offset) for offset in offsets)
    return first, second


def test_addresses_compare_wherever_the_buffer_lies() -> None:
    rng = random.Random(SEED)
    seen: Counter[str] = Counter()
    code = Code.CMP_RM64_R64
    for _ in range(400):
        a, b = pointers(rng)
        i = instruction(code, rng)
        if i.op0_register == i.op1_register:
            continue
        symbolic = machine({RAX: a, RDX: b})
        step_of(i)(symbolic)
        for start in (0, 16, 1 << 32, (1 << 63) - 32, (1 << 63) + 5, M64 - 64):
            concrete = machine({RAX: a.offset + start & M64, RDX: b.offset + start & M64})
            step_of(i)(concrete)
            for name in CONDITIONS:
                said = condition(symbolic, name)
                seen["open" if said is None else "decided"] += 1
                assert said in (None, condition(concrete, name)), (a, b, start, name)
    assert seen["decided"] > 1000
    assert seen["open"] > 1000


def test_an_address_is_neither_zero_nor_not_zero() -> None:
    for code in (Code.TEST_RM64_R64, Code.CMP_RM64_IMM8, Code.ADD_RM64_IMM8, Code.OR_RM64_IMM8):
        i = Instruction()
        i.code = code
        i.set_op_register(0, Register.RAX)
        if code == Code.TEST_RM64_R64:
            i.set_op_register(1, Register.RAX)
        else:
            i.set_op_kind(1, OpKind.IMMEDIATE8TO64)
            i.immediate8to64 = 0
        m = machine({RAX: Pointer("buffer", 0)})
        step_of(i)(m)
        assert all(condition(m, name) is None for name in ("e", "ne", "s", "ns", "le", "g"))

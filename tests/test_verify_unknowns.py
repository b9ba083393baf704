"""Arithmetic and flags of unknown lengths against brute force, at every width, sign and condition.

The quick form of `ghashgen attack --part unknowns` (`check/attack/unknown_cases.py`), and what else
is said of unknowns: addresses, claims, the greatest lengths.
"""

import random
from collections import Counter
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path

import pytest
from iced_x86 import Code, Instruction, OpKind, Register

from ghashgen.check.attack.core import Options
from ghashgen.check.attack.parts.unknowns import tasks, work
from ghashgen.check.attack.unknown_cases import (
    RAX,
    RDX,
    Case,
    codes,
    condition,
    differences,
    drawn,
    instruction,
    machine,
)
from ghashgen.verify.core import values
from ghashgen.verify.core.lengths import Claim
from ghashgen.verify.core.refutation import Refutation
from ghashgen.verify.core.values import (
    M64,
    Affine,
    Number,
    Pointer,
    equals,
    shift_number,
)
from ghashgen.verify.x86_64.conditions import CONDITIONS
from ghashgen.verify.x86_64.rows.table import rows, step_of

SEED, ROUNDS = 1, 60
"""Rounds for every instruction form; more of them find no more, but cost more."""


def rounds(count: int) -> Iterator[Case]:
    rng = random.Random(SEED)
    for code in codes():
        for _ in range(count):
            yield drawn(code, rng)


def test_every_form_has_a_row() -> None:
    assert len(set(codes())) == len(codes()) > 150
    assert all(code in rows() for code in codes())


def test_unknowns_are_exact_or_refused() -> None:
    seen: Counter[str] = Counter()
    wrong = []
    for case in rounds(ROUNDS):
        wrong += differences(case, seen)
    assert wrong == []
    # It is not by refusing everything that nothing is wrong.
    assert seen["run"] > 4 * len(codes())
    assert seen["decided"] > 8 * seen["open although all agree"], seen


PLANTED: dict[str, Callable[[Number, int], bool | None]] = {
    "the sign bit of a difference for less-than": lambda a, k: (
        a.greatest < 0 if isinstance(a, Affine) else bool(a >> k & 1)
    ),
    "the sign of 64 bits at every width": lambda a, k: (
        False if isinstance(a, Affine) and a.greatest >> 63 == 0 else flags_bit(a, k)
    ),
}

flags_bit = values.bit


@pytest.mark.parametrize("name", sorted(PLANTED))
def test_a_planted_mistake_is_found(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(values.Ranges, "bit", staticmethod(PLANTED[name]))
    seen: Counter[str] = Counter()
    assert any(differences(case, seen) for case in rounds(8))


def test_the_part_finds_a_planted_mistake(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    name = "the sign bit of a difference for less-than"
    forms = list(islice(tasks(Options(SEED, tmp_path)), 12))
    right = [work(Options(SEED, tmp_path), task) for task in forms]
    assert not any(outcome.findings for outcome in right)
    assert sum(outcome.right for outcome in right) > 50
    monkeypatch.setattr(values.Ranges, "bit", staticmethod(PLANTED[name]))
    assert any(work(Options(SEED, tmp_path), task).findings for task in forms)


def test_a_result_that_is_not_narrowed_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(values, "reduced", lambda a, bits: a)
    monkeypatch.setattr(values.Ranges, "reduced", staticmethod(lambda a, bits: a))
    seen: Counter[str] = Counter()
    found = []
    for case in rounds(8):
        try:
            found += differences(case, seen)
        except Refutation:
            # The register file or the memory has refused it.
            found.append("refused")
    assert found


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
        symbolic = machine({RAX: a, RDX: b}, (0, 0))
        step_of(i)(symbolic)
        for start in (0, 16, 1 << 32, (1 << 63) - 32, (1 << 63) + 5, M64 - 64):
            concrete = machine({RAX: a.offset + start & M64, RDX: b.offset + start & M64}, (0, 0))
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
        m = machine({RAX: Pointer("buffer", 0)}, (0, 0))
        step_of(i)(m)
        assert all(condition(m, name) is None for name in ("e", "ne", "s", "ns", "le", "g"))


# Claims: what is claimed is what was shown.


def test_a_claim_is_divided_without_a_gap() -> None:
    rng = random.Random(SEED)
    for _ in range(300):
        step = rng.choice((1, 16))
        claim = Claim(step, rng.randrange(2000, 4000), "u")
        group = rng.choice((16, 32, 64, 96, 128))
        first = rng.randrange(1, 5)
        numbers = range(0, first * group, step)
        assert claim.missing(numbers, [claim.above(first * group)]) is None
        pieces = list(claim.split(group, first))
        assert claim.missing(numbers, pieces) is None
        shown = {n for p in pieces for n in range(p.least, p.greatest + 1, group)} | set(numbers)
        assert shown == set(range(0, claim.last + 1, step))


def test_a_gap_in_a_claim_is_found() -> None:
    rng = random.Random(SEED)
    for _ in range(300):
        claim = Claim(rng.choice((1, 16)), rng.randrange(2000, 4000), "u")
        pieces = list(claim.split(64, 2))
        at_piece = rng.randrange(len(pieces))
        old = pieces[at_piece]
        pieces[at_piece] = rng.choice(
            (
                Affine(64, old.offset, old.low, old.high - 1, "u"),
                Affine(64, old.offset, old.low + 1, old.high, "u"),
                Affine(64, old.offset, old.high - 1, old.high, "u"),
            )
        )
        numbers = range(0, 128, claim.step)
        missing = claim.missing(numbers, pieces)
        assert missing is not None
        assert missing <= claim.last
        assert missing % claim.step == 0
        assert missing not in numbers
        assert not any(equals(p, missing) is not False for p in pieces)


def test_the_greatest_lengths_are_claimed_and_covered() -> None:
    claim = Claim(1, (1 << 62) - 1, "u")
    assert claim.missing(range(128), list(claim.split(64, 2))) is None
    short = [Affine(64, p.offset, p.low, claim.bound // 64 - 1, "u") for p in claim.split(64, 2)]
    assert claim.missing(range(128), short) == (1 << 62) - 64
    assert shift_number(claim.above(128), 0) == Affine(1, 0, 128, claim.bound, "u")

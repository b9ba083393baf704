"""The part `rows` of the attack: quick, and shown to find planted mistakes in rows."""

from collections.abc import Callable
from dataclasses import replace
from itertools import islice
from pathlib import Path

import pytest
from helpers.cpus import features
from iced_x86 import Code, Instruction

from ghashgen.check.attack.core import Options, Outcome
from ghashgen.check.attack.parts import rows as part
from ghashgen.verify.core.term import Term
from ghashgen.verify.machine.flags import of_result
from ghashgen.verify.machine.machine import Machine, Step
from ghashgen.verify.x86_64.rows import table as semantics
from ghashgen.verify.x86_64.rows.table import rows

EVERY = 20
"""One form in so many is compared here; `ghashgen attack --part rows` compares all."""


@pytest.mark.cpu
def test_a_sample_of_the_rows_is_right() -> None:
    codes = tuple(sorted(rows()))[::EVERY]
    outcome = part.attack(part.Task(0, codes), 1, features())
    assert [finding.wrong for finding in outcome.findings] == []
    assert outcome.right + sum(outcome.not_run.values()) > len(codes)
    assert outcome.right > 0


def test_tasks_cover_every_row_and_are_the_same_again() -> None:
    options = Options(3, Path())
    whole = -(-len(rows()) // part.AT_ONCE)
    first = list(islice(part.tasks(options), whole + 1))
    assert {code for task in first[:whole] for code in task.codes} == set(rows())
    assert first[whole].round == 1
    assert first == list(islice(part.tasks(options), whole + 1))
    one, two = (part.made(first[2], 3, frozenset({"avx"}))[0] for _ in range(2))
    assert one == two


def keeps_upper_half(m: Machine, before: list[object]) -> None:
    """A 32-bit write that does not zero the upper half of rax."""
    old, new = before[0], m.gpr[0]
    if isinstance(old, int) and isinstance(new, int):
        m.gpr[0] = old >> 32 << 32 | new


def carries(m: Machine, before: list[object]) -> None:
    """A carry that is always clear."""
    m.flags = replace(m.flags, carry=False)


def forgets_secrecy(m: Machine, before: list[object]) -> None:
    """Flags of a secret that are called public."""
    m.flags = of_result(m.facts, m.terms.lost("planted", False, 64), 64, False, False)
    m.flags = replace(m.flags, carry=m.flags.zero, overflow=m.flags.zero)


def one_bit(m: Machine, before: list[object]) -> None:
    """A vector register with one bit of a product wrong."""
    for k, lanes in enumerate(m.vec):
        if any(isinstance(lane, Term) and lane.op == "clmul" for lane in lanes):
            m.vec[k] = (m.terms.xor(lanes[0], 1 << 77), *lanes[1:])


def keeps_upper_lanes(m: Machine, before: list[object]) -> None:
    """A VEX instruction that leaves what is above its own width."""
    lanes = before[16]
    assert isinstance(lanes, list)
    for k in range(32):
        m.vec[k] = (m.vec[k][0], *lanes[k][1:])


FAULTS: dict[str, tuple[int, Callable[[Machine, list[object]], None]]] = {
    "32 bits keep the upper half": (Code.ADD_EAX_IMM32, keeps_upper_half),
    "a carry": (Code.ADD_RM64_R64, carries),
    "flags called public": (Code.ADD_RM64_R64, forgets_secrecy),
    "one bit of a product": (Code.PCLMULQDQ_XMM_XMMM128_IMM8, one_bit),
    "upper lanes kept": (Code.VEX_VPXOR_XMM_XMM_XMMM128, keeps_upper_lanes),
}


@pytest.fixture(params=sorted(FAULTS))
def planted(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> int:
    code, fault = FAULTS[request.param]
    row = rows()[code]

    def build(i: Instruction) -> Step:
        step = row.build(i)

        def wrong(m: Machine) -> int | None:
            before: list[object] = [*m.gpr, list(m.vec)]
            following = step(m)
            fault(m, before)
            return following

        return wrong

    table = {**rows(), code: replace(row, build=build)}
    monkeypatch.setattr(semantics, "rows", lambda: table)
    return code


def rounds(code: int, seeds: range) -> Outcome:
    tasks = [part.Task(seed, (code,)) for seed in seeds]
    return sum((part.attack(task, 1, features()) for task in tasks), Outcome())


@pytest.mark.cpu
def test_a_planted_mistake_is_found(planted: int) -> None:
    lacking = part.made(part.Task(0, (planted,)), 1, features())[1]
    if lacking:
        pytest.skip(f"not to be seen: {', '.join(lacking)}")
    found = rounds(planted, range(6))
    assert found.findings


@pytest.mark.cpu
def test_an_instruction_that_faults_is_a_finding() -> None:
    """The row of a load that needs no alignment, on bytes of one that does."""
    task = part.Task(0, (Code.PCLMULQDQ_XMM_XMMM128_IMM8,))
    cases, _ = part.made(task, 1, features())
    if not cases:
        pytest.skip("this CPU lacks pclmulqdq")
    # ud2
    assert part._ran([replace(cases[0], data=bytes.fromhex("0f0b"))], "xmm") == [None]

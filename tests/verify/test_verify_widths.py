"""Every row: the width of what it writes, and on variables the same result as on numbers."""

import random

import pytest
from helpers.row_instances import instances, is_mask, masks_read, no_table, run, symbolic, written
from iced_x86 import EncodingKind, Instruction, Register

from ghashgen.algebra.ops.forms import Form
from ghashgen.algebra.ops.monomials import evaluate
from ghashgen.check.attack import row_cases as cases
from ghashgen.verify.core.linear import Facts
from ghashgen.verify.core.numbers import unknown
from ghashgen.verify.core.refutation import Refutation
from ghashgen.verify.core.term import MASK128, NotPolynomialError, Term
from ghashgen.verify.core.terms import Terms
from ghashgen.verify.core.values import Pointer
from ghashgen.verify.machine.machine import Machine, Registers
from ghashgen.verify.x86_64 import operands as ops
from ghashgen.verify.x86_64.machine import gpr_index, is_vector, vector_index
from ghashgen.verify.x86_64.rows.table import code_name, rows

fits = Facts().fits


def mask_bits(instruction: Instruction) -> int:
    """Return the width of a mask instruction, by its last letter (KXORB, KMOVW, …)."""
    name = code_name(instruction.code).removeprefix("VEX_").split("_")[0]
    return {"B": 8, "W": 16, "D": 32, "Q": 64}[name[-1]]


def lanes_of(register: int) -> int:
    """Return the number of 128-bit lanes of a vector register."""
    return 4 if register >= Register.ZMM0 else 2 if register >= Register.YMM0 else 1


def too_wide(instruction: Instruction, m: Machine, before: Machine) -> list[str]:
    """Return the registers and bytes with bits that the destination does not have."""
    wrong = []
    for register in written(instruction):
        if is_vector(register):
            index, lanes = vector_index(register), lanes_of(register)
            rest = m.vec[index][lanes:]
            legacy = instruction.encoding == EncodingKind.LEGACY
            if rest != (before.vec[index][lanes:] if legacy else (0,) * (4 - lanes)):
                wrong.append(f"{instruction}: bits above the vector")
            if not all(isinstance(x, int | Term) and fits(x, 128) for x in m.vec[index]):
                wrong.append(f"{instruction}: a lane of more than 128 bits")
        elif is_mask(register):
            if not fits(m.mask[register - Register.K0], mask_bits(instruction)):
                wrong.append(f"{instruction}: a mask of more bits than it writes")
        else:
            bits = 32 if Register.EAX <= register <= Register.R15D else 64
            if not fits(m.gpr[gpr_index(register)], bits):
                wrong.append(f"{instruction}: a general register of more than {bits} bits")
    for value, k in m.memory.written[cases.BUFFER].values():
        if k > 15 or not (isinstance(value, Pointer) or fits(value, 128)):
            wrong.append(f"{instruction}: memory")
    return wrong


def junk(m: Machine, rng: random.Random) -> None:
    """Put bits into every register that it does not have, past the check of the register file."""
    for k in range(16):
        if k not in (4, 6):
            list.__setitem__(m.gpr, k, rng.getrandbits(200) << 64 | rng.getrandbits(64))
    for k in range(8):
        list.__setitem__(m.mask, k, rng.getrandbits(200) << 64 | rng.getrandbits(64))
    for k in range(32):
        lanes = tuple(rng.getrandbits(300) for _ in range(4))
        list.__setitem__(m.vec, k, lanes)


def over_wide(count: int) -> tuple[set[int], list[str]]:
    """Run every row on registers with bits that they do not have: what ran, what is wrong."""
    rng = random.Random(31)
    ran, wrong = set(), []
    for instruction in instances(5, count):
        state = cases.random_state(rng)
        m, before = (cases.machine_of(state, Terms(no_table)) for _ in range(2))
        junk(m, rng)
        for k in range(32):
            list.__setitem__(before.vec, k, m.vec[k])
        vector = any(is_vector(register) for register in written(instruction))
        if run(instruction, m):
            ran.add(instruction.code)
            # A legacy encoding keeps what was planted above bit 127.
            if not (vector and instruction.encoding == EncodingKind.LEGACY):
                wrong += too_wide(instruction, m, before)
    return ran, wrong


def test_no_row_writes_more_than_its_destination_holds() -> None:
    ran, wrong = over_wide(6)
    assert wrong == []
    assert len(ran) > 500


def test_a_row_that_does_would_be_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without narrowing the register file refuses; without both the comparison sees it."""
    monkeypatch.setattr(ops, "narrow", lambda m, value, bits: value)
    ran, _ = over_wide(2)
    monkeypatch.setattr(Registers, "__setitem__", list.__setitem__)
    more, wrong = over_wide(2)
    assert len(more) > len(ran)
    assert any("a mask of more bits" in line for line in wrong)
    assert any("a general register" in line for line in wrong)


def test_a_register_file_refuses_what_does_not_fit() -> None:
    terms = Terms(no_table)
    m = cases.machine_of(cases.random_state(random.Random(1)), terms)
    m.memory.facts = Facts({"small": (0, 5), "large": (0, 1 << 64), "below": (-1, 5)})
    m.gpr[0] = unknown("small")
    for value in (1 << 64, -1, terms.variable("C1"), unknown("large"), unknown("below")):
        with pytest.raises(Refutation, match="may not fit into its register"):
            m.gpr[0] = value
    for value in (1 << 64, Pointer("input", 0), unknown("small")):
        with pytest.raises(Refutation, match="may not fit into its register"):
            m.mask[0] = value
    for lanes in ((0, 0, 0), (1 << 128, 0, 0, 0), (0, 0, 0, -1)):
        with pytest.raises(Refutation, match="may not fit into its register"):
            m.vec[0] = lanes
    with pytest.raises(Refutation, match="may not fit into 4 bytes"):
        m.memory.store(Pointer(cases.BUFFER, 0), 1 << 32, 4)
    with pytest.raises(AssertionError, match="more than 128 bits"):
        terms.moves(terms.variable("C1"), ((1, MASK128 << 1),))
    assert isinstance(m.gpr, Registers)


def values_of(state: cases.State) -> dict[str, int]:
    values = {f"g{k}": state.gpr[k] for k in range(16)}
    values |= {f"k{k}": state.mask[k] for k in range(8)}
    return values | {f"v{k}.{lane}": state.vec[k][lane] for k in range(32) for lane in range(4)}


def same(terms: Terms, got: object, number: object, values: dict[str, int]) -> bool | None:
    """Return whether a value is this number; None if it is opaque."""
    if not isinstance(got, Term):
        return got == number
    try:
        form = terms.form(got)
    except NotPolynomialError:
        return None
    return evaluate(form, {**values, **dict.fromkeys(names_of(form), 0), **values}) == number


def names_of(form: Form) -> set[str]:
    return set(form.linear) | {name for pair in form.quadratic for name in pair}


def test_rows_on_variables_agree_with_rows_on_numbers_in_every_register_file() -> None:
    rng = random.Random(33)
    compared, wrong = set(), []
    for instruction in instances(6, 2):
        if instruction.code in rows() and "GF2P8" in code_name(instruction.code):
            continue
        touched = written(instruction)
        if any(is_vector(r) for r in touched) and not code_name(instruction.code).startswith(
            ("MOV", "VEX_VMOV", "EVEX_VMOV", "PINSR", "VEX_VPINSR", "VEX_VPBROADCAST")
        ):
            continue
        state, terms = cases.random_state(rng), Terms(no_table)
        m = symbolic(state, terms, masks_read(instruction))
        if not run(instruction, m):
            continue
        concrete = cases.run_row(instruction, state)
        values = values_of(state)
        for register in touched:
            if is_vector(register):
                index = vector_index(register)
                pairs = list(zip(m.vec[index], concrete.vec[index], strict=True))
            elif is_mask(register):
                pairs = [(m.mask[register - Register.K0], concrete.mask[register - Register.K0])]
            else:
                pairs = [(m.gpr[gpr_index(register)], concrete.gpr[gpr_index(register)])]
            for got, number in pairs:
                answer = same(terms, got, number, values)
                if answer:
                    compared.add(instruction.code)
                if answer is False:
                    wrong.append(f"{instruction}: {got!r} is not {number!r}")
    assert wrong == []
    assert len(compared) > 150
    assert {c for c in compared if "KMOV" in code_name(c)} == {
        c for c in rows() if "KMOV" in code_name(c)
    }

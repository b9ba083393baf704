"""Every row: the width of what it writes, the flags that it changes, and where secrets go."""

import random
from collections.abc import Iterator
from dataclasses import replace

import pytest
import verify_cases as cases
from iced_x86 import (
    EncodingKind,
    Instruction,
    InstructionInfoFactory,
    OpAccess,
    OpKind,
    Register,
    RflagsBits,
)

from ghashgen.algebra.ops.forms import Form, variable
from ghashgen.verify.core.refutation import Category, Refutation
from ghashgen.verify.core.terms import (
    CALLER,
    MASK128,
    NotPolynomialError,
    Term,
    Terms,
    of_table,
    secret,
)
from ghashgen.verify.core.values import M64, Affine, Pointer, UndecidedError, fits
from ghashgen.verify.x86_64 import operands as ops
from ghashgen.verify.x86_64.flags import Flags, Open, Why
from ghashgen.verify.x86_64.machine import Machine, Registers, gpr_index, is_vector, vector_index
from ghashgen.verify.x86_64.rows.table import code_name, rows, step_of

FLAG_BITS = {
    "carry": RflagsBits.CF,
    "zero": RflagsBits.ZF,
    "sign": RflagsBits.SF,
    "overflow": RflagsBits.OF,
    "rest": RflagsBits.AF | RflagsBits.PF,
}

FACTORY = InstructionInfoFactory()


def instances(seed: int, count: int) -> Iterator[Instruction]:
    for code in rows():
        for instruction, _ in cases.instances(code, seed, count):
            yield instruction


def no_table(kind: str, power: int) -> Form:
    raise AssertionError("a table entry")


def is_mask(register: int) -> bool:
    return Register.K0 <= register <= Register.K7


def written(instruction: Instruction) -> list[int]:
    """Return the registers that an instruction writes."""
    return [
        int(used.register)
        for used in FACTORY.info(instruction).used_registers()
        if used.access in (OpAccess.WRITE, OpAccess.READ_WRITE, OpAccess.COND_WRITE)
    ]


def mask_bits(instruction: Instruction) -> int:
    """Return the width of a mask instruction, by its last letter (KSHIFTLB, KMOVW, …)."""
    name = code_name(instruction.code).removeprefix("VEX_").split("_")[0]
    return {"B": 8, "W": 16, "D": 32, "Q": 64}[name[-1]]


def run(instruction: Instruction, m: Machine) -> bool:
    """Run a row; False if it is refused."""
    try:
        step_of(instruction)(m)
    except (Refutation, UndecidedError, OverflowError):
        # The last one: bits that were planted, and no register has, met `int.to_bytes`.
        return False
    return True


def too_wide(instruction: Instruction, m: Machine, before: Machine) -> list[str]:
    """Return the registers and bytes with bits that the destination does not have."""
    wrong = []
    for register in written(instruction):
        if is_vector(register):
            index, lanes = vector_index(register), ops.vector_lanes(register)
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
    for value in (1 << 64, -1, terms.variable("C1"), Affine(1, 0, 0, 1 << 64)):
        with pytest.raises(Refutation, match="more than its register holds"):
            m.gpr[0] = value
    for value in (1 << 64, Pointer("input", 0), Affine(1, 0, 0, 5)):
        with pytest.raises(Refutation, match="more than its register holds"):
            m.mask[0] = value
    for lanes in ((0, 0, 0), (1 << 128, 0, 0, 0), (0, 0, 0, -1)):
        with pytest.raises(Refutation, match="more than its register holds"):
            m.vec[0] = lanes
    with pytest.raises(Refutation, match="more than 4 bytes hold"):
        m.memory.store(Pointer(cases.BUFFER, 0), 1 << 32, 4)
    with pytest.raises(AssertionError, match="more than 128 bits"):
        terms.moves(terms.variable("C1"), ((1, MASK128 << 1),))
    assert isinstance(m.gpr, Registers)


def symbolic(state: cases.State, terms: Terms, masks: tuple[int, ...]) -> Machine:
    """Return the machine with a variable in every register but rsp, rsi and these masks."""
    m = cases.machine_of(state, terms)
    for k in range(16):
        if k not in (4, 6):
            m.gpr[k] = terms.keep(terms.variable(f"g{k}"), M64)
    for k in range(8):
        if k not in masks:
            m.mask[k] = terms.keep(terms.variable(f"k{k}"), M64)
    for k in range(32):
        m.vec[k] = tuple(terms.variable(f"v{k}.{lane}") for lane in range(4))
    return m


def values_of(state: cases.State) -> dict[str, int]:
    values = {f"g{k}": state.gpr[k] for k in range(16)}
    values |= {f"k{k}": state.mask[k] for k in range(8)}
    return values | {f"v{k}.{lane}": state.vec[k][lane] for k in range(32) for lane in range(4)}


def masks_read(instruction: Instruction) -> tuple[int, ...]:
    """Return the mask registers that must be numbers: write masks, and those of mask logic."""
    if code_name(instruction.code).startswith("VEX_KMOV"):
        return ()
    return tuple(range(8))


def same(terms: Terms, got: object, number: object, values: dict[str, int]) -> bool | None:
    """Return whether a value is this number; None if it is opaque."""
    if not isinstance(got, Term):
        return got == number
    try:
        form = terms.form(got)
    except NotPolynomialError:
        return None
    return form.evaluate({**values, **dict.fromkeys(names_of(form), 0), **values}) == number


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


# Flags: which an instruction changes, as the decoder says, and what is secret in them.


def marked() -> Flags:
    """Return flags of which each is an object of its own."""
    return Flags(*(Open(Why.CALLER) for _ in range(5)))  # type: ignore[arg-type]


def test_every_row_changes_the_flags_that_the_decoder_says() -> None:
    rng = random.Random(34)
    seen = set()
    for instruction in instances(7, 6):
        m = cases.machine_of(cases.random_state(rng), Terms(no_table))
        before = m.flags = marked()
        if not run(instruction, m):
            continue
        changed = {
            name for name in FLAG_BITS if getattr(m.flags, name) is not getattr(before, name)
        }
        said = {name for name, bits in FLAG_BITS.items() if instruction.rflags_modified & bits}
        shift = code_name(instruction.code).startswith(("SHL", "SHR", "SAR", "ROL", "ROR"))
        if shift and not changed:
            # A count of zero.
            continue
        assert changed == said, str(instruction)
        if said:
            seen.add(instruction.code)
    assert len(seen) > 100


def test_what_is_made_of_secrets_is_secret() -> None:
    """In registers, masks and flags: an open flag is secret, and a known one is right."""
    rng = random.Random(35)
    flags_seen = 0
    for instruction in instances(8, 4):
        state, terms = cases.random_state(rng), Terms(no_table)
        m = symbolic(state, terms, masks_read(instruction))
        before = m.flags = marked()
        if not run(instruction, m):
            continue
        others = [
            cases.run_row(instruction, replace(cases.random_state(rng), memory=state.memory))
            for _ in range(4)
        ]
        for name in FLAG_BITS:
            flag = getattr(m.flags, name)
            if flag is getattr(before, name):
                continue
            flags_seen += 1
            if isinstance(flag, bool):
                found = {getattr(other.flags, name) for other in others}
                assert {f for f in found if isinstance(f, bool)} <= {flag}, str(instruction)
            elif reads_a_secret(instruction) and not zero_idiom(instruction):
                assert flag.secret, (str(instruction), name)
        for register in written(instruction):
            if is_vector(register):
                held: list[object] = list(m.vec[vector_index(register)])
            elif is_mask(register):
                held = [m.mask[register - Register.K0]]
            else:
                held = [m.gpr[gpr_index(register)]]
            assert all(secret(v) for v in held if isinstance(v, Term)), str(instruction)
    assert flags_seen > 500


def reads_a_secret(instruction: Instruction) -> bool:
    """Whether it reads a register other than rsi and rsp, the only ones that hold no secret."""
    return any(
        used.access in (OpAccess.READ, OpAccess.READ_WRITE)
        and used.register not in (Register.RSP, Register.RSI)
        for used in FACTORY.info(instruction).used_registers()
    )


def zero_idiom(instruction: Instruction) -> bool:
    return (
        code_name(instruction.code).startswith(("XOR", "SUB"))
        and instruction.op_kind(1) == OpKind.REGISTER
        and instruction.op0_register == instruction.op1_register
    )


# Secrecy of terms: joined by every operation.


def test_no_operation_makes_a_secret_public() -> None:
    rng = random.Random(36)
    for _ in range(60):
        terms = Terms(lambda kind, power: variable(f"{kind}{power}"))
        pool: list[tuple[object, bool]] = [
            (terms.variable("C1"), True),
            (terms.entry("B", 1), True),
            (terms.caller("rax", 64), False),
            (terms.caller("zmm0"), False),
            (terms.lost("gone", True), True),
            (terms.lost("gone", False), False),
            (MASK128, False),
        ]
        for at in range(80):
            # The same address again and again: it says nothing of what met there.
            terms.at = at % 3
            (a, first), (b, second) = rng.choice(pool), rng.choice(pool)
            operation = rng.randrange(6)
            both = True
            match operation:
                case 0:
                    made: object = terms.xor(a, b)  # type: ignore[arg-type]
                case 1:
                    made = terms.both(a, b)  # type: ignore[arg-type]
                case 2:
                    made = terms.either(a, b)  # type: ignore[arg-type]
                case 3:
                    made = terms.opaque("something", a, b)
                case 4:
                    made = terms.clmul(a, 0, b, 0)  # type: ignore[arg-type]
                case _:
                    made, both = terms.moves(a, ((rng.choice((-8, 0, 8)), MASK128),)), False  # type: ignore[arg-type]
            expected = first or (both and second)
            if isinstance(made, Term):
                if operation == 3 and not isinstance(a, Term) and not isinstance(b, Term):
                    assert secret(made)
                    continue
                # A constant that removes a part may remove the secret with it, never add one.
                assert secret(made) or not expected or not either_is_kept(a, b, operation)
                pool.append((made, secret(made)))
    assert not secret(terms.caller("rbx", 64))
    assert not of_table(terms.variable("C1"))


def either_is_kept(a: object, b: object, operation: int) -> bool:
    """Whether both operands are terms, so that no constant can remove one."""
    return operation in (3, 5) or (isinstance(a, Term) and isinstance(b, Term) and a is not b)


def test_equal_reasons_at_one_place_are_not_one_value_if_one_is_secret() -> None:
    terms = Terms(no_table)
    left, key = terms.caller("rax", 64), terms.entry("B", 1)
    public = terms.opaque("an addition", left)
    hidden = terms.opaque("an addition", left, key)
    assert public is not hidden
    assert (secret(public), secret(hidden)) == (False, True)
    with pytest.raises(AssertionError, match="other dependences"):
        terms._make("caller", ("rax",), M64, CALLER | key.deps)


def test_a_condition_on_flags_of_a_secret_is_no_constant_time() -> None:
    flags = Flags(*(Open(Why.UNDEFINED, True) for _ in range(5)))  # type: ignore[arg-type]
    from ghashgen.verify.x86_64.flags import CONDITIONS

    for test in CONDITIONS.values():
        with pytest.raises(Refutation) as caught:
            test(flags, 0)
        assert caught.value.category is Category.CONSTANT_TIME

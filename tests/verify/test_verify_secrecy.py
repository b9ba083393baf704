"""Every row and every operation on terms: the flags that change, and where secrets go."""

import random
from dataclasses import replace

import pytest
from helpers.row_instances import (
    FACTORY,
    instances,
    is_mask,
    masks_read,
    no_table,
    run,
    symbolic,
    written,
)
from iced_x86 import Instruction, OpAccess, OpKind, Register, RflagsBits

from ghashgen.algebra.ops.forms import variable
from ghashgen.check.attack import row_cases as cases
from ghashgen.verify.core.refutation import Category, Refutation
from ghashgen.verify.core.term import CALLER, MASK128, Term, of_table, secret
from ghashgen.verify.core.terms import Terms
from ghashgen.verify.core.values import M64
from ghashgen.verify.machine.flags import Flags, Open, Why
from ghashgen.verify.x86_64.machine import gpr_index, is_vector, vector_index
from ghashgen.verify.x86_64.rows.table import code_name

FLAG_BITS = {
    "carry": RflagsBits.CF,
    "zero": RflagsBits.ZF,
    "sign": RflagsBits.SF,
    "overflow": RflagsBits.OF,
    "rest": RflagsBits.AF | RflagsBits.PF,
}


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
        shift = code_name(instruction.code).startswith(("SHL", "SHR", "ROL"))
        if shift and not changed:
            # A count of zero.
            continue
        assert changed == said, str(instruction)
        if said:
            seen.add(instruction.code)
    assert len(seen) > 100


def test_at_most_goes_with_the_flags_that_it_is_made_of() -> None:
    rng = random.Random(36)
    seen = set()
    for instruction in instances(9, 4):
        m = cases.machine_of(cases.random_state(rng), Terms(no_table))
        before = m.flags = replace(marked(), at_most=True)
        if not run(instruction, m):
            continue
        after = m.flags
        if after.carry is before.carry and after.zero is before.zero:
            assert after.at_most is True, str(instruction)
        elif after.at_most is not None:
            assert after.at_most == (after.carry or after.zero), str(instruction)
            seen.add(code_name(instruction.code).split("_")[0])
    assert seen == {"CMP", "SUB", "NEG"}


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
        changed = [n for n in FLAG_BITS if getattr(m.flags, n) is not getattr(before, n)]
        others = [
            cases.run_row(instruction, replace(cases.random_state(rng), memory=state.memory))
            for _ in range(4 if changed else 0)
        ]
        flags_seen += len(changed)
        for name in changed:
            flag = getattr(m.flags, name)
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
    from ghashgen.verify.x86_64.conditions import CONDITIONS

    for test in CONDITIONS.values():
        with pytest.raises(Refutation) as caught:
            test(cases.Asked(flags))
        assert caught.value.category is Category.CONSTANT_TIME

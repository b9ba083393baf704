"""Plants faults in decoded instructions: changes one, and encodes the code again."""

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import Any

from iced_x86 import Code, FlowControl, Instruction, OpCodeInfo, OpKind, Register

from ghashgen.check.attack.elf import Line, ObjectFile
from ghashgen.support.errors import GhashgenError

COPY = 1 << 40
"""Added to the address of an inserted instruction, so that no jump leads to it."""

_NOPS = frozenset((Code.NOPD, Code.NOP_RM16, Code.NOP_RM32, Code.NOP_RM64))
_VECTORS = (Register.XMM0, Register.YMM0, Register.ZMM0)
_GENERAL = (Register.EAX, Register.RAX)
_STACK_POINTER = 4
_COUNTS = {
    OpKind.IMMEDIATE8: ("immediate8", 0, 255),
    OpKind.IMMEDIATE8TO32: ("immediate8to32", -128, 127),
    OpKind.IMMEDIATE8TO64: ("immediate8to64", -128, 127),
    OpKind.IMMEDIATE32: ("immediate32", 0, (1 << 32) - 1),
    OpKind.IMMEDIATE32TO64: ("immediate32to64", -(1 << 31), (1 << 31) - 1),
}

Change = Callable[[Instruction, random.Random], Instruction | None]
"""Returns a changed instruction, or None if the change does not apply."""

Edit = Callable[[Sequence[Line], int, random.Random], list[Line] | None]
"""Returns changed code, given the position of the change, or None if it does not apply."""


def _any(number: int) -> Any:
    # At run time iced's registers, codes and operand kinds are plain integers; its stubs declare
    # types that do not exist.
    return number


def _registers(i: Instruction) -> list[int]:
    return [
        k
        for k in range(i.op_count)
        if i.op_kind(k) == OpKind.REGISTER and i.op_register(k) != Register.RSP
    ]


def _first_of(register: int) -> int | None:
    """Return register 0 of the kind of a vector or general register."""
    for first, count in (*((v, 32) for v in _VECTORS), *((g, 16) for g in _GENERAL)):
        if first <= register < first + count:
            return int(first)
    return None


def _swapped(i: Instruction, rng: random.Random) -> Instruction | None:
    """Exchange the last two register operands."""
    registers = _registers(i)
    if len(registers) < 2 or i.op_register(registers[-2]) == i.op_register(registers[-1]):
        return None
    a, b = registers[-2:]
    out = i.copy()
    out.set_op_register(a, i.op_register(b))
    out.set_op_register(b, i.op_register(a))
    return out


def _other_register(i: Instruction, rng: random.Random) -> Instruction | None:
    """Use another register of the same kind; leave the stack pointer alone."""
    registers = [k for k in _registers(i) if _first_of(i.op_register(k)) is not None]
    if not registers:
        return None
    k = rng.choice(registers)
    register = i.op_register(k)
    first = _first_of(register) or register
    number = (register - first) ^ rng.choice((1, 2, 4, 8))
    if first in _GENERAL and number == _STACK_POINTER:
        return None
    out = i.copy()
    out.set_op_register(k, _any(first + number))
    return out


def _other_base(i: Instruction, rng: random.Random) -> Instruction | None:
    """Address memory by another register, or with another scale."""
    if i.memory_base == _any(Register.NONE) or i.is_ip_rel_memory_operand:
        return None
    out = i.copy()
    if i.memory_index != _any(Register.NONE) and rng.random() < 0.5:
        out.memory_index_scale = rng.choice([s for s in (1, 2, 4, 8) if s != i.memory_index_scale])
        return out
    number = (i.memory_base - Register.RAX) ^ rng.choice((1, 2, 4, 8))
    out.memory_base = _any(Register.RAX + number)
    return out


def _mask(i: Instruction, rng: random.Random) -> Instruction | None:
    """Use another mask register or none, or switch between zeroing and merging."""
    if i.op_mask == _any(Register.NONE):
        return None
    out = i.copy()
    if rng.random() < 0.5:
        out.zeroing_masking = not i.zeroing_masking
    else:
        others = [m for m in range(8) if Register.K0 + m != i.op_mask]
        out.op_mask = _any(Register.K0 + rng.choice(others))
    return out


def _count(i: Instruction, rng: random.Random) -> Instruction | None:
    """Change a count, a selector or the value in a comparison."""
    last = i.op_count - 1
    if last < 0 or i.op_kind(last) not in _COUNTS:
        return None
    name, low, high = _COUNTS[i.op_kind(last)]
    now = getattr(i, name)
    value = rng.choice((now + 1, now - 1, now + 16, now - 16, now ^ 1 << rng.randrange(8)))
    value = max(low, min(high, value))
    if value == now:
        return None
    out = i.copy()
    setattr(out, name, value)
    return out


def _displacement(by: int) -> Change:
    def change(i: Instruction, rng: random.Random) -> Instruction | None:
        if not any(i.op_kind(k) == OpKind.MEMORY for k in range(i.op_count)):
            return None
        if i.code in _NOPS or i.is_ip_rel_memory_operand:
            return None
        out = i.copy()
        out.memory_displacement = i.memory_displacement + rng.choice((by, -by)) & (1 << 64) - 1
        if out.memory_displ_size == 0:
            out.memory_displ_size = 1
        return out

    return change


def _condition(i: Instruction, rng: random.Random) -> Instruction | None:
    if i.flow_control != FlowControl.CONDITIONAL_BRANCH:
        return None
    # Jcc rel8 and rel32 are numbered by condition.
    for first in (Code.JO_REL8_64, Code.JO_REL32_64):
        at = (i.code - first) // (Code.JNO_REL8_64 - Code.JO_REL8_64)
        if 0 <= at < 16:
            out = i.copy()
            step = Code.JNO_REL8_64 - Code.JO_REL8_64
            # Pick the opposite condition half the time, another one otherwise.
            other = at ^ (1 if rng.random() < 0.5 else rng.randrange(2, 16))
            out.code = _any(first + step * other)
            return out
    return None


@cache
def _alike() -> Mapping[object, tuple[int, ...]]:
    """Return the codes of each shape of operands and encoding."""
    groups: dict[object, list[int]] = {}
    numbers = (v for k, v in vars(Code).items() if isinstance(v, int) and k.isupper())
    for code in sorted(numbers):
        groups.setdefault(_shape(code), []).append(code)
    return {shape: tuple(codes) for shape, codes in groups.items()}


def _shape(code: int) -> object:
    info = OpCodeInfo(_any(code))
    if not info.mode64 or not info.is_instruction:
        return None
    return info.encoding, info.l, tuple(info.op_kind(k) for k in range(info.op_count))


def _operation(i: Instruction, rng: random.Random) -> Instruction | None:
    """Use another operation with the same operands."""
    if i.flow_control != FlowControl.NEXT or i.op_count == 0:
        return None
    others = [code for code in _alike().get(_shape(i.code), ()) if code != i.code]
    if not others:
        return None
    out = i.copy()
    out.code = _any(rng.choice(others))
    return out


CHANGES: dict[str, Change] = {
    "operands exchanged": _swapped,
    "another register": _other_register,
    "another base or scale": _other_base,
    "another mask": _mask,
    "another count": _count,
    "displacement ±1": _displacement(1),
    "displacement ±8": _displacement(8),
    "displacement ±16": _displacement(16),
    "another condition": _condition,
    "another operation": _operation,
}
"""Changes of one instruction."""


def _changed(change: Change) -> Edit:
    def edit(lines: Sequence[Line], at: int, rng: random.Random) -> list[Line] | None:
        line = lines[at]
        try:
            changed = change(line.instruction, rng)
        except ValueError:  # no such operand
            return None
        if changed is None:
            return None
        return [*lines[:at], replace(line, instruction=changed), *lines[at + 1 :]]

    return edit


def _at(instruction: Instruction, address: int) -> Instruction:
    out = instruction.copy()
    out.ip = address
    return out


def _dropped(lines: Sequence[Line], at: int, rng: random.Random) -> list[Line] | None:
    line = lines[at]
    if line.instruction.code in _NOPS:
        return None
    # A jump to a dropped instruction goes to its successor.
    nop = Line(_at(Instruction.create(Code.NOPD), line.at))
    return [*lines[:at], nop, *lines[at + 1 :]]


def _doubled(lines: Sequence[Line], at: int, rng: random.Random) -> list[Line] | None:
    line = lines[at]
    if line.instruction.flow_control != FlowControl.NEXT or line.instruction.code in _NOPS:
        return None
    copy = replace(line, instruction=_at(line.instruction, line.at + COPY))
    return [*lines[: at + 1], copy, *lines[at + 1 :]]


def _exchanged(lines: Sequence[Line], at: int, rng: random.Random) -> list[Line] | None:
    if at + 1 == len(lines):
        return None
    first, second = lines[at], lines[at + 1]
    if any(line.instruction.flow_control != FlowControl.NEXT for line in (first, second)):
        return None
    now = replace(second, instruction=_at(second.instruction, first.at))
    then = replace(first, instruction=_at(first.instruction, second.at))
    return [*lines[:at], now, then, *lines[at + 2 :]]


def _moved(lines: Sequence[Line], at: int, rng: random.Random) -> list[Line] | None:
    """Move an instruction a few places down."""
    line = lines[at]
    far = at + rng.randrange(2, 9)
    if far >= len(lines) or line.instruction.flow_control != FlowControl.NEXT:
        return None
    moved = replace(line, instruction=_at(line.instruction, line.at + COPY))
    nop = Line(_at(Instruction.create(Code.NOPD), line.at))
    return [*lines[:at], nop, *lines[at + 1 : far], moved, *lines[far:]]


def _retargeted(lines: Sequence[Line], at: int, rng: random.Random) -> list[Line] | None:
    line = lines[at]
    i = line.instruction
    branches = (FlowControl.UNCONDITIONAL_BRANCH, FlowControl.CONDITIONAL_BRANCH)
    if i.flow_control not in branches or line.relocation is not None:
        return None
    near = rng.random() < 0.5
    spread = range(max(0, at - 12), min(len(lines), at + 12)) if near else range(len(lines))
    out = i.copy()
    try:
        out.near_branch64 = lines[rng.choice(spread)].at
    except ValueError:
        return None
    if out.near_branch64 == i.near_branch64:
        return None
    return [*lines[:at], replace(line, instruction=out), *lines[at + 1 :]]


def _clobbering(lines: Sequence[Line], at: int, rng: random.Random) -> list[Line] | None:
    """Write a register that the caller expects to be kept."""
    line = lines[at]
    if line.instruction.flow_control != FlowControl.NEXT:
        return None
    saved = rng.choice((Register.EBX, Register.EBP, Register.R12D, Register.R15D))
    clobber = Instruction.create_reg_u32(Code.MOV_R32_IMM32, _any(saved), 7)
    return [*lines[: at + 1], Line(_at(clobber, line.at + COPY)), *lines[at + 1 :]]


def _branching(lines: Sequence[Line], at: int, rng: random.Random) -> list[Line] | None:
    """Jump to the next instruction if the low half of a loaded vector is zero."""
    line = lines[at]
    i = line.instruction
    if at + 1 == len(lines) or i.op_count < 2 or i.flow_control != FlowControl.NEXT:
        return None
    if i.op_kind(0) != OpKind.REGISTER or i.op_kind(1) != OpKind.MEMORY:
        return None
    first = _first_of(i.op0_register)
    if first not in _VECTORS or i.op0_register - first >= 16:
        return None
    vector = _any(Register.XMM0 + i.op0_register - first)
    create = Instruction.create_reg_reg
    new = (
        create(Code.MOVQ_RM64_XMM, Register.R11, vector),
        create(Code.TEST_RM64_R64, Register.R11, Register.R11),
        Instruction.create_branch(Code.JE_REL32_64, lines[at + 1].at),
    )
    inserted = [Line(_at(one, line.at + COPY * (2 + k))) for k, one in enumerate(new)]
    return [*lines[: at + 1], *inserted, *lines[at + 1 :]]


EDITS: dict[str, Edit] = {
    **{kind: _changed(change) for kind, change in CHANGES.items()},
    "dropped": _dropped,
    "doubled": _doubled,
    "exchanged with the next": _exchanged,
    "moved down": _moved,
    "another target": _retargeted,
    "clobbers a saved register": _clobbering,
    "branches on data": _branching,
}


def edited(obj: ObjectFile, kind: str, rng: random.Random) -> tuple[str, ObjectFile] | None:
    """Return an object with one fault of a kind at a random place, and a description.

    None if the kind applies nowhere, or the result cannot be encoded.
    """
    lines = obj.lines
    for at in rng.sample(range(len(lines)), len(lines)):
        found = EDITS[kind](lines, at, rng)
        if found is None:
            continue
        try:
            made = obj.with_code(found)
        except GhashgenError:
            continue
        then = lines[at].instruction
        now = found[at].instruction
        words = f"{then.ip:#x} {then}" + ("" if str(now) == str(then) else f" -> {now}")
        return f"{kind}: {words}", made
    return None

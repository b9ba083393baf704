"""Planted faults: wrong kernels made from right ones, to see that the prover rejects them.

A mutant changes one thing in one function: its instructions are decoded, edited as a list, and
encoded again as a section of their own. A mutant that is proved must be equivalent (two
independent instructions exchanged, a redundant one dropped); whoever lists survivors should check
them on a CPU or an emulator as well.
"""

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from iced_x86 import (
    BlockEncoder,
    Code,
    Decoder,
    FlowControl,
    Instruction,
    OpKind,
    Register,
)

from ghashgen.verify.x86_64.decoding import decode
from ghashgen.verify.x86_64.elf import Image, Link, Section
from ghashgen.verify.x86_64.elf_kinds import Kind
from ghashgen.verify.x86_64.machine import text_of

MUTANT_ADDRESS = 0x4000000
"""Where the edited function goes: beyond all sections, within reach of a 32-bit displacement."""

MUTANT_NAME = ".text.mutant"

BRANCHES = (FlowControl.UNCONDITIONAL_BRANCH, FlowControl.CONDITIONAL_BRANCH, FlowControl.CALL)

COPY = 1 << 40
"""Added to the address of an inserted instruction, so that no jump finds it."""

Edit = list[Instruction]


@dataclass(frozen=True)
class Mutant:
    """A changed image; `change` says what was done to which instruction."""

    kind: str
    change: str
    image: Image


def instructions_of(image: Image, symbol: str) -> Edit:
    """Decode a function from its symbol to the end of its bytes."""
    address, end = image.symbol(symbol), image.ends[symbol]
    out = []
    while address < end:
        instruction = decode(image, address)
        out.append(instruction)
        address = int(instruction.next_ip)
    return out


def with_function(image: Image, symbol: str, edited: Edit) -> Image:
    """Return the image with other code for one function."""
    encoder = BlockEncoder(64)
    encoder.add_many(edited)
    code = bytes(encoder.encode(MUTANT_ADDRESS))
    links = dict(_links(image, code))
    section = Section(MUTANT_NAME, MUTANT_ADDRESS, code, Kind.CODE, 64, links)
    return replace(
        image,
        sections=(*image.sections, section),
        symbols={**image.symbols, symbol: MUTANT_ADDRESS},
        ends={**image.ends, symbol: MUTANT_ADDRESS + len(code)},
        operands={},
    )


def _away(section: Section, address: int) -> int:
    return max(section.address - address, address - section.address - len(section.data), 0)


def _links(image: Image, code: bytes) -> Iterator[tuple[int, Link]]:
    """Yield what the edited function's fields refer to outside of it, as relocations would."""
    decoder = Decoder(64, code, ip=MUTANT_ADDRESS)
    for now in decoder:
        start, fields = int(now.ip) - MUTANT_ADDRESS, decoder.get_constant_offsets(now)
        if now.is_ip_rel_memory_operand:
            field, branch = start + fields.displacement_offset, False
            target = int(now.ip_rel_memory_address)
            # A displacement may have been moved a little out of the section that it is meant for.
            place = min(image.sections, key=lambda s: _away(s, target))
        elif now.flow_control in BRANCHES:
            target = int(now.near_branch_target)
            if MUTANT_ADDRESS <= target < MUTANT_ADDRESS + len(code):
                continue
            found = image.section(target)
            assert found is not None
            place, field, branch = found, start + fields.immediate_offset, True
        else:
            continue
        yield field, Link(place.name, target - place.address - (start + now.len - field), branch)


def _register(number: int) -> Any:
    # At run time iced's registers are plain integers; its stubs have a type that does not exist.
    return number


def _registers(i: Instruction) -> list[int]:
    return [
        k
        for k in range(i.op_count)
        if i.op_kind(k) == OpKind.REGISTER and i.op_register(k) != Register.RSP
    ]


def _swapped(i: Instruction, rng: random.Random) -> Instruction | None:
    """Exchange the last two register operands."""
    registers = _registers(i)
    if len(registers) < 2:
        return None
    a, b = registers[-2:]
    if i.op_register(a) == i.op_register(b):
        return None
    out = i.copy()
    try:
        out.set_op_register(a, i.op_register(b))
        out.set_op_register(b, i.op_register(a))
    except ValueError:
        return None
    return out


def _other_register(i: Instruction, rng: random.Random) -> Instruction | None:
    registers = [k for k in _registers(i) if i.op_register(k) >= Register.XMM0]
    if not registers:
        return None
    out = i.copy()
    k = rng.choice(registers)
    register = i.op_register(k)
    first = max(f for f in (Register.XMM0, Register.YMM0, Register.ZMM0) if f <= register)
    out.set_op_register(k, _register(first + (register - first + rng.choice((1, 15))) % 16))
    return out


def _immediate(i: Instruction, rng: random.Random) -> Instruction | None:
    last = i.op_count - 1
    if last < 0 or i.op_kind(last) != OpKind.IMMEDIATE8:
        return None
    out = i.copy()
    out.immediate8 = i.immediate8 ^ rng.choice((0x01, 0x10, 0x11, 0x02, 0x04))
    return out


def _count(i: Instruction, rng: random.Random) -> Instruction | None:
    last = i.op_count - 1
    if last < 0:
        return None
    out = i.copy()
    step = rng.choice((1, -1, 16, -16))
    match i.op_kind(last):
        case OpKind.IMMEDIATE8TO64:
            out.immediate8to64 = max(-128, min(127, i.immediate8to64 + step))
        case OpKind.IMMEDIATE32TO64:
            out.immediate32to64 = i.immediate32to64 + step
        case _:
            return None
    return out


def _displacement(by: int) -> Callable[[Instruction, random.Random], Instruction | None]:
    def change(i: Instruction, rng: random.Random) -> Instruction | None:
        if not any(i.op_kind(k) == OpKind.MEMORY for k in range(i.op_count)):
            return None
        if i.code in (Code.NOP_RM16, Code.NOP_RM32, Code.NOP_RM64):
            return None
        out = i.copy()
        sign = rng.choice((1, -1))
        out.memory_displacement = i.memory_displacement + sign * by & (1 << 64) - 1
        if out.memory_displ_size == 0:
            out.memory_displ_size = 1
        return out

    return change


def _condition(i: Instruction, rng: random.Random) -> Instruction | None:
    if i.flow_control != FlowControl.CONDITIONAL_BRANCH:
        return None
    out = i.copy()
    out.negate_condition_code()
    return out


SUM_TO_OTHER = {
    Code.PXOR_XMM_XMMM128: Code.POR_XMM_XMMM128,
    Code.VEX_VPXOR_XMM_XMM_XMMM128: Code.VEX_VPADDQ_XMM_XMM_XMMM128,
    Code.VEX_VPXOR_YMM_YMM_YMMM256: Code.VEX_VPADDQ_YMM_YMM_YMMM256,
    Code.PUNPCKLQDQ_XMM_XMMM128: Code.PUNPCKHQDQ_XMM_XMMM128,
    Code.VEX_VPUNPCKLQDQ_XMM_XMM_XMMM128: Code.VEX_VPUNPCKHQDQ_XMM_XMM_XMMM128,
}


def _operation(i: Instruction, rng: random.Random) -> Instruction | None:
    other = SUM_TO_OTHER.get(i.code)
    if other is None:
        return None
    out = i.copy()
    out.code = other
    return out


CHANGES: dict[str, Callable[[Instruction, random.Random], Instruction | None]] = {
    "operands exchanged": _swapped,
    "another register": _other_register,
    "another immediate": _immediate,
    "another count": _count,
    "displacement ±1": _displacement(1),
    "displacement ±8": _displacement(8),
    "displacement ±16": _displacement(16),
    "condition reversed": _condition,
    "another operation": _operation,
}
"""Changes of one instruction; None where they do not apply."""


def _copied(i: Instruction) -> Instruction:
    out = i.copy()
    out.ip = i.ip + COPY
    return out


def _new(instruction: Instruction, k: int) -> Instruction:
    instruction.ip = 2 * COPY + k
    return instruction


def _clobber(register: int) -> Edit:
    create = Instruction.create_reg_u32
    return [_new(create(Code.MOV_R32_IMM32, _register(register), 7), 0)]


def _branch_on(vector: int, target: Instruction) -> Edit:
    """Return code that jumps to the next instruction if the low half of a vector is zero."""
    reg_reg = Instruction.create_reg_reg
    return [
        _new(reg_reg(Code.MOVQ_RM64_XMM, Register.R11, _register(vector)), 1),
        _new(reg_reg(Code.TEST_RM64_R64, Register.R11, Register.R11), 2),
        _new(Instruction.create_branch(Code.JE_REL32_64, int(target.ip)), 3),
    ]


def mutants(image: Image, symbol: str, seed: int = 0) -> Iterator[Mutant]:
    """Yield mutants of one function: every kind of change at every place where it applies."""
    rng = random.Random(f"{symbol} {seed}")
    code = instructions_of(image, symbol)

    def made(kind: str, change: str, edited: Edit) -> Iterator[Mutant]:
        try:
            yield Mutant(kind, change, with_function(image, symbol, edited))
        except ValueError:
            return  # not encodable

    for at, i in enumerate(code):
        text = f"{i.ip:#x} {text_of(i)}"
        before, after = code[:at], code[at + 1 :]
        if i.code not in (Code.NOPD, Code.NOP_RM32, Code.NOP_RM64, Code.NOP_RM16):
            # A jump to a dropped instruction goes to its successor.
            nop = Instruction.create(Code.NOPD)
            nop.ip = i.ip
            yield from made("dropped", text, [*before, nop, *after])
        if i.flow_control == FlowControl.NEXT:
            yield from made("duplicated", text, [*before, i, _copied(i), *after])
            yield from made("clobbers rbx", text, [*before, i, *_clobber(Register.EBX), *after])
            if after and after[0].flow_control == FlowControl.NEXT:
                pair = [after[0].copy(), i.copy()]
                pair[0].ip, pair[1].ip = i.ip, after[0].ip
                yield from made("exchanged with the next", text, [*before, *pair, *after[1:]])
            if after and _writes_vector(i):
                jump = _branch_on(_low(i.op0_register), after[0])
                yield from made("branches on data", text, [*before, i, *jump, *after])
        for kind, change in CHANGES.items():
            changed = change(i, rng)
            if changed is not None:
                what = f"{text} -> {text_of(changed)}"
                yield from made(kind, what, [*before, changed, *after])


def _low(register: int) -> int:
    first = max(f for f in (Register.XMM0, Register.YMM0, Register.ZMM0) if f <= register)
    return Register.XMM0 + register - first


def _writes_vector(i: Instruction) -> bool:
    return (
        i.op_count > 1
        and i.op_kind(0) == OpKind.REGISTER
        and Register.XMM0 <= i.op0_register < Register.XMM0 + 16
        and i.op_kind(1) == OpKind.MEMORY
    )

"""Test cases for instruction rows: instances of a code, random states, and the row's result."""

import random
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from iced_x86 import Decoder, Encoder, Instruction, OpCodeInfo, OpCodeOperandKind, OpKind, Register

from ghashgen.check.attack.valued import ValuedTerms
from ghashgen.verify.core.linear import Facts
from ghashgen.verify.core.refutation import Refutation
from ghashgen.verify.core.term import MASK128, Lane, Term
from ghashgen.verify.core.terms import Terms
from ghashgen.verify.core.values import M64, Pointer
from ghashgen.verify.machine.flags import Flags, of_difference
from ghashgen.verify.machine.image import Image
from ghashgen.verify.machine.machine import Machine
from ghashgen.verify.machine.memory import Memory
from ghashgen.verify.machine.regions import Access, Region
from ghashgen.verify.x86_64.conditions import CONDITIONS
from ghashgen.verify.x86_64.rows.table import code_name, step_of
from ghashgen.verify.x86_64.target import X86_64

K = OpCodeOperandKind
FLAG_BITS = {"b": 0, "e": 6, "s": 7, "o": 11}

REGISTERS = {
    K.R8_REG: Register.AL, K.R8_OPCODE: Register.AL, K.R8_OR_MEM: Register.AL,
    K.R16_REG: Register.AX, K.R16_OPCODE: Register.AX, K.R16_OR_MEM: Register.AX,
    K.R32_REG: Register.EAX, K.R32_OPCODE: Register.EAX, K.R32_OR_MEM: Register.EAX,
    K.R32_VVVV: Register.EAX, K.R32_RM: Register.EAX,
    K.R64_REG: Register.RAX, K.R64_OPCODE: Register.RAX, K.R64_OR_MEM: Register.RAX,
    K.R64_VVVV: Register.RAX, K.R64_RM: Register.RAX,
    K.XMM_REG: Register.XMM0, K.XMM_VVVV: Register.XMM0, K.XMM_OR_MEM: Register.XMM0,
    K.XMM_RM: Register.XMM0,
    K.YMM_REG: Register.YMM0, K.YMM_VVVV: Register.YMM0, K.YMM_OR_MEM: Register.YMM0,
    K.YMM_RM: Register.YMM0,
    K.ZMM_REG: Register.ZMM0, K.ZMM_VVVV: Register.ZMM0, K.ZMM_OR_MEM: Register.ZMM0,
    K.K_REG: Register.K0, K.K_VVVV: Register.K0, K.K_RM: Register.K0, K.K_OR_MEM: Register.K0,
}  # fmt: skip

MEMORY = (
    K.MEM, K.R8_OR_MEM, K.R16_OR_MEM, K.R32_OR_MEM, K.R64_OR_MEM, K.XMM_OR_MEM, K.YMM_OR_MEM,
    K.ZMM_OR_MEM, K.K_OR_MEM,
)  # fmt: skip

FIXED = {
    K.AL: Register.AL, K.AX: Register.AX, K.EAX: Register.EAX, K.RAX: Register.RAX,
    K.CL: Register.CL,
}  # fmt: skip

IMMEDIATES = {
    K.IMM8: 8, K.IMM16: 16, K.IMM32: 32, K.IMM64: 64,
    K.IMM8SEX16: 8, K.IMM8SEX32: 8, K.IMM8SEX64: 8, K.IMM32SEX64: 32,
}  # fmt: skip

UNTESTABLE = ("JMP", "CALL", "RET", "PUSH", "POP", "J", "LEAVEQ")
"""Control flow and stack. tests/verify/test_verify_control.py compares them, a few instructions
at a time.
"""

BUFFER, BUFFER_BYTES, START = "buffer", 256, 64


@dataclass(frozen=True)
class State:
    """Registers, flags and memory before an instruction; rsi points into the buffer."""

    gpr: tuple[int, ...]
    flags: tuple[int, int]
    """Operands of the comparison that set them."""
    mask: tuple[int, ...]
    vec: tuple[tuple[int, ...], ...]
    memory: bytes


def _iced(number: int) -> Any:
    # At run time iced's enumerations are plain integers; its stubs say otherwise.
    return number


def edge(rng: random.Random, bits: int) -> int:
    """Return a number, often an extreme one."""
    ones = (1 << bits) - 1
    pick = rng.randrange(8)
    if pick == 0:
        return rng.choice((0, 1, ones, ones ^ 1, 1 << bits - 1, ones >> 1))
    if pick == 1:
        return rng.getrandbits(bits) & rng.getrandbits(bits) & rng.getrandbits(bits)
    return rng.getrandbits(bits)


def random_state(rng: random.Random) -> State:
    """Return a random state."""
    small = rng.randrange(4) == 0
    return State(
        tuple(rng.randrange(70) if rng.randrange(3) == 0 else edge(rng, 64) for _ in range(16)),
        (edge(rng, 64), edge(rng, 64)),
        tuple(edge(rng, 64) for _ in range(8)),
        tuple(
            tuple(rng.randrange(70) if small else edge(rng, 128) for _ in range(4))
            for _ in range(32)
        ),
        rng.randbytes(BUFFER_BYTES),
    )


def general(rng: random.Random, first: int) -> int:
    """Return a general register other than the stack pointer, rsi, and ah … bh."""
    numbers = [k for k in range(16) if k not in (4, 6)]
    number = rng.choice(numbers)
    if first == Register.AL and number >= 4:
        return Register.SPL + number - 4
    return first + number


def instance(code: int, rng: random.Random, imm: int | None = None) -> Instruction | None:
    """Return an instruction of this form with random operands, or None if there is none to test."""
    name = code_name(code)
    if name.split("_")[0] in UNTESTABLE or name.startswith(("J", "RETN")):
        return None
    info = OpCodeInfo(_iced(code))
    i = Instruction()
    i.code = _iced(code)
    kinds = info.op_kinds()
    evex = name.startswith("EVEX")
    use_memory = any(kind in MEMORY for kind in kinds) and rng.randrange(2) == 0
    same = rng.randrange(5) == 0
    number = rng.randrange(32 if evex else 16)
    for at, kind in enumerate(kinds):
        if kind == K.MEM or (kind in MEMORY and use_memory):
            use_memory = True
            i.set_op_kind(at, OpKind.MEMORY)
            if kind == K.MEM and name.startswith("LEA"):
                # LEA makes no access: any base and index will do.
                i.memory_base = _iced(general(rng, Register.RAX))
                i.memory_index = _iced(general(rng, Register.RAX))
                i.memory_index_scale = rng.choice((1, 2, 4, 8))
            else:
                i.memory_base = Register.RSI
            # Aligned moves fault otherwise, on the CPU as in the row.
            width = 64 if evex else 32 if "YMM" in name else 16
            away = width * rng.randrange(-1, 2)
            i.memory_displacement = away & M64
            i.memory_displ_size = 1
        elif kind in FIXED:
            i.set_op_kind(at, OpKind.REGISTER)
            i.set_op_register(at, FIXED[kind])
        elif kind == K.IMM8_CONST_1:
            i.set_op_kind(at, OpKind.IMMEDIATE8)
            i.immediate8 = 1
        elif kind in IMMEDIATES:
            _immediate(i, at, kind, imm if imm is not None else edge(rng, IMMEDIATES[kind]))
        else:
            first = REGISTERS[kind]
            i.set_op_kind(at, OpKind.REGISTER)
            if first >= Register.K0:
                i.set_op_register(at, _iced(first + rng.randrange(8)))
            elif first >= Register.XMM0:
                if not same:
                    number = rng.randrange(32 if evex else 16)
                i.set_op_register(at, _iced(first + number))
            else:
                i.set_op_register(at, _iced(general(rng, first)))
    if evex and info.can_use_op_mask_register and rng.randrange(3):
        i.op_mask = _iced(Register.K0 + rng.randrange(1, 8))
        to_memory = i.op_kind(0) == OpKind.MEMORY
        if info.can_use_zeroing_masking and not to_memory and rng.randrange(2):
            i.zeroing_masking = True
    return i


def _immediate(i: Instruction, at: int, kind: int, value: int) -> None:
    signed8 = (value & 0xFF ^ 0x80) - 0x80
    match kind:
        case K.IMM8:
            i.set_op_kind(at, OpKind.IMMEDIATE8)
            i.immediate8 = value & 0xFF
        case K.IMM16:
            i.set_op_kind(at, OpKind.IMMEDIATE16)
            i.immediate16 = value & 0xFFFF
        case K.IMM32:
            i.set_op_kind(at, OpKind.IMMEDIATE32)
            i.immediate32 = value & 0xFFFFFFFF
        case K.IMM64:
            i.set_op_kind(at, OpKind.IMMEDIATE64)
            i.immediate64 = value & M64
        case K.IMM8SEX16:
            i.set_op_kind(at, OpKind.IMMEDIATE8TO16)
            i.immediate8to16 = signed8
        case K.IMM8SEX32:
            i.set_op_kind(at, OpKind.IMMEDIATE8TO32)
            i.immediate8to32 = signed8
        case K.IMM8SEX64:
            i.set_op_kind(at, OpKind.IMMEDIATE8TO64)
            i.immediate8to64 = signed8
        case _:
            i.set_op_kind(at, OpKind.IMMEDIATE32TO64)
            i.immediate32to64 = (value & 0xFFFFFFFF ^ 1 << 31) - (1 << 31)


def encode(i: Instruction) -> bytes:
    """Return the bytes of an instruction."""
    encoder = Encoder(64)
    encoder.encode(i, 0x1000)
    return bytes(encoder.take_buffer())


def instances(code: int, seed: int, count: int) -> Iterator[tuple[Instruction, bytes]]:
    """Yield instances that encode to their own code, with their bytes."""
    rng = random.Random(f"{code_name(code)} {seed}")
    for _ in range(count):
        i = instance(code, rng)
        if i is None:
            return
        data = encode(i)
        decoded = Decoder(64, data, ip=0x1000).decode()
        assert decoded.code == code, (code_name(code), code_name(decoded.code))
        yield decoded, data


def machine_of(state: State, terms: Terms, symbolic: dict[int, str] | None = None) -> Machine:
    """Return a machine in this state; `symbolic` names vector registers that hold variables."""

    def cell(memory: Memory, at: int) -> int:
        return int.from_bytes(state.memory[at : at + 16], "little")

    region = Region(BUFFER, 0, BUFFER_BYTES, Access.UPDATE, cell, 64)
    memory = Memory(terms, Image(X86_64, (), {}), [region])
    m = Machine(terms, memory, [*state.gpr], [*state.vec], [*state.mask])
    m.gpr[6] = Pointer(BUFFER, START)
    a, b = state.flags
    m.flags = of_difference(m.facts, a, b, 64, m.memory.inside)
    for index, name in (symbolic or {}).items():
        m.vec[index] = tuple(terms.variable(f"{name}{k}") for k in range(4))
    return m


def run_row(instruction: Instruction, state: State) -> Machine:
    """Return the machine after the row of an instruction."""
    m = machine_of(state, ValuedTerms())
    following = step_of(instruction)(m)
    assert following is None
    return m


def number_of(m: Machine, lane: Lane) -> int:
    """Return the number that a lane is, once the S-box has values.

    Raises:
        NotPolynomialError: it is not a number.
    """
    if isinstance(lane, int):
        return lane
    assert isinstance(m.terms, ValuedTerms)
    return m.terms.value(lane, {})


@dataclass(frozen=True)
class Asked:
    """Flags of which a condition asks, without a machine."""

    flags: Flags
    facts: Facts = field(default_factory=Facts)
    at: int = 0


def initial_flags(state: State) -> int:
    """Return RFLAGS with the modelled bits set."""
    a, b = state.flags
    asked: Any = Asked(of_difference(Facts(), a, b, 64, lambda pointer: False))
    return 2 | sum(CONDITIONS[c](asked) << bit for c, bit in FLAG_BITS.items())


def differences(
    m: Machine,
    before: bytes,
    gpr: list[int],
    flags: int,
    mask: list[int],
    vec: list[int],
    memory: bytes,
    at: int,
    width: int = 512,
) -> list[str]:
    """Return how a machine differs from the CPU's result for the same state; `at` is rsi's address.

    `before` and `memory` are the buffer before and after; `width` is the number of vector register
    bits that were loaded and stored on the CPU.
    """
    wrong = []
    for k in range(16):
        value = m.gpr[k]
        if isinstance(value, Pointer):
            assert isinstance(value.offset, int)
            value = at + value.offset - START
        if k != 4 and not _is_unknown(value) and value != gpr[k]:
            wrong.append(f"gpr {k}: row {value!r}, cpu {gpr[k]:#x}")
    for k in range(8):
        if m.mask[k] != mask[k]:
            wrong.append(f"k{k}: row {m.mask[k]!r}, cpu {mask[k]:#x}")
    for k in range(32):
        value = 0
        for lane, part in enumerate(m.vec[k]):
            number = number_of(m, part)
            assert number <= MASK128
            value |= number << 128 * lane
        if (value ^ vec[k]) & (1 << width) - 1:
            wrong.append(f"zmm{k}: row {value:#x}, cpu {vec[k]:#x}")
    after = bytearray(before)
    for k, (value, index) in m.memory.written[BUFFER].items():
        assert isinstance(value, int)
        after[k] = value >> 8 * index & 0xFF
    if after != memory:
        wrong.append("memory")
    for condition, bit in FLAG_BITS.items():
        try:
            row = CONDITIONS[condition](m)
        except Refutation:
            continue
        if row != bool(flags >> bit & 1):
            wrong.append(f"flag {condition}: row {row}")
    return wrong


def _is_unknown(value: object) -> bool:
    return isinstance(value, Term)

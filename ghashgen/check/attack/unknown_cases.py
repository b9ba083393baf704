"""Compares instructions on unknown lengths with the same instructions on each possible number.

An unknown takes every value of its range in turn, and the same row runs on that number. The row's
result for the unknown must be right for each value, in every register and condition, or be a
refusal. The part `rows` compares rows on numbers with the CPU.
"""

import random
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

from iced_x86 import Code, Decoder, Encoder, Instruction, OpKind, Register

from ghashgen.algebra.ops.monomials import evaluate
from ghashgen.verify.core.kinds import BESIDE, NUMBER_LETTER, as_lane
from ghashgen.verify.core.refutation import Refutation
from ghashgen.verify.core.term import Lane, Term, parts_first
from ghashgen.verify.core.terms import Terms
from ghashgen.verify.core.values import (
    M64,
    RANGES,
    UNKNOWN,
    Affine,
    Number,
    Pointer,
    UndecidedError,
    Value,
    fits,
)
from ghashgen.verify.machine import flags as flags_module
from ghashgen.verify.machine.flags import Condition
from ghashgen.verify.machine.image import Image
from ghashgen.verify.machine.machine import Machine
from ghashgen.verify.machine.memory import Memory
from ghashgen.verify.machine.regions import Access, Region
from ghashgen.verify.x86_64.conditions import CONDITIONS
from ghashgen.verify.x86_64.rows.table import code_name, step_of
from ghashgen.verify.x86_64.target import X86_64

WIDTHS = (8, 16, 32, 64)
RAX, RCX, RDX, RSI = 0, 1, 2, 6
# At run time iced's registers are integers; its stubs declare a type that does not exist.
FIRST: dict[int, Any] = {8: Register.AL, 16: Register.AX, 32: Register.EAX, 64: Register.RAX}

TWO = ("ADD", "SUB", "CMP", "AND", "OR", "XOR", "TEST")
ONE = ("INC", "DEC", "NEG", "NOT")
SHIFTS = ("SHL", "SHR", "SAR", "ROL", "ROR")


def forms() -> Iterator[int]:
    """Yield the codes of all forms on general registers that take an unknown."""
    for bits in WIDTHS:
        names = [f"{name}_RM{bits}_R{bits}" for name in TWO]
        names += [f"{name}_RM{bits}_IMM{min(bits, 32)}" for name in TWO]
        names += [f"{name}_RM{bits}_IMM8" for name in TWO if bits > 8 and name != "TEST"]
        names += [f"{name}_RM{bits}" for name in ONE]
        names += [f"{name}_RM{bits}_{count}" for name in SHIFTS for count in ("IMM8", "1", "CL")]
        names += [f"MOV_RM{bits}_R{bits}"]
        if bits >= 32:
            names += [f"LEA_R{bits}_M", f"BSWAP_R{bits}", f"VEX_BZHI_R{bits}_RM{bits}_R{bits}"]
            names += [f"VEX_{name}X_R{bits}_RM{bits}_R{bits}" for name in ("SHL", "SHR")]
            names += [f"MOV{way}X_R{bits}_RM{small}" for way in "ZS" for small in (8, 16)]
        else:
            names += ["MOVZX_R16_RM8", "MOVSX_R16_RM8"] if bits == 16 else []
        if bits > 8:
            names += [f"IMUL_R{bits}_RM{bits}", f"IMUL_R{bits}_RM{bits}_IMM8"]
            names += [f"IMUL_R{bits}_RM{bits}_IMM{min(bits, 32)}"]
        for name in names:
            yield getattr(Code, name)
    yield Code.MOVSXD_R64_RM32


def width(code: int) -> int:
    """Return the bits of the widest operand of a form."""
    name = code_name(code)
    return next(b for b in (64, 32, 16, 8) if any(f"{r}{b}" in name for r in ("RM", "R")))


def edge(rng: random.Random, bits: int) -> int:
    """Return a number, often near a bound of the width."""
    near = rng.choice((0, 1 << bits - 1, 1 << bits, (1 << bits) - 64))
    pick = near + rng.randrange(-9, 10) if rng.randrange(3) else rng.getrandbits(bits)
    return pick & (1 << bits) - 1


def unknown(rng: random.Random, bits: int) -> Affine:
    """Return an unknown of a few values that fit in `bits` bits, often close to a bound."""
    while True:
        scale = rng.choice((1, 1, 2, 16, 64, 96, -1, -16, 1 << rng.randrange(bits)))
        low = rng.choice((0, 1, rng.randrange(40), rng.getrandbits(bits)))
        start = edge(rng, bits)
        value = Affine(scale, start - scale * low, low, low + rng.randrange(1, 20), "u")
        if fits(value, bits):
            return value


def operand(rng: random.Random, bits: int, u: Affine) -> Number:
    """Return a second operand: a number, or an expression of the same unknown."""
    if rng.randrange(2):
        return edge(rng, bits)
    shift = rng.choice((0, 1, -1, 16, -16, edge(rng, bits)))
    other = Affine(rng.choice((u.scale, u.scale, 1, 16, -u.scale)), 0, u.low, u.high, u.unknown)
    other = other.plus(u.least - other.least + shift)
    return other if fits(other, 64) else edge(rng, bits)


def instruction(code: Any, rng: random.Random) -> Instruction:
    """Return the form on rax and rdx, with a count in cl, or an address from rax."""
    i = Instruction()
    i.code = code
    name, bits = code_name(code), width(code)
    i.set_op_kind(0, OpKind.REGISTER)
    i.set_op_register(0, FIRST[bits] + RAX)
    if name.startswith("VEX"):
        i.set_op_register(1, FIRST[bits] + RAX)
        i.set_op_register(2, FIRST[bits] + RDX)
    elif name.startswith("LEA"):
        i.set_op_kind(1, OpKind.MEMORY)
        i.memory_base, i.memory_index = Register.RAX, Register.RDX
        i.memory_index_scale = rng.choice((1, 2, 4, 8))
        i.memory_displacement, i.memory_displ_size = rng.choice((0, 16, M64 - 15)), 1
    elif name.startswith("IMUL"):
        i.set_op_register(1, FIRST[bits] + RDX)
        if "IMM" in name:
            _immediate(i, bits, name.endswith("IMM8"), rng, 2)
    elif name.startswith(("MOVZX", "MOVSX_")):
        i.set_op_register(1, FIRST[8 if name.endswith("8") else 16] + RDX)
    elif name.startswith("MOVSXD"):
        i.set_op_register(1, Register.EDX)
    elif name.endswith("CL"):
        i.set_op_register(1, Register.CL)
    elif name.endswith("IMM8") and name.split("_")[0] in SHIFTS:
        i.set_op_kind(1, OpKind.IMMEDIATE8)
        i.immediate8 = rng.choice((0, 1, 4, 6, bits - 1, bits, rng.randrange(256)))
    elif name.endswith("_1"):
        i.set_op_kind(1, OpKind.IMMEDIATE8)
        i.immediate8 = 1
    elif "IMM" in name:
        _immediate(i, bits, name.endswith("IMM8") and bits > 8, rng)
    elif name.endswith(f"_R{bits}"):
        same = rng.randrange(8) == 0
        i.set_op_register(1, FIRST[bits] + (RAX if same else RDX))
    encoder = Encoder(64)
    encoder.encode(i, 0x1000)
    decoded = Decoder(64, bytes(encoder.take_buffer()), ip=0x1000).decode()
    assert decoded.code == code, (code_name(code), code_name(decoded.code))
    return decoded


def _immediate(i: Instruction, bits: int, short: bool, rng: random.Random, at: int = 1) -> None:
    masks = (15, 16, 63, 64, -16, -64, -1)
    value = rng.choice(masks) if rng.randrange(2) else edge(rng, 8 if short else min(bits, 32))
    top = 1 << (7 if short else min(bits, 32) - 1)
    value = (value & 2 * top - 1 ^ top) - top
    kinds = {
        (8, False): (OpKind.IMMEDIATE8, "immediate8"),
        (16, False): (OpKind.IMMEDIATE16, "immediate16"),
        (32, False): (OpKind.IMMEDIATE32, "immediate32"),
        (64, False): (OpKind.IMMEDIATE32TO64, "immediate32to64"),
        (16, True): (OpKind.IMMEDIATE8TO16, "immediate8to16"),
        (32, True): (OpKind.IMMEDIATE8TO32, "immediate8to32"),
        (64, True): (OpKind.IMMEDIATE8TO64, "immediate8to64"),
    }
    kind, field = kinds[bits, short]
    i.set_op_kind(at, kind)
    signed_field = "to" in field
    setattr(i, field, value if signed_field else value & 2 * top - 1)


@cache
def codes() -> tuple[int, ...]:
    """Return the codes of all forms that are attacked."""
    return tuple(forms())


@dataclass(frozen=True)
class Case:
    """A form on an unknown: the instruction, the registers, the comparison before it."""

    code: int
    instruction: Instruction
    gpr: dict[int, Value]
    before: tuple[int, int]


def drawn(code: int, rng: random.Random) -> Case:
    """Return a case of a form."""
    i, bits = instruction(code, rng), width(code)
    u = unknown(rng, bits)
    gpr: dict[int, Value] = {RAX: u, RDX: operand(rng, bits, u)}
    if rng.randrange(4) == 0:
        gpr[RAX], gpr[RDX] = gpr[RDX], u
    gpr[RCX] = rng.randrange(70)
    if code_name(code).startswith("VEX") and isinstance(gpr[RAX], Affine):
        gpr[RDX] = rng.randrange(70)
    return Case(code, i, gpr, (rng.getrandbits(64), rng.getrandbits(64)))


def machine(gpr: dict[int, Value], before: tuple[int, int]) -> Machine:
    """Return a machine with these registers, and flags from a comparison of two numbers."""
    terms = Terms(lambda kind, power: NotImplemented)
    region = Region("buffer", 0, 64, Access.UPDATE, lambda index: 0, 64)
    m = Machine(
        terms,
        Memory(terms, Image(X86_64, (), {}), [region]),
        [gpr.get(k, 0) for k in range(16)],
        [(0, 0, 0, 0)] * 32,
        [0] * 8,
    )
    m.flags = flags_module.of_difference(RANGES, *before, 64, m.memory.inside)
    return m


def at(value: Value, u: int) -> Value:
    """Return a value for unknown = u."""
    if isinstance(value, Affine):
        return value.at(u)
    if isinstance(value, Pointer) and isinstance(value.offset, Affine):
        return Pointer(value.region, value.offset.at(u))
    return value


def is_said(terms: Terms, value: Value, exact: Callable[[Value], Value], number: Value) -> bool:
    """Return whether a value is this number, as far as anything is said.

    `exact` puts numbers in the place of unknowns.
    """
    if not isinstance(value, Term):
        return exact(value) == number
    assert isinstance(number, int)
    said: Lane = value
    if value.op == BESIDE:
        rest, known = value.args
        assert isinstance(rest, Term)
        said, number = as_lane(known), number & ~rest.mask
    if isinstance(said, int) or said.op == "opaque":
        return said == number or not isinstance(said, int)
    numbers: dict[str, int] = {}
    for part in parts_first(said, ()):
        if isinstance(part.args[0], UNKNOWN):
            one = exact(part.args[0])
            assert isinstance(one, int)
            numbers[f"{NUMBER_LETTER}{part.serial}"] = one
    return evaluate(terms.form(said), numbers) == number


def condition(m: Condition, name: str) -> bool | None:
    """Return a condition, None if it is refused."""
    try:
        return CONDITIONS[name](m)
    except (Refutation, UndecidedError):
        return None


def differences(case: Case, seen: Counter[str]) -> list[str]:
    """Return where the row's result for the unknown is wrong for one of its values."""
    i, gpr, before = case.instruction, case.gpr, case.before
    step = step_of(i)
    low, high = next((v.low, v.high) for v in gpr.values() if isinstance(v, Affine))
    concrete = []
    for u in range(low, high + 1):
        m = machine({k: at(v, u) for k, v in gpr.items()}, before)
        assert step(m) is None
        concrete.append((u, m))
    symbolic = machine(gpr, before)
    try:
        step(symbolic)
    except (Refutation, UndecidedError):
        seen["refused"] += 1
        return []
    seen["run"] += 1
    wrong = [
        f"{i} at {u}: register {k} is {symbolic.gpr[k]!r}, not {m.gpr[k]!r}"
        for u, m in concrete
        for k in range(16)
        if not is_said(symbolic.terms, symbolic.gpr[k], lambda v: at(v, u), m.gpr[k])  # noqa: B023
    ]
    for name in CONDITIONS:
        said = condition(symbolic, name)
        truth = {condition(m, name) for _, m in concrete}
        if said is None:
            seen[
                "open although all agree" if len(truth) == 1 and None not in truth else "open"
            ] += 1
        elif truth - {said, None}:
            wrong.append(f"{i}: {name} is said to be {said}, with {gpr}")
        else:
            seen["decided"] += 1
    return wrong

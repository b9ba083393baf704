"""The forms of instructions that take a number from a general register, and instances of them."""

import random
from collections.abc import Iterator
from functools import cache
from typing import Any

from iced_x86 import Code, Decoder, Encoder, Instruction, OpKind, Register

from ghashgen.verify.core.values import M64
from ghashgen.verify.x86_64.rows.table import code_name

WIDTHS = (8, 16, 32, 64)
RAX, RCX, RDX = 0, 1, 2
# At run time iced's registers are integers; its stubs declare a type that does not exist.
FIRST: dict[int, Any] = {8: Register.AL, 16: Register.AX, 32: Register.EAX, 64: Register.RAX}

TWO = ("ADD", "SUB", "CMP", "AND", "OR", "XOR", "TEST")
ONE = ("INC", "DEC", "NEG", "NOT")
SHIFTS = ("SHL", "SHR", "ROL")


def forms() -> Iterator[int]:
    """Yield their codes."""
    for bits in WIDTHS:
        names = [f"{name}_RM{bits}_R{bits}" for name in TWO]
        names += [f"{name}_RM{bits}_IMM{min(bits, 32)}" for name in TWO]
        names += [f"{name}_RM{bits}_IMM8" for name in TWO if bits > 8 and name != "TEST"]
        names += [f"{name}_RM{bits}" for name in ONE]
        names += [f"{name}_RM{bits}_{count}" for name in SHIFTS for count in ("IMM8", "1", "CL")]
        names += [f"MOV_RM{bits}_R{bits}"]
        if bits >= 32:
            names += [f"LEA_R{bits}_M", f"BSWAP_R{bits}", f"VEX_BZHI_R{bits}_RM{bits}_R{bits}"]
            names += [f"MOVZX_R{bits}_RM{small}" for small in (8, 16)]
            letter = "DQ"[bits // 64]
            names += [f"VEX_VMOV{letter}_XMM_RM{bits}", f"VEX_VPINSR{letter}_XMM_XMM_RM{bits}_IMM8"]
        else:
            names += ["MOVZX_R16_RM8"] if bits == 16 else []
        for name in names:
            yield getattr(Code, name)


def width(code: int) -> int:
    """Return the bits of the widest operand of a form."""
    name = code_name(code)
    return next(b for b in (64, 32, 16, 8) if any(f"{r}{b}" in name for r in ("RM", "R")))


def edge(rng: random.Random, bits: int) -> int:
    """Return a number, often near a bound of the width."""
    near = rng.choice((0, 1 << bits - 1, 1 << bits, (1 << bits) - 64))
    pick = near + rng.randrange(-9, 10) if rng.randrange(3) else rng.getrandbits(bits)
    return pick & (1 << bits) - 1


def instruction(code: Any, rng: random.Random) -> Instruction:
    """Return the form on rax and rdx, with a count in cl, or an address from rax."""
    i = Instruction()
    i.code = code
    name, bits = code_name(code), width(code)
    i.set_op_kind(0, OpKind.REGISTER)
    i.set_op_register(0, FIRST[bits] + RAX)
    if "XMM" in name:
        i.set_op_register(0, Register.XMM0)
        i.set_op_register(1, Register.XMM0)
        i.set_op_register(2 if "IMM8" in name else 1, FIRST[bits] + RAX)
        if "IMM8" in name:
            i.set_op_kind(3, OpKind.IMMEDIATE8)
            i.immediate8 = rng.randrange(4)
    elif name.startswith("VEX"):
        i.set_op_register(1, FIRST[bits] + RAX)
        i.set_op_register(2, FIRST[bits] + RDX)
    elif name.startswith("LEA"):
        i.set_op_kind(1, OpKind.MEMORY)
        i.memory_base, i.memory_index = Register.RAX, Register.RDX
        i.memory_index_scale = rng.choice((1, 2, 4, 8))
        i.memory_displacement, i.memory_displ_size = rng.choice((0, 16, M64 - 15)), 1
    elif name.startswith("MOVZX"):
        i.set_op_register(1, FIRST[8 if name.endswith("8") else 16] + RDX)
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


def _immediate(i: Instruction, bits: int, short: bool, rng: random.Random) -> None:
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
    i.set_op_kind(1, kind)
    signed_field = "to" in field
    setattr(i, field, value if signed_field else value & 2 * top - 1)


@cache
def codes() -> tuple[int, ...]:
    """Return the codes of all forms that are attacked."""
    return tuple(forms())

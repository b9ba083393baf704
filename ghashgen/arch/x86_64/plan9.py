"""Instructions in the syntax of Go's assembler, where that makes the same bytes of them.

Go's assembler chooses among encodings by rules of its own. The table has the mnemonics whose
every use in our kernels it encodes as ours were; all else is written as bytes. What it makes of a
whole kernel is compared with the proved bytes by the test that goes with the kernels.
"""

from collections.abc import Iterator
from types import MappingProxyType

from iced_x86 import Instruction, MemorySizeExt, Mnemonic, OpKind, Register, RegisterExt

GENERAL = frozenset({"ADD", "AND", "CMP", "LEA", "MOV", "NEG", "SHL", "SHR", "SUB", "XOR"})
"""Of general registers: Go's mnemonic has the size behind it."""

_WORDS = """
AESENC AESENCLAST MOVQ PAND PCLMULQDQ PCMPGTB PEXTRB PEXTRW POR PSHUFB PSHUFD PSLLQ PSRLQ
PUNPCKHQDQ PUNPCKLQDQ PXOR VAESENC VAESENCLAST VALIGNQ VBROADCASTI128 VBROADCASTI64X2
VEXTRACTI128 VEXTRACTI64X2 VEXTRACTI64X4 VINSERTI128 VINSERTI64X2 VMOVD VMOVDQU VMOVDQU64
VPADDD VPAND VPANDQ VPCLMULQDQ VPCMPGTB VPERM2I128 VPEXTRB VPEXTRQ VPEXTRW VPOR VPORQ VPSHUFB
VPSHUFD VPSLLDQ VPSLLQ VPSRAD VPSRLDQ VPSRLQ VPTERNLOGQ VPUNPCKHQDQ VPUNPCKLQDQ VPXOR VPXORQ
VSHUFI64X2 VZEROUPPER
"""
SAME = frozenset(_WORDS.split())
"""Of vector registers, with Intel's names."""

OTHER = MappingProxyType(
    {"MOVDQA": "MOVO", "MOVDQU": "MOVOU", "PADDD": "PADDL", "PSLLDQ": "PSLLO", "PSRLDQ": "PSRLO"}
)
"""Of vector registers, with names of Go's own."""

_FORWARD = frozenset({"CMP"})
"""Mnemonics whose operands Go writes in Intel's order."""

_NAMES = {v: k for k, v in vars(Mnemonic).items() if isinstance(v, int) and k.isupper()}
_REGISTERS = {v: k for k, v in vars(Register).items() if isinstance(v, int) and k.isupper()}
_RBP: int = Register.RBP
_SUFFIXES = {4: "L", 8: "Q"}


def spelled(found: Instruction) -> str:
    """Return an instruction in Go's syntax, or "" if Go's assembler may encode it otherwise."""
    name = _NAMES[found.mnemonic]
    if name == "RET":
        return name
    if name not in GENERAL | SAME | OTHER.keys():
        return ""
    # `go vet` takes a write to BP for a lost frame pointer, because it reads no PUSH in bytes.
    if found.has_op_mask or found.is_broadcast or found.op0_register == _RBP:
        return ""
    suffix = _SUFFIXES.get(_size(found), "") if name in GENERAL else ""
    operands = list(_operands(found))
    if "" in operands or (name in GENERAL and not suffix):
        return ""
    ordered = operands if name in _FORWARD else operands[::-1]
    return f"{OTHER.get(name, name)}{suffix} {', '.join(ordered)}".rstrip()


def _size(found: Instruction) -> int:
    """Return the bytes of the first operand."""
    if found.op0_kind == OpKind.MEMORY:
        return MemorySizeExt.size(found.memory_size)
    return RegisterExt.size(found.op0_register)


def _operands(found: Instruction) -> Iterator[str]:
    for number in range(found.op_count):
        match found.op_kind(number):
            case OpKind.REGISTER:
                yield _register(found.op_register(number))
            case OpKind.MEMORY:
                yield _memory(found)
            case OpKind.IMMEDIATE8:
                yield f"${found.immediate8}"
            case OpKind.IMMEDIATE8TO32 | OpKind.IMMEDIATE8TO64 | OpKind.IMMEDIATE32TO64:
                yield f"${_signed(found.immediate(number), 64)}"
            case OpKind.IMMEDIATE32:
                yield f"${found.immediate32}"
            case _:
                yield ""


def _signed(value: int, bits: int) -> int:
    value &= (1 << bits) - 1
    return value - (1 << bits) if value >> bits - 1 else value


def _register(number: int) -> str:
    """Return a register's name; "" for parts of one, for the stack pointer and for RIP."""
    name = _REGISTERS[number]
    if name[1:3] == "MM":
        return name[0] + name[3:]
    if name in ("RSP", "RIP") or RegisterExt.size(number) not in _SUFFIXES:  # type: ignore[arg-type]
        return ""
    whole = _REGISTERS[RegisterExt.full_register(number)]  # type: ignore[arg-type]
    return whole if whole[1].isdigit() else whole[1:]


def _memory(found: Instruction) -> str:
    base = _register(found.memory_base) if found.memory_base else ""
    if not base:
        return ""
    text = f"{_signed(found.memory_displacement, 64)}({base})"
    if found.memory_index:
        text += f"({_register(found.memory_index)}*{found.memory_index_scale})"
    return text

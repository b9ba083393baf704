"""The form of an instruction, its key in port tables: mnemonic and operand kinds, as decoded.

    vpxor x,x,m128      vmovdqu8 z{kz},m512      sub r64,i32      lea r64,agen      vpxor x,0

- x, y, z and k are vector and mask registers, r64 a general one.
- m512 is memory of that many bits, i8 an immediate as encoded, l a branch target.
- agen is an address of at most two parts (agen3: base, index and displacement).
- {k} and {kz} mark merging and zeroing masks.
- Operand 0 stands for the sources of a zeroing idiom, which no execution unit sees.

`known` lists every form of the instruction set, so that a table cannot contain a key that no
instruction has.
"""

from collections.abc import Mapping
from functools import cache
from itertools import product
from typing import Any

from iced_x86 import (
    Code,
    Instruction,
    MemorySizeExt,
    Mnemonic,
    OpCodeInfo,
    OpCodeOperandKind,
    OpKind,
    Register_,
    RegisterExt,
)

from ghashgen.arch.rows import Row
from ghashgen.arch.uarch import spell

ZEROING = ("pxor", "vpxor", "vpxorq", "xor")
"""Mnemonics that give zero from one register twice, and are recognised as such."""

_IMMEDIATES = {
    OpKind.IMMEDIATE8: "i8",
    OpKind.IMMEDIATE8_2ND: "i8",
    OpKind.IMMEDIATE8TO16: "i8",
    OpKind.IMMEDIATE8TO32: "i8",
    OpKind.IMMEDIATE8TO64: "i8",
    OpKind.IMMEDIATE32: "i32",
    OpKind.IMMEDIATE32TO64: "i32",
    OpKind.IMMEDIATE64: "i64",
}
_BRANCHES = (OpKind.NEAR_BRANCH16, OpKind.NEAR_BRANCH32, OpKind.NEAR_BRANCH64)
_REGISTERS = (
    (RegisterExt.is_xmm, "x"),
    (RegisterExt.is_ymm, "y"),
    (RegisterExt.is_zmm, "z"),
    (RegisterExt.is_k, "k"),
    (RegisterExt.is_gpr64, "r64"),
    (RegisterExt.is_gpr32, "r32"),
    (RegisterExt.is_gpr16, "r16"),
    (RegisterExt.is_gpr8, "r8"),
)

_SPELLED = (
    ("XMM", "x"),
    ("YMM", "y"),
    ("ZMM", "z"),
    ("K_", "k"),
    ("R64", "r64"),
    ("RAX", "r64"),
    ("R32", "r32"),
    ("EAX", "r32"),
    ("R16", "r16"),
    ("AX", "r16"),
    ("R8", "r8"),
    ("AL", "r8"),
    ("IMM8", "i8"),
    ("IMM32", "i32"),
    ("IMM64", "i64"),
    ("BR64", "l"),
)
"""Prefixes of iced's operand kinds, and the kinds here."""


def _names(enumeration: Any) -> Mapping[Any, str]:
    """Return the names of iced's enumeration by number."""
    return {v: k for k, v in vars(enumeration).items() if isinstance(v, int) and k.isupper()}


@cache
def _mnemonics() -> Mapping[int, str]:
    return {number: name.lower() for number, name in _names(Mnemonic).items()}


def _memory(bytes_: int) -> str:
    return f"m{8 * bytes_}"


def _register(register: Register_) -> str:
    return next((kind for test, kind in _REGISTERS if test(register)), "?")


def _address(instruction: Instruction) -> str:
    parts = (instruction.memory_base, instruction.memory_index, instruction.memory_displacement)
    return "agen3" if all(parts) else "agen"


def _operand(instruction: Instruction, name: str, index: int) -> str:
    kind = instruction.op_kind(index)
    if kind == OpKind.REGISTER:
        return _register(instruction.op_register(index))
    if kind == OpKind.MEMORY:
        if name == "lea":
            return _address(instruction)
        return _memory(MemorySizeExt.size(instruction.memory_size))
    if kind in _BRANCHES:
        return "l"
    return _IMMEDIATES.get(kind, "?")


def _zeroes(instruction: Instruction, name: str) -> bool:
    """Return whether the instruction is a zeroing idiom."""
    if name not in ZEROING or instruction.has_op_mask:
        return False
    last = instruction.op_count - 1
    return instruction.op_kind(last) == OpKind.REGISTER and instruction.op_register(
        last
    ) == instruction.op_register(last - 1)


def form_of(instruction: Instruction) -> str:
    """Return the form of a decoded instruction."""
    name = _mnemonics()[instruction.mnemonic]
    kinds = [_operand(instruction, name, i) for i in range(instruction.op_count)]
    if _zeroes(instruction, name):
        kinds = [kinds[0], "0"]
    elif instruction.has_op_mask:
        kinds[0] += "{kz}" if instruction.zeroing_masking else "{k}"
    return spell(name, kinds)


def _alternatives(name: str, info: OpCodeInfo, kind: str) -> tuple[str, ...]:
    """Return the operand kinds that one operand of an opcode may have."""
    if kind == "MEM" and name == "lea":
        return ("agen", "agen3")
    memory = _memory(MemorySizeExt.size(info.memory_size))
    if kind == "MEM":
        return (memory,)
    register = next((ours for prefix, ours in _SPELLED if kind.startswith(prefix)), "?")
    return (register, memory) if "_OR_MEM" in kind else (register,)


def _masks(info: OpCodeInfo) -> tuple[str, ...]:
    if not info.can_use_op_mask_register:
        return ("",)
    return ("", "{k}", "{kz}") if info.can_use_zeroing_masking else ("", "{k}")


@cache
def known(mnemonic: str) -> frozenset[str]:
    """Return every form of a mnemonic, from the decoder's opcode table; empty if unknown."""
    forms: set[str] = set()
    for code in _codes().get(mnemonic, ()):
        info = OpCodeInfo(code)
        kinds = [_operand_kinds()[kind] for kind in info.op_kinds()]
        choices = [_alternatives(mnemonic, info, kind) for kind in kinds]
        for operands in product(*choices):
            for mask in _masks(info):
                marked = [f"{operands[0]}{mask}", *operands[1:]] if operands else []
                forms.add(spell(mnemonic, marked))
        if mnemonic in ZEROING:
            forms.add(spell(mnemonic, [choices[0][0], "0"]))
    return frozenset(forms)


_OF_KINDS = {
    "v": ("x", "y", "z"),
    "h": ("x", "y"),
    "mv": ("m128", "m256", "m512"),
    "m128a": ("m128",),
    "q": ("r64",),
    "d": ("r32",),
    "addr": ("agen", "agen3"),
    "i": ("i8", "i32"),
}
"""Operand kinds of rows (`arch.rows.KINDS`) in forms, where they differ."""


def of_row(row: Row) -> frozenset[str]:
    """Return the forms of an instruction row, at any width."""
    choices = [
        [k for kind in spec.kinds for k in _OF_KINDS.get(kind, (kind,))] for spec in row.operands
    ]
    if any(spec.role == "n" for spec in row.operands):
        choices = [choices[0], ["0"]]
    return known(row.mnemonic) & {spell(row.mnemonic, kinds) for kinds in product(*choices)}


def mnemonic_of(code: Any) -> str:
    """Return the mnemonic of an opcode, by iced's number."""
    return _mnemonics()[OpCodeInfo(code).mnemonic]


@cache
def _operand_kinds() -> Mapping[int, str]:
    return _names(OpCodeOperandKind)


@cache
def _codes() -> Mapping[str, tuple[Any, ...]]:
    """Return the opcodes of 64-bit mode by mnemonic."""
    found: dict[str, list[Any]] = {}
    for code in sorted(_names(Code)):
        info = OpCodeInfo(code)
        if info.is_instruction and info.mode64:
            found.setdefault(_mnemonics()[info.mnemonic], []).append(code)
    return {name: tuple(codes) for name, codes in found.items()}

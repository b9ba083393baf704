"""Functions in bytes, as lists of instructions that can be compared.

The shape of an instruction is its mnemonic and its operands:

- register: its name;
- immediate: width and value;
- memory: size, base, index, scale and displacement; for a constant, its 16 bytes;
- branch: only that it is one. Its target is stored beside the shape.

Different encodings of one instruction have the same shape: two-byte and three-byte VEX prefixes,
CMP with and without the short form for rax, base and index exchanged at scale 1.
"""

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache

from iced_x86 import Decoder, Instruction, MemorySizeExt, OpKind, Register

from ghashgen.arch.elf import Elf, read_elf
from ghashgen.arch.objects import object_code
from ghashgen.arch.x86_64 import ARCH
from ghashgen.arch.x86_64.abi import SYSV
from ghashgen.arch.x86_64.registers import GPR_NAMES
from ghashgen.kernels.hash.kernel import ENTRY_BYTES

Shape = tuple[str, tuple[str, ...]]
"""(mnemonic, operand shapes)."""

VZEROUPPER: Shape = ("vzeroupper", ())
_RET: Shape = ("ret", ())
UNKNOWN = "rip"
"""Stands for a constant whose bytes are not known."""
_SIGN, _RANGE = 1 << 63, 1 << 64


@dataclass(frozen=True)
class Encoded:
    """A function's bytes before relocation."""

    name: str
    code: bytes
    constants: Mapping[int, bytes]
    """The 16 bytes that a rip-relative displacement will point to, by the displacement's offset."""


@dataclass(frozen=True)
class Item:
    """One decoded instruction."""

    at: int
    shape: Shape
    target: int | None
    """The branch target, an offset in the code."""
    registers: tuple[str, ...]
    """The register of each operand, or ""."""
    address: tuple[str, str] = ("", "")
    """Base and index of the memory operand, or ""."""

    @property
    def register(self) -> str:
        """The register of the first operand, for PUSH and POP."""
        return self.registers[0] if self.registers else ""


@cache
def _kinds() -> Mapping[int, str]:
    """Return iced's operand kinds by number."""
    return {value: name for name, value in vars(OpKind).items() if isinstance(value, int)}


@cache
def _registers() -> Mapping[int, str]:
    return {value: name.lower() for name, value in vars(Register).items() if isinstance(value, int)}


def _name(register: int) -> str:
    return _registers()[register] if register else ""


def _signed(value: int) -> int:
    value %= _RANGE
    return value - _RANGE if value >= _SIGN else value


def _memory(instruction: Instruction, constant: bytes | None) -> str:
    size = 8 * MemorySizeExt.size(instruction.memory_size)
    if instruction.is_ip_rel_memory_operand:
        return f"m{size}[{UNKNOWN if constant is None else constant.hex()}]"
    base, index = _name(instruction.memory_base), _name(instruction.memory_index)
    scale = instruction.memory_index_scale
    if scale == 1 and base and index:
        base, index = sorted((base, index))
    parts = [base] if base else []
    if index:
        parts.append(f"{index}*{scale}")
    parts.append(str(_signed(instruction.memory_displacement)))
    return f"m{size}[{' + '.join(parts)}]"


def _operand(instruction: Instruction, i: int, constant: bytes | None) -> str:
    kind = _kinds()[instruction.op_kind(i)]
    if kind == "REGISTER":
        return _name(instruction.op_register(i))
    if kind.startswith("NEAR_BRANCH"):
        return "label"
    if kind.startswith("IMMEDIATE"):
        return f"{kind.lower()} {_signed(instruction.immediate(i))}"
    if kind == "MEMORY":
        return _memory(instruction, constant)
    raise ValueError(f"operand kind {kind} has no shape")


def decode(function: Encoded) -> list[Item]:
    """Return a function's instructions."""
    decoder = Decoder(64, function.code, ip=0)
    out = []
    for instruction in decoder:
        offset = instruction.ip + decoder.get_constant_offsets(instruction).displacement_offset
        constant, count = function.constants.get(offset), instruction.op_count
        operands = tuple(_operand(instruction, i, constant) for i in range(count))
        registers = tuple(
            _name(instruction.op_register(i)) if instruction.op_kind(i) == OpKind.REGISTER else ""
            for i in range(count)
        )
        shape = (ARCH.decoder.mnemonic(instruction), operands)
        target = instruction.near_branch_target if "label" in operands else None
        address = _name(instruction.memory_base), _name(instruction.memory_index)
        out.append(Item(instruction.ip, shape, target, registers, address))
    return out


def functions_in(data: bytes, symbols: Mapping[str, str]) -> dict[str, Encoded]:
    """Return the functions of an assembled ELF object by name; `symbols` maps names to symbols."""
    elf = read_elf(data)
    code = object_code(elf, ARCH.decoder)
    constants = _relocated(elf, code.code)
    out = {}
    for name, symbol in symbols.items():
        start, end = code.functions[symbol]
        own = {at - start: item for at, item in constants.items() if start <= at < end}
        out[name] = Encoded(name, code.code[start:end], own)
    return out


def _relocated(elf: Elf, code: bytes) -> dict[int, bytes]:
    """Return the constant that each relocation points to, by the displacement's offset in .text."""
    text = elf.named(".text")
    entries = {entry.at: entry for entry in elf.relocations if entry.section == text}
    decoder = Decoder(64, code, ip=0)
    out = {}
    for instruction in decoder:
        at = instruction.ip + decoder.get_constant_offsets(instruction).displacement_offset
        if instruction.is_ip_rel_memory_operand and at in entries:
            symbol, addend = entries[at].symbol, entries[at].addend
            # A relocation is S + A - P; the CPU adds the address of the next instruction.
            start = symbol.value + addend + instruction.next_ip - at
            out[at] = elf.sections[symbol.section].content[start : start + ENTRY_BYTES]
    return out


def body(items: Sequence[Item]) -> tuple[list[Item], list[str]]:
    """Return PeachPy's items without its prologue (pushes) and epilogues, and any faults of these:
    VZEROUPPER and pops before each RET.
    """
    head = next((i for i, item in enumerate(items) if item.shape[0] != "push"), len(items))
    saved = [item.register for item in items[:head]]
    allowed = {GPR_NAMES[number] for number in SYSV.saved}
    faults = [f"saves {name}, which is not callee-saved" for name in saved if name not in allowed]
    dropped = set(range(head))
    for i, item in enumerate(items):
        if item.shape != _RET:
            continue
        pops = range(i - len(saved), i)
        if [items[j].register for j in pops if items[j].shape[0] == "pop"] != saved[::-1]:
            faults.append(f"does not restore {' '.join(saved)} before ret")
        if items[i - len(saved) - 1].shape != VZEROUPPER:
            faults.append("has no vzeroupper before ret")
        dropped.update(range(i - len(saved) - 1, i))
    return [item for i, item in enumerate(items) if i not in dropped], faults


def flow(items: Sequence[Item]) -> list[tuple[Shape, int | None]]:
    """Return shapes, and for each branch the position of its target in this list."""
    starts = [item.at for item in items]
    return [
        (item.shape, None if item.target is None else bisect_left(starts, item.target))
        for item in items
    ]

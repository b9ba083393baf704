"""PeachPy's bytes beside nasm's: the same instructions, register numbers left out.

An instruction's shape is its mnemonic and, for each operand, what is not a register's number:
class and width of registers; width and value of immediates; of memory its size, whether base and
index are there, scale and displacement, and for a constant its 16 bytes; of a branch the fact.

`differences` asks for equal multisets of shapes and, beyond that, for the same order and the same
branch targets. It leaves out exactly this, and checks what it leaves out:

1. nasm's function begins with ENDBR64; PeachPy knows no such instruction.
2. PeachPy writes VZEROUPPER before each RET, nasm's kernels never do (VEX.128 only: none is due).
3. Callee-saved registers pushed on entry and popped, in reverse, before each RET: the allocators
   choose different registers. Every such register must be callee-saved.
4. Register-to-register copies (MOV r64, VMOVDQA xmm): this tool's allocator coalesces them, PeachPy
   has no coalescing. PeachPy must have exactly those of the selected program, nasm's code no more.
5. NOPs of nasm's function: padding that keeps jumps off the ends of lines of code.

Encodings of one instruction are not told apart: a two-byte and a three-byte VEX prefix, CMP with
and without the short form for rax, an address whose base and index are exchanged at scale 1.
Padding between functions belongs to neither.
"""

import io
from bisect import bisect_left
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache

from elftools.elf.elffile import ELFFile
from elftools.elf.relocation import RelocationSection
from elftools.elf.sections import SymbolTableSection
from iced_x86 import Decoder, Instruction, MemorySizeExt, OpKind, Register, RegisterExt

from ghashgen.arch.objects import read_object
from ghashgen.arch.x86_64 import ARCH
from ghashgen.arch.x86_64.abi import SYSV
from ghashgen.arch.x86_64.registers import GPR_NAMES
from ghashgen.ir.program import Program
from ghashgen.kernels.hash.kernel import ENTRY_BYTES, Kernel
from ghashgen.kernels.target import Target
from ghashgen.output.artefact import make
from ghashgen.support.toolchain import assemble_text, find_nasm

Shape = tuple[str, tuple[str, ...]]
"""(mnemonic, operand shapes)."""

COPIES: Mapping[Shape, str] = {
    ("mov", ("r64", "r64")): "mov",
    ("vmovdqa", ("x128", "x128")): "vmovdqa",
}
"""Shapes of copies, and the mnemonic of the ISA's row."""

_ENDBR64: Shape = ("endbr64", ())
_VZEROUPPER: Shape = ("vzeroupper", ())
_RET: Shape = ("ret", ())
_UNKNOWN = "rip"
"""Stands for a constant whose bytes are not known."""
_SIGN, _RANGE = 1 << 63, 1 << 64


@dataclass(frozen=True)
class Encoded:
    """A function's bytes before relocation."""

    name: str
    code: bytes
    constants: Mapping[int, bytes]
    """By offset of a rip-relative displacement: the 16 bytes that it will point to."""


@dataclass(frozen=True)
class _Item:
    """One decoded instruction."""

    at: int
    shape: Shape
    target: int | None
    register: str
    """Name of the pushed or popped register."""


@cache
def _kinds() -> Mapping[int, str]:
    """Return iced's operand kinds by number."""
    return {value: name for name, value in vars(OpKind).items() if isinstance(value, int)}


@cache
def _registers() -> Mapping[int, str]:
    return {value: name.lower() for name, value in vars(Register).items() if isinstance(value, int)}


def _signed(value: int) -> int:
    value %= _RANGE
    return value - _RANGE if value >= _SIGN else value


def _memory(instruction: Instruction, constant: bytes | None) -> str:
    size = 8 * MemorySizeExt.size(instruction.memory_size)
    if instruction.is_ip_rel_memory_operand:
        return f"m{size}[{_UNKNOWN if constant is None else constant.hex()}]"
    parts = ["base"] if instruction.memory_base else []
    if instruction.memory_index:
        parts.append(f"index*{instruction.memory_index_scale}")
    parts.append(str(_signed(instruction.memory_displacement)))
    return f"m{size}[{' + '.join(parts)}]"


def _operand(instruction: Instruction, i: int, constant: bytes | None) -> str:
    kind = _kinds()[instruction.op_kind(i)]
    if kind == "REGISTER":
        register = instruction.op_register(i)
        letter = "x" if RegisterExt.is_vector_register(register) else "r"
        return f"{letter}{8 * RegisterExt.size(register)}"
    if kind.startswith("NEAR_BRANCH"):
        return "label"
    if kind.startswith("IMMEDIATE"):
        return f"{kind.lower()} {_signed(instruction.immediate(i))}"
    if kind == "MEMORY":
        return _memory(instruction, constant)
    raise ValueError(f"operand kind {kind} has no shape")


def _decode(code: bytes, constants: Mapping[int, bytes]) -> list[_Item]:
    decoder = Decoder(64, code, ip=0)
    out = []
    for instruction in decoder:
        offset = instruction.ip + decoder.get_constant_offsets(instruction).displacement_offset
        count = instruction.op_count
        operands = tuple(_operand(instruction, i, constants.get(offset)) for i in range(count))
        shape = (ARCH.decoder.mnemonic(instruction), operands)
        target = instruction.near_branch_target if "label" in operands else None
        register = _registers()[instruction.op0_register] if operands[:1] == ("r64",) else ""
        out.append(_Item(instruction.ip, shape, target, register))
    return out


def multiset(code: bytes, constants: Mapping[int, bytes] | None = None) -> Counter[Shape]:
    """Count the shapes of a function's instructions, all of them."""
    return Counter(item.shape for item in _decode(code, constants or {}))


def assembled(kernel: Kernel) -> dict[str, Encoded]:
    """Return the kernel's functions as nasm assembles the emitted file, by name.

    Raises:
        GhashgenError: nasm is missing or fails.
    """
    nasm = find_nasm()
    made = make(kernel, Target(), nasm)
    data = assemble_text(nasm, kernel.name, made.text, "elf64")
    code, constants = read_object(data), _relocated(data)
    out = {}
    for function in made.functions:
        start, end = code.functions[function.symbol]
        own = {at - start: item for at, item in constants.items() if start <= at < end}
        out[function.name] = Encoded(function.name, code.code[start:end], own)
    return out


def _relocated(data: bytes) -> dict[int, bytes]:
    """Return, by offset of a displacement in .text, the constant that its relocation points to."""
    elf = ELFFile(io.BytesIO(data))
    table = elf.get_section_by_name(".rela.text")
    if not isinstance(table, RelocationSection):
        return {}
    symbols = elf.get_section(table["sh_link"])
    assert isinstance(symbols, SymbolTableSection)
    entries = {entry["r_offset"]: entry for entry in table.iter_relocations()}
    decoder = Decoder(64, read_object(data).code, ip=0)
    out = {}
    for instruction in decoder:
        at = instruction.ip + decoder.get_constant_offsets(instruction).displacement_offset
        if instruction.is_ip_rel_memory_operand and at in entries:
            symbol = symbols.get_symbol(entries[at]["r_info_sym"])
            content = elf.get_section(symbol["st_shndx"]).data()
            # S + A - P, and the CPU adds the address of the next instruction.
            start = symbol["st_value"] + entries[at]["r_addend"] + instruction.next_ip - at
            out[at] = content[start : start + ENTRY_BYTES]
    return out


def _body(
    items: Sequence[_Item], first: Sequence[Shape], last: Sequence[Shape]
) -> tuple[list[_Item], list[str]]:
    """Return the items without entry (`first`, pushes) and exits (`last`, pops), and faults."""
    faults: list[str] = []
    head = len(first)
    if [item.shape for item in items[:head]] != list(first):
        faults.append(f"does not begin with {' '.join(shape[0] for shape in first)}")
        head = 0
    saved: list[str] = []
    while head < len(items) and items[head].shape[0] == "push":
        saved.append(items[head].register)
        head += 1
    allowed = {GPR_NAMES[number] for number in SYSV.saved}
    faults += [f"saves {name}, which is not callee-saved" for name in saved if name not in allowed]
    dropped = set(range(head))
    for i, item in enumerate(items):
        if item.shape != _RET:
            continue
        pops = list(range(i - len(saved), i))
        ends = list(range(i - len(saved) - len(last), i - len(saved)))
        if [items[j].register for j in pops if items[j].shape[0] == "pop"] != saved[::-1]:
            faults.append(f"does not restore {' '.join(saved)} before ret")
        if [items[j].shape for j in ends] != list(last):
            faults.append(f"has no {' '.join(shape[0] for shape in last)} before ret")
            ends = []
        dropped.update((*pops, *ends))
    return [item for i, item in enumerate(items) if i not in dropped], faults


def _flow(items: Sequence[_Item]) -> list[tuple[Shape, int | None]]:
    """Return shapes without copies, and for branches the position in this list they lead to."""
    kept = [item for item in items if item.shape not in COPIES]
    starts = [item.at for item in kept]

    return [
        (item.shape, None if item.target is None else bisect_left(starts, item.target))
        for item in kept
    ]


def _copies(items: Sequence[_Item]) -> Counter[str]:
    return Counter(COPIES[item.shape] for item in items if item.shape in COPIES)


def _show(shape: Shape) -> str:
    return f"{shape[0]} {', '.join(shape[1])}".rstrip()


def differences(nasm: Encoded, peachpy: Encoded, selected: Program, kernel: Kernel) -> list[str]:
    """Return how two encodings of the selected program differ, one line each; [] if they agree."""
    placed = _decode(nasm.code, nasm.constants)
    ours, faults = _body([item for item in placed if item.shape[0] != "nop"], (_ENDBR64,), ())
    theirs, more = _body(_decode(peachpy.code, peachpy.constants), (), (_VZEROUPPER,))
    lines = [f"nasm's code {fault}" for fault in faults]
    lines += [f"PeachPy's code {fault}" for fault in more]
    for who, items in (("nasm", ours), ("PeachPy", theirs)):
        if any(f"[{_UNKNOWN}]" in operand for item in items for operand in item.shape[1]):
            lines.append(f"{who}'s code reads a constant that no relocation names")
    rows = kernel.set.rows
    asked = Counter(rows[op.code].mnemonic for op in selected.ops if rows[op.code].copy)
    if _copies(theirs) != asked:
        lines.append(f"PeachPy has copies {dict(_copies(theirs))}, the program {dict(asked)}")
    if not _copies(ours) <= asked:
        lines.append(f"nasm has copies {dict(_copies(ours))}, the program {dict(asked)}")
    a, b = _flow(ours), _flow(theirs)
    counts = [Counter(shape for shape, _ in flow) for flow in (a, b)]
    lines += [f"{n}x only from nasm: {_show(s)}" for s, n in (counts[0] - counts[1]).items()]
    lines += [f"{n}x only from PeachPy: {_show(s)}" for s, n in (counts[1] - counts[0]).items()]
    if not lines and a != b:
        at = next(i for i, pair in enumerate(zip(a, b, strict=True)) if pair[0] != pair[1])
        lines.append(f"order or branch target differs at {at}: {_show(a[at][0])}")
    return [f"{kernel.name} {nasm.name}: {line}" for line in lines]

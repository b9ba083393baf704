"""Loads an ELF64 x86-64 relocatable object (System V gABI, chapter 4; AMD64 psABI 4.4)."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from ghashgen.arch.elf import ABSOLUTE, FILE, GLOBAL, SECTION, Elf, Symbol, read_elf
from ghashgen.run.emulate.layout import IMAGE_BASE, IMAGE_LIMIT, PAGE
from ghashgen.support.errors import GhashgenError

_SHF_WRITE, _SHF_ALLOC, _SHF_EXECINSTR = 1, 2, 4


class _Field(NamedTuple):
    name: str
    size: int
    relative: bool
    signed: bool


# AMD64 psABI, table 4.10.  A PLT32 to a symbol of the same object needs no stub, so it is a PC32.
RELOCATIONS = {
    1: _Field("R_X86_64_64", 8, False, False),
    2: _Field("R_X86_64_PC32", 4, True, True),
    4: _Field("R_X86_64_PLT32", 4, True, True),
    10: _Field("R_X86_64_32", 4, False, False),
    11: _Field("R_X86_64_32S", 4, False, True),
    24: _Field("R_X86_64_PC64", 8, True, True),
}


@dataclass(frozen=True)
class Segment:
    """One loaded section; `kind` is "x" (execute and read), "w" (read and write) or "r"."""

    name: str
    address: int
    kind: str
    content: bytes

    def __contains__(self, address: int) -> bool:
        return self.address <= address < self.address + len(self.content)


@dataclass(frozen=True, eq=False)
class Image:
    """An object with its sections at fixed addresses, relocated; symbols map names to addresses."""

    segments: tuple[Segment, ...]
    symbols: Mapping[str, int]

    def address_of(self, symbol: str) -> int:
        """Return the address of a symbol.

        Raises:
            GhashgenError: the object does not define it.
        """
        try:
            return self.symbols[symbol]
        except KeyError:
            names = ", ".join(sorted(self.symbols)) or "none"
            raise GhashgenError(
                f"the object defines no symbol {symbol!r}", f"it defines: {names}"
            ) from None

    def segment_at(self, address: int) -> Segment | None:
        """Return the section that holds an address."""
        return next((segment for segment in self.segments if address in segment), None)


def raw_image(code: bytes, symbol: str = "code") -> Image:
    """Return an image of one executable section with this code, and `symbol` at its first byte."""
    return Image((Segment(".text", IMAGE_BASE, "x", code),), {symbol: IMAGE_BASE})


def _kind(flags: int) -> str:
    if flags & _SHF_EXECINSTR:
        return "x"
    return "w" if flags & _SHF_WRITE else "r"


def _symbol_address(symbol: Symbol, placed: Mapping[int, int]) -> int | None:
    if symbol.section == ABSOLUTE:
        return symbol.value
    if symbol.section not in placed:
        return None
    return placed[symbol.section] + symbol.value


def _relocate(elf: Elf, placed: Mapping[int, int], contents: Mapping[int, bytearray]) -> None:
    for entry in elf.relocations:
        if entry.section not in placed:
            continue
        name, field = elf.sections[entry.section].name, RELOCATIONS.get(entry.type)
        if field is None:
            raise GhashgenError(
                f"relocation type {entry.type} of {name} is not supported",
                "refer to data of the same object relative to rip",
            )
        address = _symbol_address(entry.symbol, placed)
        if address is None:
            raise GhashgenError(
                f"the object refers to {entry.symbol.name!r}, which it does not define",
                "link the definition into the object (ld -r) first",
            )
        if entry.at + field.size > len(contents[entry.section]):
            raise GhashgenError(
                f"a relocation of {name} lies outside it", "assemble with nasm -f elf64"
            )
        value = address + entry.addend
        if field.relative:
            value -= placed[entry.section] + entry.at
        try:
            encoded = value.to_bytes(field.size, "little", signed=field.signed)
        except OverflowError:
            raise GhashgenError(
                f"{field.name} at {name}+{entry.at:#x} does not reach its target",
                "the emulated address space is fixed: use a wider reference",
            ) from None
        contents[entry.section][entry.at : entry.at + field.size] = encoded


def load_object(source: Path | bytes) -> Image:
    """Lay out and relocate an object file, given as its path or its bytes.

    Every allocated section starts on a new page from `IMAGE_BASE` up, with an unmapped page behind
    it. So a read past the end of a section is only detected at the page's end.

    Raises:
        GhashgenError: it is not an ELF64 x86-64 relocatable object, a symbol is undefined, or a
            relocation is not in `RELOCATIONS` or out of reach.
        OSError: the path cannot be read.
    """
    data = source if isinstance(source, bytes) else source.read_bytes()
    elf = read_elf(data)
    if (elf.machine, elf.type) != ("EM_X86_64", "ET_REL"):
        raise GhashgenError("not an ELF64 x86-64 relocatable object", "assemble with nasm -f elf64")

    placed: dict[int, int] = {}
    contents: dict[int, bytearray] = {}
    address = IMAGE_BASE
    for index, section in enumerate(elf.sections):
        if not section.flags & _SHF_ALLOC or not section.content:
            continue
        step = max(PAGE, section.align)
        address = -(-address // step) * step
        placed[index] = address
        contents[index] = bytearray(section.content)
        address += -(-len(contents[index]) // PAGE) * PAGE + PAGE
    if address > IMAGE_LIMIT:
        raise GhashgenError("the object's sections exceed the emulator's image area", "split it")
    _relocate(elf, placed, contents)

    symbols = {
        symbol.name: where
        for symbol in sorted(elf.symbols, key=lambda s: s.binding == GLOBAL)
        if symbol.name
        and symbol.type not in (FILE, SECTION)
        and (where := _symbol_address(symbol, placed)) is not None
    }
    segments = tuple(
        Segment(section.name, where, _kind(section.flags), bytes(contents[index]))
        for index, where in placed.items()
        for section in [elf.sections[index]]
    )
    return Image(segments, dict(sorted(symbols.items())))

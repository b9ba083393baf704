"""Loading of an ELF64 x86-64 relocatable object (System V gABI, chapter 4; AMD64 psABI 4.4)."""

from __future__ import annotations

import io
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from elftools.common.exceptions import ELFError
from elftools.elf.elffile import ELFFile
from elftools.elf.relocation import RelocationSection
from elftools.elf.sections import SymbolTableSection

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
        """The address of a symbol.

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
        """The section that holds an address."""
        return next((segment for segment in self.segments if address in segment), None)


def raw_image(code: bytes, symbol: str = "code") -> Image:
    """An image of one executable section that is `code`, with `symbol` at its first byte."""
    return Image((Segment(".text", IMAGE_BASE, "x", code),), {symbol: IMAGE_BASE})


def _kind(flags: int) -> str:
    if flags & _SHF_EXECINSTR:
        return "x"
    return "w" if flags & _SHF_WRITE else "r"


def _symbol_address(symbol: Any, placed: Mapping[int, tuple[Any, int]]) -> int | None:
    index = symbol["st_shndx"]
    if index == "SHN_ABS":
        return int(symbol["st_value"])
    if index not in placed:
        return None
    return placed[index][1] + int(symbol["st_value"])


def _relocate(
    elf: Any, placed: Mapping[int, tuple[Any, int]], contents: Mapping[int, bytearray]
) -> None:
    for section in elf.iter_sections():
        if not isinstance(section, RelocationSection) or section["sh_info"] not in placed:
            continue
        target = section["sh_info"]
        table = elf.get_section(section["sh_link"])
        for entry in section.iter_relocations():
            field = RELOCATIONS.get(entry["r_info_type"])
            symbol = table.get_symbol(entry["r_info_sym"])
            if field is None:
                raise GhashgenError(
                    f"relocation type {entry['r_info_type']} in {section.name} is not supported",
                    "refer to data of the same object relative to rip",
                )
            address = _symbol_address(symbol, placed)
            if address is None:
                raise GhashgenError(
                    f"the object refers to {symbol.name!r}, which it does not define",
                    "link the definition into the object (ld -r) first",
                )
            at = entry["r_offset"]
            value = address + entry["r_addend"]
            if field.relative:
                value -= placed[target][1] + at
            try:
                encoded = value.to_bytes(field.size, "little", signed=field.signed)
            except OverflowError:
                raise GhashgenError(
                    f"{field.name} at {section.name}+{at:#x} does not reach its target",
                    "the emulated address space is fixed: use a wider reference",
                ) from None
            contents[target][at : at + field.size] = encoded


def load_object(source: Path | bytes) -> Image:
    """Lay out and relocate an object file, given as its path or its bytes.

    Every allocated section starts on a page of its own from `IMAGE_BASE` up, with an unmapped
    page behind it.  A read past the end of a section is therefore seen only at the page's end.

    Raises:
        GhashgenError: not an ELF64 x86-64 relocatable object, an undefined symbol is used, or a
            relocation is not in `RELOCATIONS` or out of reach.
        OSError: the path cannot be read.
    """
    data = source if isinstance(source, bytes) else source.read_bytes()
    remedy = "assemble with nasm -f elf64"
    try:
        elf = ELFFile(io.BytesIO(data))
    except ELFError as problem:
        raise GhashgenError(f"not an ELF object: {problem}", remedy) from None
    if (elf.elfclass, elf["e_machine"], elf["e_type"]) != (64, "EM_X86_64", "ET_REL"):
        raise GhashgenError("not an ELF64 x86-64 relocatable object", remedy)

    placed: dict[int, tuple[Any, int]] = {}
    contents: dict[int, bytearray] = {}
    address = IMAGE_BASE
    for index, section in enumerate(elf.iter_sections()):
        if not section["sh_flags"] & _SHF_ALLOC or not section["sh_size"]:
            continue
        step = max(PAGE, section["sh_addralign"])
        address = -(-address // step) * step
        placed[index] = (section, address)
        # pyelftools answers zeros for SHT_NOBITS.
        contents[index] = bytearray(section.data())
        address += -(-len(contents[index]) // PAGE) * PAGE + PAGE
    if address > IMAGE_LIMIT:
        raise GhashgenError("the object's sections exceed the emulator's image area", "split it")
    _relocate(elf, placed, contents)

    symbols = {
        symbol.name: where
        for table in elf.iter_sections()
        if isinstance(table, SymbolTableSection)
        for symbol in sorted(
            table.iter_symbols(), key=lambda s: bool(s["st_info"]["bind"] == "STB_GLOBAL")
        )
        if symbol.name
        and symbol["st_info"]["type"] not in ("STT_FILE", "STT_SECTION")
        and (where := _symbol_address(symbol, placed)) is not None
    }
    segments = tuple(
        Segment(section.name, where, _kind(section["sh_flags"]), bytes(contents[index]))
        for index, (section, where) in placed.items()
    )
    return Image(segments, dict(sorted(symbols.items())))

"""Reads an ELF64 object file: its code, its constants and their references.

The alignment of sections (sh_addralign) is all that is known of their addresses. Relocations say
what refers from one section to another. The sections' numbers are of this module's choosing.

A whitelist limits what an object may contain (`ghashgen.verify.x86_64.elf_kinds`).
"""

import io
from dataclasses import replace
from pathlib import Path

from elftools.common.exceptions import ELFError
from elftools.elf.elffile import ELFFile
from elftools.elf.relocation import RelocationSection
from elftools.elf.sections import Section as ElfSection
from elftools.elf.sections import Symbol, SymbolTableSection

from ghashgen.support.errors import GhashgenError
from ghashgen.verify.machine.image import Image, Kind, Link, Section
from ghashgen.verify.x86_64.elf_kinds import (
    CALLABLE,
    RELOCATIONS,
    Relocation,
    check_file,
    check_tables,
    entry_bytes_of,
    is_place,
    kind_of,
    replaceable,
    require,
)
from ghashgen.verify.x86_64.elf_notes import features_of
from ghashgen.verify.x86_64.target import X86_64

FIRST_ADDRESS = 0x10000

PAGE = 4096
"""The alignment in bytes that every loader gives. The GNU C library before 2.35 and Linux before
5.10 ignore a larger alignment of a segment.
"""


def load_image(source: bytes | Path) -> Image:
    """Read an object file.

    Raises:
        GhashgenError: it is no relocatable ELF64 x86-64 object, or has unsupported content.
    """
    data = source if isinstance(source, bytes) else source.read_bytes()
    try:
        elf = ELFFile(io.BytesIO(data))
        check_file(elf, data)
        return _load(elf)
    except ELFError as error:
        raise GhashgenError(f"not an ELF file: {error}", "assemble with nasm -f elf64") from error
    except (ArithmeticError, AssertionError, AttributeError, LookupError, TypeError, ValueError) as error:  # fmt: skip # noqa: E501
        # The library does not check headers.
        raise GhashgenError(f"a damaged ELF file: {error!r}", "assemble it again") from error


def _load(elf: ELFFile) -> Image:
    placed = _place(elf)
    check_tables(elf)
    symbols: dict[str, int] = {}
    exported: set[str] = set()
    called: set[str] = set()
    # A section of zeros has none of its bytes in the file.
    extents = {index: elf.get_section(index)["sh_size"] for index in placed}
    for table in elf.iter_sections():
        if not isinstance(table, SymbolTableSection):
            continue
        for number, symbol in enumerate(table.iter_symbols()):
            if not is_place(number, symbol, table["sh_info"], extents):
                continue
            section = placed.get(symbol["st_shndx"])
            if section is None or not symbol.name:
                continue
            public = symbol["st_info"]["bind"] == "STB_GLOBAL"
            if public and section.kind is Kind.CODE and symbol["st_info"]["type"] in CALLABLE:
                called.add(symbol.name)
            twice = f"two global symbols {symbol.name!r}"
            require(not public or symbol.name not in exported, twice, "give each its own name")
            symbols[symbol.name] = section.address + symbol["st_value"]
            if public:
                exported.add(symbol.name)
    relocated: set[int] = set()
    for part in elf.iter_sections():
        if not isinstance(part, RelocationSection):
            continue
        index = part["sh_info"]
        target = placed.get(index)
        if target is None or target.kind not in (Kind.CODE, Kind.CONSTANTS):
            continue
        require(index not in relocated, f"two lists of relocations of {target.name}")
        require(
            not target.entry_bytes,
            f"relocations of {target.name}, whose constants may be merged",
            "put constants that are addresses into .rodata",
        )
        relocated.add(index)
        placed[index] = _relocate(elf, part, target, placed)
    sections = tuple(entry for section in placed.values() for entry in section.entries())
    own = len({section.name for section in sections}) == len(sections)
    require(own, "a section with the name of an entry of another", "call it otherwise")
    return Image(X86_64, sections, symbols, frozenset(called), features_of(elf))


def _place(elf: ELFFile) -> dict[int, Section]:
    """Return the allocated sections by number, at addresses of this module's choosing."""
    address = FIRST_ADDRESS
    placed: dict[int, Section] = {}
    names: set[str] = set()
    for index, section in enumerate(elf.iter_sections()):
        kind = kind_of(section)
        if kind is Kind.NOT_LOADED:
            continue
        require(section.name not in names, f"two sections {section.name}", "give each its own name")
        names.add(section.name)
        align = section["sh_addralign"]
        address = -(-address // max(align, 64)) * max(align, 64)
        entry_bytes = entry_bytes_of(section)
        known = min(max(align, 1), PAGE)
        placed[index] = Section(
            section.name, address, _content(section), kind, known, entry_bytes=entry_bytes
        )
        address += len(placed[index].data) + 4096
    return placed


def _content(section: ElfSection) -> bytes:
    if section["sh_type"] == "SHT_NOBITS":
        return b""
    data = bytes(section.data())
    require(len(data) == section["sh_size"], f"section {section.name} is cut off")
    return data


def _names_entry(symbol: Symbol, size: int) -> bool:
    """Return whether a symbol stands at an entry of mergeable constants.

    The section's own symbol does not: linkers add to it first, and then look for the entry.
    """
    kind, value = symbol["st_info"]["type"], symbol["st_value"]
    return bool(symbol.name) and kind != "STT_SECTION" and value < size


def _relocate(
    elf: ELFFile, relocations: RelocationSection, section: Section, placed: dict[int, Section]
) -> Section:
    """Return a section with its relocations applied."""
    table = elf.get_section(relocations["sh_link"])
    assert isinstance(table, SymbolTableSection)
    content, taken = bytearray(section.data), set[int]()
    links: dict[int, Link] = {}
    unresolved: dict[int, str] = {}
    for relocation in relocations.iter_relocations():
        number, at = relocation["r_info_type"], relocation["r_offset"]
        where = f"{section.name}+{at:#x}"
        require(
            number in RELOCATIONS,
            f"relocation type {number} at {where}",
            "reach constants relative to the instruction pointer, in this object",
        )
        kind = RELOCATIONS[number]
        field_bytes = range(at, at + kind.width)
        alone = at + kind.width <= len(content) and taken.isdisjoint(field_bytes)
        require(alone, f"a relocation at {where} beyond the section or over another")
        taken.update(field_bytes)
        symbol = table.get_symbol(relocation["r_info_sym"])
        target = placed.get(symbol["st_shndx"])
        why = replaceable(symbol)
        if kind is Relocation.ABSOLUTE or target is None or why or section.kind is Kind.CONSTANTS:
            why = why or "what only a linker completes"
            unresolved.update(dict.fromkeys(field_bytes, why))
            continue
        require(
            not target.entry_bytes or _names_entry(symbol, len(target.data)),
            f"a relocation at {where} to mergeable constants that names none",
            "name the constant by a local symbol, or put it into .rodata",
        )
        offset = symbol["st_value"] + relocation["r_addend"]
        place = target.place(symbol["st_value"], relocation["r_addend"])
        links[at] = Link(*place, kind is Relocation.BRANCH)
        value = target.address + offset - (section.address + at)
        require(-(1 << 31) <= value < 1 << 31, f"a relocation at {where} out of reach", "mend it")
        content[at : at + kind.width] = (value & (1 << 32) - 1).to_bytes(4, "little")
    return replace(section, data=bytes(content), links=links, unresolved=unresolved)

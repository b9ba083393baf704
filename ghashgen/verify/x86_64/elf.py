"""Reads an ELF64 object file: its code, its constants and their references.

The alignment of sections (sh_addralign) is all that is known of their addresses. Relocations say
what refers from one section to another. The sections' numbers are of this module's choosing.

A whitelist limits what an object may contain (`ghashgen.verify.x86_64.elf_kinds`).
"""

from dataclasses import replace
from pathlib import Path

from ghashgen.verify.machine.image import Image, Kind, Link, Section
from ghashgen.verify.x86_64 import elf_kinds as kinds
from ghashgen.verify.x86_64.elf_file import (
    RELA,
    SYMTAB,
    Part,
    Rela,
    Symbol,
    read_parts,
    relocations_of,
    require,
    symbols_of,
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
    parts = read_parts(source if isinstance(source, bytes) else source.read_bytes())
    placed = _place(parts)
    table = next((k for k, part in enumerate(parts) if part.type == SYMTAB), 0)
    symbols = symbols_of(parts, parts[table]) if table else ()
    places: dict[str, int] = {}
    public: set[str] = set()
    called: set[str] = set()
    # A section of zeros has none of its bytes in the file.
    sizes = [part.size for part in parts]
    for number, symbol in enumerate(symbols):
        inside = kinds.is_place(number, symbol, parts[table].info, sizes)
        section = placed.get(symbol.place)
        if not inside or section is None or not symbol.name:
            continue
        # Local ones come first: of two, it is the global one.
        places[symbol.name] = section.address + symbol.value
        if symbol.bind == kinds.GLOBAL:
            require(symbol.name not in public, f"two global symbols {symbol.name!r}")
            public.add(symbol.name)
            if section.kind is Kind.CODE and symbol.type in kinds.CALLABLE:
                called.add(symbol.name)
    relocated: set[int] = set()
    for part in parts:
        if part.type != RELA:
            continue
        require(part.link == table, f"{part.name} names symbols of no table")
        entries, target = relocations_of(part, len(symbols)), placed.get(part.info)
        if target is None or target.kind not in (Kind.CODE, Kind.CONSTANTS):
            continue
        require(part.info not in relocated, f"two lists of relocations of {target.name}")
        merged = f"relocations of {target.name}, whose constants may be merged"
        require(not target.entry_bytes, merged)
        relocated.add(part.info)
        placed[part.info] = _relocate(entries, symbols, target, placed)
    sections = tuple(entry for section in placed.values() for entry in section.entries())
    own = len({section.name for section in sections}) == len(sections)
    require(own, "a section with the name of an entry of another")
    return Image(X86_64, sections, places, frozenset(called), features_of(parts))


def _place(parts: tuple[Part, ...]) -> dict[int, Section]:
    """Return the allocated sections by number, at addresses of this module's choosing."""
    address = FIRST_ADDRESS
    placed: dict[int, Section] = {}
    names: set[str] = set()
    for index, part in enumerate(parts):
        kind = kinds.kind_of(part)
        if kind is Kind.NOT_LOADED:
            continue
        require(part.name not in names, f"two sections {part.name}")
        names.add(part.name)
        step, known = max(part.align, 64), min(max(part.align, 1), PAGE)
        address = -(-address // step) * step
        placed[index] = Section(
            part.name, address, part.content, kind, known, entry_bytes=kinds.entry_bytes_of(part)
        )
        address += len(part.content) + 4096
    return placed


def _relocate(
    entries: tuple[Rela, ...], symbols: tuple[Symbol, ...], section: Section,
    placed: dict[int, Section],
) -> Section:  # fmt: skip
    """Return a section with its relocations applied."""
    content, taken = bytearray(section.data), set[int]()
    links: dict[int, Link] = {}
    unresolved: dict[int, str] = {}
    for at, number, of, addend in entries:
        where = f"{section.name}+{at:#x}"
        require(number in kinds.FIELDS, f"relocation type {number} at {where}")
        field_bytes = range(at, at + kinds.FIELDS[number])
        alone = field_bytes.stop <= len(content) and taken.isdisjoint(field_bytes)
        require(alone, f"a relocation at {where} beyond the section or over another")
        taken.update(field_bytes)
        symbol = symbols[of]
        target = placed.get(symbol.place)
        why = kinds.replaceable(symbol)
        left = section.kind is Kind.CONSTANTS or number == kinds.R_64
        if left or target is None or why:
            why = why or "what only a linker completes"
            unresolved.update(dict.fromkeys(field_bytes, why))
            continue
        # To the section's own symbol linkers add first, and then look for the entry.
        names = symbol.name and symbol.type != kinds.SECTION and symbol.value < len(target.data)
        what = f"a relocation at {where} to mergeable constants that names none"
        require(names or not target.entry_bytes, what)
        links[at] = Link(*target.place(symbol.value, addend), number == kinds.PLT32)
        value = target.address + symbol.value + addend - (section.address + at)
        require(-(1 << 31) <= value < 1 << 31, f"a relocation at {where} out of reach")
        content[at : field_bytes.stop] = (value & (1 << 32) - 1).to_bytes(4, "little")
    return replace(section, data=bytes(content), links=links, unresolved=unresolved)

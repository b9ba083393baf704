"""An ELF64 object file as an image: its code, its constants and their references.

An address is a section and an offset. The linker and the loader place sections, so all that is
known of a section's address is its alignment (sh_addralign). Relocations say what refers from one
section to another. Sections also have numbers here, `Section.address`, of this module's choosing:
they name places of code for the decoder, and are no value of the machine.

A whitelist limits what an object may contain (`ghashgen.verify.x86_64.elf_kinds`).
"""

import io
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from elftools.common.exceptions import ELFError
from elftools.elf.elffile import ELFFile
from elftools.elf.relocation import RelocationSection
from elftools.elf.sections import Section as ElfSection
from elftools.elf.sections import Symbol, SymbolTableSection

from ghashgen.support.errors import GhashgenError
from ghashgen.verify.core.values import Pointer
from ghashgen.verify.x86_64.elf_kinds import (
    CALLABLE,
    RELOCATIONS,
    Kind,
    Relocation,
    check_file,
    check_tables,
    entry_bytes_of,
    is_place,
    kind_of,
    replaceable,
)
from ghashgen.verify.x86_64.elf_notes import features_of

FIRST_ADDRESS = 0x10000

PAGE = 4096
"""The alignment in bytes that every loader gives. The GNU C library before 2.35 and Linux before
5.10 ignore a larger alignment of a segment.
"""

SECTION = "section "
"""The prefix of region names that are sections, and of no others."""


@dataclass(frozen=True)
class Link:
    """A place in a section that a 4-byte field refers to, relative to the field."""

    section: str
    offset: int
    branch: bool
    """Whether only a jump or a call may have it (PLT32)."""


@dataclass(frozen=True)
class Section:
    """One allocated section, with a unique name."""

    name: str
    address: int
    data: bytes
    kind: Kind
    align: int
    links: Mapping[int, Link] = field(default_factory=dict)
    """By the field's offset."""
    unresolved: Mapping[int, str] = field(default_factory=dict)
    """Offsets of bytes that only a linker knows, and why."""
    entry_bytes: int = 0
    """The size of each entry of mergeable constants. One entry's place says nothing of the others'.
    """

    def entries(self) -> Iterator["Section"]:
        """Yield what stays together in any link: the section, or each entry of it."""
        if not self.entry_bytes:
            yield self
            return
        align = min(self.align, self.entry_bytes)
        for start in range(0, len(self.data), self.entry_bytes):
            data = self.data[start : start + self.entry_bytes]
            name = f"{self.name}+{start:#x}"
            yield Section(name, self.address + start, data, self.kind, align)

    def place(self, value: int, addend: int) -> tuple[str, int]:
        """Return a symbol's section or entry, and the place from there.

        A linker moves the symbol with its entry; the addend does not change.
        """
        if not self.entry_bytes:
            return self.name, value + addend
        start = value - value % self.entry_bytes
        return f"{self.name}+{start:#x}", value + addend - start

    @property
    def region(self) -> str:
        """Return the region of pointers into the section."""
        return SECTION + self.name

    def cell(self, index: int) -> int:
        """Return the 16 bytes at 16·index, with zeros after the end."""
        return int.from_bytes(self.data[16 * index : 16 * index + 16], "little")


@dataclass(frozen=True)
class Image:
    """Sections by ascending address, and symbols: name -> address. Code is 64-bit x86."""

    sections: tuple[Section, ...]
    symbols: dict[str, int]
    exported: frozenset[str] = frozenset()
    """The symbols in code that others can call, each defined once."""
    features: frozenset[str] = frozenset()
    """What the object's notes promise: "IBT", "SHSTK"."""
    operands: dict[int, Pointer] = field(default_factory=dict, compare=False, repr=False)
    """The target of each decoded instruction's relative operand, by the instruction's address."""

    def section(self, address: int) -> Section | None:
        """Return the section that holds the code at an address."""
        for section in self.sections:
            if section.address <= address < section.address + len(section.data):
                return section
        return None

    def named(self, name: str) -> Section:
        """Return a section, or an entry of one, by its name."""
        return next(section for section in self.sections if section.name == name)

    def symbol(self, name: str) -> int:
        """Return a function's address.

        Raises:
            GhashgenError: the object does not define it for others to call.
        """
        if name not in self.exported:
            raise GhashgenError(
                f"no symbol {name!r} in the object that is global and in code",
                f"it has {', '.join(sorted(self.exported)) or 'none'}",
            )
        return self.symbols[name]


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
            if public and symbol.name in exported:
                raise GhashgenError(
                    f"two global symbols {symbol.name!r}", "a linker takes the one or the other"
                )
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
        if index in relocated:
            raise GhashgenError(
                f"two lists of relocations of {target.name}", "assemble the file again"
            )
        if target.entry_bytes:
            raise GhashgenError(
                f"relocations of {target.name}, whose constants may be merged",
                "put constants that are addresses into .rodata",
            )
        relocated.add(index)
        placed[index] = _relocate(elf, part, target, placed)
    sections = tuple(entry for section in placed.values() for entry in section.entries())
    if len({section.name for section in sections}) < len(sections):
        raise GhashgenError("a section with the name of an entry of another", "call it otherwise")
    return Image(sections, symbols, frozenset(called), features_of(elf))


def _place(elf: ELFFile) -> dict[int, Section]:
    """Return the allocated sections by number, at addresses of this module's choosing."""
    address = FIRST_ADDRESS
    placed: dict[int, Section] = {}
    names: set[str] = set()
    for index, section in enumerate(elf.iter_sections()):
        kind = kind_of(section)
        if kind is Kind.NOT_LOADED:
            continue
        if section.name in names:
            raise GhashgenError(f"two sections {section.name}", "give each a name of its own")
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
    if len(data) != section["sh_size"]:
        raise GhashgenError(f"section {section.name} is cut off", "assemble the file again")
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
        kind = RELOCATIONS.get(number)
        if kind is None:
            raise GhashgenError(
                f"relocation type {number} at {section.name}+{at:#x}",
                "reach constants relative to the instruction pointer, in this object",
            )
        field_bytes = range(at, at + kind.width)
        if at + kind.width > len(content) or taken.intersection(field_bytes):
            raise GhashgenError(
                f"a relocation at {section.name}+{at:#x} beyond the section or over another",
                "assemble the file again",
            )
        taken.update(field_bytes)
        symbol = table.get_symbol(relocation["r_info_sym"])
        target = placed.get(symbol["st_shndx"])
        why = replaceable(symbol)
        if kind is Relocation.ABSOLUTE or target is None or why or section.kind is Kind.CONSTANTS:
            why = why or "what only a linker completes"
            unresolved.update(dict.fromkeys(field_bytes, why))
            continue
        if target.entry_bytes and not _names_entry(symbol, len(target.data)):
            raise GhashgenError(
                f"a relocation at {section.name}+{at:#x} to mergeable constants that names none",
                "name the constant by a local symbol, or put it into .rodata",
            )
        offset = symbol["st_value"] + relocation["r_addend"]
        place = target.place(symbol["st_value"], relocation["r_addend"])
        links[at] = Link(*place, kind is Relocation.BRANCH)
        value = target.address + offset - (section.address + at)
        if not -(1 << 31) <= value < 1 << 31:
            raise GhashgenError(f"a relocation at {section.name}+{at:#x} out of reach", "mend it")
        content[at : at + kind.width] = (value & (1 << 32) - 1).to_bytes(4, "little")
    return replace(section, data=bytes(content), links=links, unresolved=unresolved)

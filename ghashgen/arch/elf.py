"""Sections, symbols and relocations of an ELF64 file (System V gABI, chapter 4).

Everything but `verify` reads objects here; `verify` has its own reader on purpose. pyelftools reads
the headers. Symbols and relocations are read here, because every kernel is read at least twice, and
most of pyelftools' time goes into symbols.
"""

import io
import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from elftools.common.exceptions import ELFError
from elftools.elf.elffile import ELFFile
from elftools.elf.sections import Section as ElfSection

from ghashgen.support.errors import GhashgenError

GLOBAL = 1
"""STB_GLOBAL."""
SECTION, FILE = 3, 4
"""STT_SECTION, STT_FILE: symbols that name nothing in a section."""
ABSOLUTE = 0xFFF1
"""SHN_ABS."""

_SYMBOL = struct.Struct("<IBBHQQ")
"""Elf64_Sym: name, info, other, section, value, size."""
_RELA = struct.Struct("<QQq")
"""Elf64_Rela: offset, info, addend."""


_REMEDY = "assemble it as elf64"


@dataclass(frozen=True)
class Section:
    """A section; `content` is zeros if the file has none (SHT_NOBITS)."""

    name: str
    type: str
    """Type by pyelftools' name."""
    flags: int
    align: int
    link: int
    info: int
    content: bytes


@dataclass(frozen=True)
class Symbol:
    """A symbol."""

    name: str
    binding: int
    type: int
    section: int
    """Index of its section, or a reserved number."""
    value: int
    size: int


@dataclass(frozen=True)
class Relocation:
    """A relocation with its addend."""

    section: int
    """Index of the section that it changes,"""
    at: int
    """and the offset in it."""
    type: int
    symbol: Symbol
    addend: int


@dataclass(frozen=True)
class Elf:
    """A file in parts; `machine` and `type` by pyelftools' names."""

    machine: str
    type: str
    sections: Sequence[Section]

    def named(self, name: str) -> int | None:
        """Return the index of the first section of this name, if there is one."""
        return next((i for i, item in enumerate(self.sections) if item.name == name), None)

    @cached_property
    def symbols(self) -> Sequence[Symbol]:
        """The symbols of the file's own table, in order; none without a table."""
        tables = [index for index, item in enumerate(self.sections) if item.type == "SHT_SYMTAB"]
        return self._table(tables[0]) if tables else ()

    def _table(self, index: int) -> tuple[Symbol, ...]:
        try:
            table = self.sections[index]
            names = self.sections[table.link].content
            return tuple(
                Symbol(
                    name=names[at : names.index(0, at)].decode(),
                    binding=info >> 4,
                    type=info & 15,
                    section=section,
                    value=value,
                    size=size,
                )
                for at, info, _, section, value, size in _SYMBOL.iter_unpack(table.content)
            )
        except (IndexError, ValueError, struct.error):
            raise GhashgenError("the object's symbol table is damaged", _REMEDY) from None

    @cached_property
    def relocations(self) -> Sequence[Relocation]:
        """All relocations, in the order of the file.

        Raises:
            GhashgenError: one has no addend or names no symbol.
        """
        return tuple(self._relocations())

    def _relocations(self) -> Iterator[Relocation]:
        for item in self.sections:
            if item.type == "SHT_REL":
                raise GhashgenError(f"{item.name} holds relocations without addends", _REMEDY)
            if item.type != "SHT_RELA":
                continue
            symbols = self._table(item.link)
            if len(item.content) % _RELA.size:
                raise GhashgenError(f"{item.name} is damaged", _REMEDY)
            for at, info, addend in _RELA.iter_unpack(item.content):
                if info >> 32 >= len(symbols):
                    raise GhashgenError(f"a relocation of {item.name} names no symbol", _REMEDY)
                kind = info & 0xFFFFFFFF
                yield Relocation(item.info, at, kind, symbols[info >> 32], addend)


_DAMAGED = ArithmeticError, AssertionError, AttributeError, LookupError, TypeError, ValueError
"""What pyelftools raises if a header is inconsistent."""

LARGEST = 1 << 26
"""Largest size in bytes of a section, and of a file."""


def _content(section: ElfSection) -> bytes:
    """Return the bytes of a section; a section without content may claim any place.

    Raises:
        GhashgenError: the section is larger than LARGEST, compressed, or outside the file.
    """
    if section["sh_type"] == "SHT_NULL" or not section["sh_size"]:
        return b""
    if max(section["sh_size"], section["sh_offset"]) > LARGEST or section.compressed:
        raise GhashgenError("a section is too large or compressed", _REMEDY)
    # pyelftools answers zeros for SHT_NOBITS.
    return bytes(section.data())


def read_elf(data: bytes) -> Elf:
    """Return the parts of an ELF64 file, little-endian.

    Raises:
        GhashgenError: it is not such a file.
    """
    try:
        elf = ELFFile(io.BytesIO(data))
        if elf.elfclass != 64 or not elf.little_endian:
            raise GhashgenError("not an ELF64 object, little-endian", _REMEDY)
        sections = tuple(
            Section(
                item.name,
                item["sh_type"],
                item["sh_flags"],
                item["sh_addralign"],
                item["sh_link"],
                item["sh_info"],
                _content(item),
            )
            for item in elf.iter_sections()
        )
        return Elf(elf["e_machine"], elf["e_type"], sections)
    except ELFError as problem:
        raise GhashgenError(f"not an ELF object: {problem}", _REMEDY) from None
    except _DAMAGED as problem:
        raise GhashgenError(f"a damaged ELF object: {problem!r}", _REMEDY) from None

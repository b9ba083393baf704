"""Sections, symbols and relocations of an ELF64 file (System V gABI, chapter 4).

Everything but `verify` reads objects here; `verify` has its own reader on purpose.
"""

import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from ghashgen.support.errors import GhashgenError

GLOBAL = 1
"""STB_GLOBAL."""
SECTION, FILE = 3, 4
"""STT_SECTION, STT_FILE: symbols that name nothing in a section."""
ABSOLUTE = 0xFFF1
"""SHN_ABS."""

_HEADER = struct.Struct("<16sHHIQQQIHHHHHH")
"""Elf64_Ehdr: identification, type, machine, …, place of the section headers (6), …, their size,
number, and the index of their names.
"""
_SECTION = struct.Struct("<IIQQQQIIQQ")
"""Elf64_Shdr: name, type, flags, address, place, size, link, info, alignment, size of an entry."""
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
    """Its name in the ELF standard, "" if nothing here asks for it."""
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
    """A file in parts; `machine` and `type` by their names in the standard."""

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
                    name=_text(names, at),
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


LARGEST = 1 << 26
"""Largest size in bytes of a section, and of a file."""

_MACHINES = {3: "EM_386", 62: "EM_X86_64", 183: "EM_AARCH64"}
_TYPES = {1: "ET_REL", 2: "ET_EXEC", 3: "ET_DYN"}
_KINDS = {2: "SHT_SYMTAB", 4: "SHT_RELA", 8: "SHT_NOBITS", 9: "SHT_REL"}
_COMPRESSED = 1 << 11
"""SHF_COMPRESSED."""


def _content(data: bytes, kind: int, flags: int, place: int, size: int) -> bytes:
    """Return the bytes of a section; a section without content may claim any place.

    Raises:
        GhashgenError: the section is larger than LARGEST, compressed, or outside the file.
    """
    if not kind or not size:
        return b""
    if max(size, place) > LARGEST or flags & _COMPRESSED:
        raise GhashgenError("a section is too large or compressed", _REMEDY)
    if _KINDS.get(kind) == "SHT_NOBITS":
        return bytes(size)
    if place + size > len(data):
        raise GhashgenError("a section lies outside the file", _REMEDY)
    return data[place : place + size]


def read_elf(data: bytes) -> Elf:
    """Return the parts of an ELF64 file, little-endian.

    Raises:
        GhashgenError: it is not such a file.
    """
    if data[:4] != b"\x7fELF":
        raise GhashgenError("not an ELF object", _REMEDY)
    if data[4:6] != b"\x02\x01":
        raise GhashgenError("not an ELF64 object, little-endian", _REMEDY)
    try:
        head = _HEADER.unpack_from(data)
        kind, machine, at, each, count, names = (head[i] for i in (1, 2, 6, 11, 12, 13))
        headers = [_SECTION.unpack_from(data, at + each * i) for i in range(count)]
        contents = [_content(data, h[1], h[2], h[4], h[5]) for h in headers]
        sections = tuple(
            Section(
                _text(contents[names], name),
                _KINDS.get(type_, ""),
                flags,
                align,
                link,
                info,
                content,
            )
            for (name, type_, flags, _, _, _, link, info, align, _), content in zip(
                headers, contents, strict=True
            )
        )
    except (ArithmeticError, LookupError, ValueError, struct.error) as problem:
        raise GhashgenError(f"a damaged ELF object: {problem!r}", _REMEDY) from None
    return Elf(_MACHINES.get(machine, f"machine {machine}"), _TYPES.get(kind, ""), sections)


def _text(names: bytes, at: int) -> str:
    return names[at : names.index(0, at)].decode()

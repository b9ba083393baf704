"""ELF64 object files as records: sections, symbols, relocations (System V gABI, chapter 4).

It reads the plain form that assemblers and compilers write: little-endian, headers of 64 bytes,
tables of whole entries, names that end inside their table, and no byte of two sections.
"""

import struct
from typing import NamedTuple

from ghashgen.support.errors import GhashgenError

NULL, PROGBITS, SYMTAB, STRTAB, RELA, NOTE, NOBITS = 0, 1, 2, 3, 4, 7, 8
"""SHT_…, types of sections."""

_HEADER = struct.Struct("<16sHHIQQQIHHHHHH")
_SECTION = struct.Struct("<IIQQQQIIQQ")
_SYMBOL = struct.Struct("<IBBHQQ")
_RELA = struct.Struct("<QIIq")


class Part(NamedTuple):
    """A section, its fields in the order of Elf64_Shdr."""

    content: bytes
    """Its bytes in the file: none of a section of zeros."""
    name: str
    type: int
    flags: int
    at: int
    offset: int
    size: int
    link: int
    info: int
    align: int
    entry_bytes: int


class Symbol(NamedTuple):
    """A symbol, its fields in the order of Elf64_Sym."""

    name: str
    info: int
    other: int
    place: int
    value: int
    size: int

    @property
    def type(self) -> int:
        """STT_…."""
        return self.info & 15

    @property
    def bind(self) -> int:
        """STB_…."""
        return self.info >> 4


class Rela(NamedTuple):
    """A relocation with its addend, as Elf64_Rela has it."""

    at: int
    type: int
    symbol: int
    addend: int


class ElfError(GhashgenError):
    """An object that is refused, by what it is (`ghashgen.verify.advice` says what to do)."""


def require(holds: object, what: str) -> None:
    """Refuse an object of which something does not hold, by `what` it is.

    Raises:
        GhashgenError: it does not.
    """
    if not holds:
        raise ElfError(what)


def read_parts(data: bytes) -> tuple[Part, ...]:
    """Read the sections of a file.

    Raises:
        GhashgenError: it is not a plain relocatable object for x86-64.
    """
    require(len(data) >= _HEADER.size, "not an ELF file")
    ident, kind, machine, _, _, _, start, flags, own, _, segments, entry, count, names = (
        _HEADER.unpack_from(data)
    )
    ours = (ident[:7], kind, machine) == (b"\x7fELF\2\1\1", 1, 62)
    require(ours, "not a relocatable ELF64 file for x86-64")
    require(not segments, "an object with segments")
    abi = f"an object for OS ABI {ident[7]} with flags {flags:#x}"
    require(ident[7] in (0, 3) and not flags, abi)
    end = start + count * entry
    whole = own == _HEADER.size and entry == _SECTION.size and names < count < 0xFF00
    require(whole and end <= len(data), "the section headers are damaged, or cut off")
    headers = [_SECTION.unpack_from(data, at) for at in range(start, end, entry)]
    taken = [(0, own, "the header"), (start, end, "the section headers")]
    taken += [
        (offset, offset + size, f"section {k}")
        for k, (_, kind, _, _, offset, size, *_) in enumerate(headers)
        if kind not in (NULL, NOBITS) and size
    ]
    _check_apart(taken, len(data))
    contents = [
        b"" if kind in (NULL, NOBITS) else data[offset : offset + size]
        for _, kind, _, _, offset, size, *_ in headers
    ]
    # A linker may depend on the sections' names, and looks for them here.
    strings = contents[names]
    inside = all(header[0] < len(strings) for header in headers)
    require(headers[names][1] == STRTAB and inside, "section names that are not strings")
    parts = [
        Part(content, _name(strings, name, f"section {k}"), *rest)
        for k, ((name, *rest), content) in enumerate(zip(headers, contents, strict=True))
    ]
    require(parts[0].type == NULL, "a section of number 0")
    require(sum(part.type == SYMTAB for part in parts) <= 1, "two symbol tables")
    return tuple(parts)


def _check_apart(taken: list[tuple[int, int, str]], size: int) -> None:
    """Check that no two things share bytes of the file, and none reaches beyond it."""
    last, before = 0, "the file"
    for start, end, name in sorted(taken):
        require(start >= last, f"{name} overlaps {before}")
        require(end <= size, f"{name} is cut off by the end of the file")
        last, before = end, name


def _name(strings: bytes, at: int, what: str) -> str:
    end = strings.find(b"\0", at)
    try:
        require(at <= end, f"the name of {what} is damaged")
        return strings[at:end].decode()
    except UnicodeDecodeError:
        raise ElfError(f"the name of {what} is damaged") from None


def _entries(part: Part, form: struct.Struct) -> list[tuple[int, ...]]:
    whole = part.entry_bytes == form.size and part.size % form.size == 0
    require(whole, f"section {part.name} is not a table of whole entries")
    return list(form.iter_unpack(part.content))


def symbols_of(parts: tuple[Part, ...], table: Part) -> tuple[Symbol, ...]:
    """Return the symbols of a table.

    Raises:
        GhashgenError: it is not one, or a name is outside the table of names.
    """
    require(table.type == SYMTAB and table.link < len(parts), f"{table.name} has no symbols")
    names = parts[table.link]
    require(names.type == STRTAB, f"the names of the symbols of {table.name} are not strings")
    return tuple(
        Symbol(_name(names.content or b"\0", name, f"symbol {k}"), *rest)
        for k, (name, *rest) in enumerate(_entries(table, _SYMBOL))
    )


def relocations_of(part: Part, symbols: int) -> tuple[Rela, ...]:
    """Return the entries of a list of relocations, of so many symbols.

    Raises:
        GhashgenError: it is not one, or an entry names no symbol.
    """
    # Elf64_Rela has the type in the low half of r_info, the symbol in the high half.
    found = tuple(Rela(*entry) for entry in _entries(part, _RELA))
    named = all(entry.symbol < symbols for entry in found)
    require(named, f"a relocation of {part.name} names no symbol")
    return found

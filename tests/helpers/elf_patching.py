"""Edits ELF64 objects byte by byte: what no assembler writes, and an adversary does."""

import struct
from dataclasses import dataclass

HEADER_BYTES, SYMBOL_BYTES, RELA_BYTES = 64, 24, 24

SECTION_FIELDS = {
    "name": (0, "I"), "type": (4, "I"), "flags": (8, "Q"), "addr": (16, "Q"), "offset": (24, "Q"),
    "size": (32, "Q"), "link": (40, "I"), "info": (44, "I"), "addralign": (48, "Q"),
    "entsize": (56, "Q"),
}  # fmt: skip
SYMBOL_FIELDS = {
    "name": (0, "I"), "info": (4, "B"), "other": (5, "B"), "shndx": (6, "H"), "value": (8, "Q"),
    "size": (16, "Q"),
}  # fmt: skip
RELA_FIELDS = {"offset": (0, "Q"), "type": (8, "I"), "symbol": (12, "I"), "addend": (16, "q")}


@dataclass
class Patch:
    """An object under edit."""

    data: bytearray

    def header(self, at: int, value: int) -> "Patch":
        """Set one byte of the file, as of its header."""
        self.data[at] = value
        return self

    def _headers(self) -> tuple[int, int, int]:
        (offset,) = struct.unpack_from("<Q", self.data, 40)
        size, count, names = struct.unpack_from("<HHH", self.data, 58)
        assert size == HEADER_BYTES
        return offset, count, names

    def _get(self, base: int, fields: dict[str, tuple[int, str]], name: str) -> int:
        at, form = fields[name]
        (value,) = struct.unpack_from("<" + form, self.data, base + at)
        assert isinstance(value, int)
        return value

    def _set(self, base: int, fields: dict[str, tuple[int, str]], changes: dict[str, int]) -> None:
        for name, value in changes.items():
            at, form = fields[name]
            struct.pack_into("<" + form, self.data, base + at, value)

    def _section(self, name: str) -> int:
        offset, count, names = self._headers()
        strings = self._get(offset + HEADER_BYTES * names, SECTION_FIELDS, "offset")
        for index in range(count):
            base = offset + HEADER_BYTES * index
            start = strings + self._get(base, SECTION_FIELDS, "name")
            if self.data[start : self.data.index(0, start)].decode() == name:
                return base
        raise AssertionError(f"no section {name}")

    def number(self, name: str) -> int:
        """Return a section's number."""
        return (self._section(name) - self._headers()[0]) // HEADER_BYTES

    def of_section(self, name: str, field: str) -> int:
        """Return a field of a section's header."""
        return self._get(self._section(name), SECTION_FIELDS, field)

    def section(self, name: str, /, **changes: int) -> "Patch":
        """Set fields of a section's header."""
        self._set(self._section(name), SECTION_FIELDS, changes)
        return self

    def renamed(self, name: str, to: str) -> "Patch":
        """Give a section another name, no longer than its own."""
        assert len(name) >= len(to)
        offset, _, names = self._headers()
        strings = self._get(offset + HEADER_BYTES * names, SECTION_FIELDS, "offset")
        start = strings + self._get(self._section(name), SECTION_FIELDS, "name")
        self.data[start : start + len(name)] = to.encode().ljust(len(name), b"\0")
        return self

    def symbol(self, name: str, /, **changes: int) -> "Patch":
        """Set fields of a symbol."""
        start, size = (self.of_section(".symtab", field) for field in ("offset", "size"))
        strings = self.of_section(".strtab", "offset")
        for base in range(start, start + size, SYMBOL_BYTES):
            at = strings + self._get(base, SYMBOL_FIELDS, "name")
            if self.data[at : self.data.index(0, at)].decode() == name:
                self._set(base, SYMBOL_FIELDS, changes)
                return self
        raise AssertionError(f"no symbol {name}")

    def name_of(self, symbol: str) -> int:
        """Return where a symbol's name is in the string table."""
        strings, size = (self.of_section(".strtab", field) for field in ("offset", "size"))
        return self.data.index(f"\0{symbol}\0".encode(), strings, strings + size) + 1 - strings

    def relocation(self, index: int, **changes: int) -> "Patch":
        """Set fields of one of the relocations of .text."""
        base = self.of_section(".rela.text", "offset") + RELA_BYTES * index
        self._set(base, RELA_FIELDS, changes)
        return self

    def of_relocation(self, index: int, field: str) -> int:
        """Return a field of a relocation of .text."""
        base = self.of_section(".rela.text", "offset") + RELA_BYTES * index
        return self._get(base, RELA_FIELDS, field)

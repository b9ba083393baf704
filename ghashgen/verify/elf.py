"""An ELF64 object file as an image: its allocated sections laid out, its relocations applied.

Sections get addresses of this module's choosing; whatever is proved does not depend on them, since
code reaches its constants through relocations that are relative to the instruction.
"""

import io
from dataclasses import dataclass
from pathlib import Path

from elftools.common.exceptions import ELFError
from elftools.elf.elffile import ELFFile
from elftools.elf.relocation import RelocationSection
from elftools.elf.sections import SymbolTableSection

from ghashgen.errors import GhashgenError

R_X86_64_64, R_X86_64_PC32, R_X86_64_PLT32 = 1, 2, 4
"""ELF relocation types: System V ABI, AMD64 supplement, table 4.9."""

SHF_WRITE, SHF_ALLOC, SHF_EXECINSTR = 1, 2, 4

FIRST_ADDRESS = 0x10000


@dataclass(frozen=True)
class Section:
    """One allocated section: `unresolved` are offsets of bytes that a link would fill in."""

    name: str
    address: int
    data: bytes
    writable: bool
    executable: bool
    unresolved: frozenset[int]
    align: int


@dataclass(frozen=True)
class Image:
    """Sections by ascending address, and symbols: name -> address. Code is 64-bit x86."""

    sections: tuple[Section, ...]
    symbols: dict[str, int]
    ends: dict[str, int]
    """Where a symbol's bytes end: by its size, else at the next exported symbol, or the section."""

    def section(self, address: int) -> Section | None:
        """Return the section that holds an address."""
        for section in self.sections:
            if section.address <= address < section.address + len(section.data):
                return section
        return None

    def symbol(self, name: str) -> int:
        """Return a function's address.

        Raises:
            GhashgenError: the object does not define it.
        """
        if name not in self.symbols:
            raise GhashgenError(
                f"no symbol {name!r} in the object", f"it defines {', '.join(sorted(self.symbols))}"
            )
        return self.symbols[name]


def load_image(source: bytes | Path) -> Image:
    """Read an object file.

    Raises:
        GhashgenError: it is no relocatable ELF64 x86-64 object, or has an unknown relocation.
    """
    data = source if isinstance(source, bytes) else source.read_bytes()
    try:
        elf = ELFFile(io.BytesIO(data))
        if (elf.elfclass, elf["e_machine"], elf["e_type"]) != (64, "EM_X86_64", "ET_REL"):
            raise GhashgenError(
                f"a {elf.elfclass}-bit {elf['e_machine']} {elf['e_type']} file",
                "give a relocatable ELF64 object for x86-64 (nasm -f elf64)",
            )
        return _load(elf)
    except ELFError as error:
        raise GhashgenError(f"not an ELF file: {error}", "assemble with nasm -f elf64") from error


def _load(elf: ELFFile) -> Image:
    address = FIRST_ADDRESS
    placed: dict[int, tuple[int, bytearray]] = {}
    for index, section in enumerate(elf.iter_sections()):
        if section["sh_flags"] & SHF_ALLOC:
            align = max(section["sh_addralign"], 64)
            address = -(-address // align) * align
            placed[index] = (address, bytearray(section.data()))
            address += len(section.data()) + 4096
    symbols: dict[str, int] = {}
    sizes: dict[str, int] = {}
    exported: list[int] = []
    for table in elf.iter_sections():
        if isinstance(table, SymbolTableSection):
            for symbol in table.iter_symbols():
                index = symbol["st_shndx"]
                if index in placed and symbol.name and symbol["st_info"]["type"] != "STT_SECTION":
                    symbols[symbol.name] = placed[index][0] + symbol["st_value"]
                    sizes[symbol.name] = symbol["st_size"]
                    if symbol["st_info"]["bind"] != "STB_LOCAL":
                        exported.append(symbols[symbol.name])
    unresolved: dict[int, set[int]] = {index: set() for index in placed}
    for section in elf.iter_sections():
        if isinstance(section, RelocationSection) and section["sh_info"] in placed:
            _relocate(elf, section, placed, unresolved[section["sh_info"]])
    sections = []
    for index, (start, content) in placed.items():
        header = elf.get_section(index)
        flags = header["sh_flags"]
        sections.append(
            Section(
                header.name,
                start,
                bytes(content),
                bool(flags & SHF_WRITE),
                bool(flags & SHF_EXECINSTR),
                frozenset(unresolved[index]),
                max(header["sh_addralign"], 1),
            )
        )
    ordered = tuple(sorted(sections, key=lambda s: s.address))
    return Image(ordered, symbols, _ends(ordered, symbols, sizes, exported))


def _relocate(
    elf: ELFFile,
    relocations: RelocationSection,
    placed: dict[int, tuple[int, bytearray]],
    unresolved: set[int],
) -> None:
    start, content = placed[relocations["sh_info"]]
    table = elf.get_section(relocations["sh_link"])
    assert isinstance(table, SymbolTableSection)
    for relocation in relocations.iter_relocations():
        kind, at = relocation["r_info_type"], relocation["r_offset"]
        symbol = table.get_symbol(relocation["r_info_sym"])
        width = 8 if kind == R_X86_64_64 else 4
        if kind not in (R_X86_64_64, R_X86_64_PC32, R_X86_64_PLT32):
            raise GhashgenError(
                f"relocation type {kind} at offset {at:#x}", "assemble position-independent code"
            )
        target = placed.get(symbol["st_shndx"])
        if target is None:
            unresolved.update(range(at, at + width))
            continue
        value = target[0] + symbol["st_value"] + relocation["r_addend"]
        if kind != R_X86_64_64:
            value -= start + at
        content[at : at + width] = (value & (1 << 8 * width) - 1).to_bytes(width, "little")


def _ends(
    sections: tuple[Section, ...],
    symbols: dict[str, int],
    sizes: dict[str, int],
    exported: list[int],
) -> dict[str, int]:
    ends = {}
    for name, start in symbols.items():
        section = next((s for s in sections if s.address <= start <= s.address + len(s.data)), None)
        limit = section.address + len(section.data) if section else start
        after = [a for a in exported if start < a < limit]
        ends[name] = start + sizes[name] if sizes[name] else min(after, default=limit)
    return ends

"""Reads an assembled ELF object: code, symbols, and the instructions of a function.

A function reaches as far as its symbol says. Labels inside it mean nothing here: objects of some
syntaxes keep none.
"""

import io
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from elftools.elf.elffile import ELFFile
from elftools.elf.sections import SymbolTableSection

from ghashgen.arch.decoder import Decoder, Native
from ghashgen.arch.registry import arches
from ghashgen.support.errors import GhashgenError

_GLOBAL = 1
"""STB_GLOBAL, the upper half of a symbol's info."""

_SYMBOL = struct.Struct("<IBBHQQ")
"""Elf64_Sym: name, info, other, section, value, size. Read here, because every kernel is read at
least twice, and pyelftools takes longer over its symbols than over all else."""


@dataclass(frozen=True)
class ObjectCode:
    """The .text of an object and the offsets of its symbols, local ones included."""

    code: bytes
    symbols: Mapping[str, int]
    functions: Mapping[str, tuple[int, int]]
    """(start, end) in .text of every global symbol; one without a size ends where the next global
    one begins, or .text does."""
    decoder: Decoder
    """Of the architecture that the object says it is for."""

    @cached_property
    def instructions(self) -> Mapping[int, Native]:
        """Every instruction by offset, padding between functions included."""
        return self.decoder.decode(self.code)

    def function(self, symbol: str) -> list[Native]:
        """Return the instructions of a function.

        Raises:
            GhashgenError: the object has no such global symbol.
        """
        if symbol not in self.functions:
            near = ", ".join(sorted(n for n in self.functions if "ghash" in n.lower())) or "none"
            raise GhashgenError(
                f"the object has no global symbol {symbol!r} in .text", f"those with ghash: {near}"
            )
        low, high = self.functions[symbol]
        return [found for at, found in self.instructions.items() if low <= at < high]


def read_object(data: bytes) -> ObjectCode:
    """Parse an ELF64 relocatable object.

    Raises:
        GhashgenError: it has no .text or no symbols, or is for an architecture that is not here.
    """
    elf = ELFFile(io.BytesIO(data))
    machine = elf["e_machine"]
    arch = next((arch for arch in arches().values() if arch.elf_machine == machine), None)
    if arch is None:
        known = ", ".join(arch.title for arch in arches().values())
        raise GhashgenError(f"the object is for {machine}", f"assemble it for {known}")
    text = elf.get_section_by_name(".text")
    table = elf.get_section_by_name(".symtab")
    if text is None or not isinstance(table, SymbolTableSection):
        raise GhashgenError("the object has no .text or no symbol table", "assemble it as elf64")
    index = elf.get_section_index(".text")
    names = elf.get_section(table["sh_link"]).data()
    symbols: dict[str, int] = {}
    sizes: dict[str, int] = {}
    for name, info, _, section, value, size in _SYMBOL.iter_unpack(table.data()):
        if section == index and names[name]:
            text_name = names[name : names.index(0, name)].decode()
            symbols[text_name] = value
            if info >> 4 == _GLOBAL:
                sizes[text_name] = size
    code = text.data()
    return ObjectCode(code, symbols, _functions(symbols, sizes, len(code)), arch.decoder)


def _functions(
    symbols: Mapping[str, int], sizes: Mapping[str, int], end: int
) -> dict[str, tuple[int, int]]:
    starts = sorted({symbols[name] for name in sizes})
    out = {}
    for name, size in sizes.items():
        start = symbols[name]
        following = next((other for other in starts if other > start), end)
        out[name] = (start, start + size if size else following)
    return out

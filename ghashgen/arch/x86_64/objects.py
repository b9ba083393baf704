"""Reads an assembled ELF object: code, symbols, and the instructions between two symbols."""

import io
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from elftools.elf.elffile import ELFFile
from elftools.elf.sections import SymbolTableSection
from iced_x86 import Decoder, Instruction

from ghashgen.support.errors import GhashgenError

_SYMBOL = struct.Struct("<IBBHQQ")
"""Elf64_Sym: name, info, other, section, value, size. Read here, because every kernel is read at
least twice, and pyelftools takes longer over its symbols than over all else."""


@dataclass(frozen=True)
class ObjectCode:
    """The .text of an object and the offsets of its symbols, local ones included."""

    code: bytes
    symbols: Mapping[str, int]

    @cached_property
    def instructions(self) -> Mapping[int, Instruction]:
        """Every instruction by offset, padding between functions included."""
        decoder = Decoder(64, self.code, ip=0)
        return {instruction.ip: instruction for instruction in decoder}

    def between(self, start: str, end: str) -> list[Instruction]:
        """Return the instructions from symbol `start` up to symbol `end`."""
        low, high = self.symbols[start], self.symbols[end]
        return [self.instructions[at] for at in sorted(self.instructions) if low <= at < high]


def read_object(data: bytes) -> ObjectCode:
    """Parse an ELF64 relocatable object.

    Raises:
        GhashgenError: it has no .text or no symbols.
    """
    elf = ELFFile(io.BytesIO(data))
    text = elf.get_section_by_name(".text")
    table = elf.get_section_by_name(".symtab")
    if text is None or not isinstance(table, SymbolTableSection):
        raise GhashgenError("the object has no .text or no symbol table", "assemble it as elf64")
    index = elf.get_section_index(".text")
    names = elf.get_section(table["sh_link"]).data()
    symbols = {}
    for name, _, _, section, value, _ in _SYMBOL.iter_unpack(table.data()):
        if section == index and names[name]:
            symbols[names[name : names.index(0, name)].decode()] = value
    return ObjectCode(text.data(), symbols)

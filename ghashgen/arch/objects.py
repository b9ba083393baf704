"""Reads an assembled ELF object: code, symbols, and the instructions of a function.

A function extends as far as its symbol says. Labels inside it are ignored, because objects of some
syntaxes keep none.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from ghashgen.arch.decoder import Decoder, Native
from ghashgen.arch.elf import GLOBAL, Elf, read_elf
from ghashgen.arch.registry import arches
from ghashgen.support.errors import GhashgenError


@dataclass(frozen=True)
class ObjectCode:
    """The .text of an object and the offsets of its symbols, including local ones."""

    code: bytes
    symbols: Mapping[str, int]
    functions: Mapping[str, tuple[int, int]]
    """(start, end) in .text of every global symbol. One without a size ends where the next global
    symbol begins, or .text ends.
    """
    decoder: Decoder
    """The decoder of the object's architecture."""

    @cached_property
    def instructions(self) -> Mapping[int, Native]:
        """Every instruction by offset, including padding between functions."""
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
        GhashgenError: it has no .text or no symbols, or its architecture is unknown.
    """
    elf = read_elf(data)
    machine = elf.machine
    arch = next((arch for arch in arches().values() if arch.elf_machine == machine), None)
    if arch is None:
        known = ", ".join(arch.title for arch in arches().values())
        raise GhashgenError(f"the object is for {machine}", f"assemble it for {known}")
    return object_code(elf, arch.decoder)


def object_code(elf: Elf, decoder: Decoder) -> ObjectCode:
    """Return the code of an object that is already read.

    Raises:
        GhashgenError: it has no .text or no symbols.
    """
    index = elf.named(".text")
    if index is None or not elf.symbols:
        raise GhashgenError("the object has no .text or no symbol table", "assemble it as elf64")
    found = [symbol for symbol in elf.symbols if symbol.section == index and symbol.name]
    symbols = {symbol.name: symbol.value for symbol in found}
    sizes = {symbol.name: symbol.size for symbol in found if symbol.binding == GLOBAL}
    code = elf.sections[index].content
    return ObjectCode(code, symbols, _functions(symbols, sizes, len(code)), decoder)


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

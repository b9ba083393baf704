"""The supported part of ELF: a whitelist of headers, sections, symbols and relocations.

A linker may merge, drop, move, replace or rewrite what flags, types, names and bindings permit.
This accepts only what keeps the bytes, and the symbols' targets, as they are. Everything else is
refused by its name, even if the functions to be proved do not use it. Symbols that other
definitions may replace, or that another object defines, may be in the file; their use is refused.

System V gABI, chapter 4 (sections, symbols); AMD64 psABI, 4.2 to 4.4 (flags, relocations).
"""

import re

from ghashgen.verify.machine.image import Kind
from ghashgen.verify.x86_64.elf_file import (
    NOBITS,
    NOTE,
    NULL,
    PROGBITS,
    RELA,
    STRTAB,
    SYMTAB,
    Part,
    Symbol,
    require,
)

WRITE, ALLOC, EXEC, MERGE, STRINGS, INFO_LINK = 0x1, 0x2, 0x4, 0x10, 0x20, 0x40
EXCLUDE = 0x80000000

ADDRESS_TABLE = 0x6FFF4C03
"""SHT_LLVM_ADDRSIG, where Clang lists symbols that must keep addresses of their own. The proof
needs no address. A linker may merge equal functions, which then have the same bytes.
"""

UNWIND_TABLE = 0x70000001
"""SHT_X86_64_UNWIND."""

SECTIONS: dict[tuple[int, int], Kind] = {
    (PROGBITS, ALLOC | EXEC): Kind.CODE,
    (PROGBITS, ALLOC): Kind.CONSTANTS,
    (PROGBITS, ALLOC | MERGE): Kind.CONSTANTS,
    (PROGBITS, ALLOC | WRITE): Kind.UNUSED,
    (NOBITS, ALLOC | WRITE): Kind.UNUSED,
    (NOTE, ALLOC): Kind.UNUSED,
    (UNWIND_TABLE, ALLOC): Kind.UNUSED,
    (NULL, 0): Kind.NOT_LOADED,
    (PROGBITS, 0): Kind.NOT_LOADED,
    (PROGBITS, MERGE | STRINGS): Kind.NOT_LOADED,
    (NOTE, 0): Kind.NOT_LOADED,
    (SYMTAB, 0): Kind.NOT_LOADED,
    (STRTAB, 0): Kind.NOT_LOADED,
    (RELA, 0): Kind.NOT_LOADED,
    (RELA, INFO_LINK): Kind.NOT_LOADED,
    (ADDRESS_TABLE, EXCLUDE): Kind.NOT_LOADED,
}
"""By type and flags, exactly. An unlisted flag makes the section unsupported."""

NAMES: dict[Kind, tuple[str, ...]] = {
    Kind.CODE: (".text",),
    Kind.CONSTANTS: (".rodata",),
    Kind.UNUSED: (".data", ".bss", ".note.gnu.property", ".eh_frame"),
    Kind.NOT_LOADED: (
        "", ".symtab", ".strtab", ".shstrtab", ".rela", ".comment", ".note.GNU-stack", ".stab",
        ".stabstr", ".llvm_addrsig",
    ),
}  # fmt: skip
"""Section names, optionally followed by a point and more. Linkers treat some names specially: they
run what is in .ctors, compile other code for the same functions from .gnu.lto_…, and rewrite how
functions begin where there is .note.GNU-split-stack.
"""

DEBUG = ".debug_"
"""The name prefix of debug sections."""

UNWIND = ".eh_frame"
"""Read-only by its flags, but linkers rewrite it."""


ENTRIES = (4, 8, 16, 32, 64)
"""Bytes of mergeable constants."""


R_64, PC32, PLT32 = 1, 2, 4
"""R_X86_64_…, types of relocations (AMD64 psABI, table 4.10). Only a branch may have the last."""

FIELDS = {R_64: 8, PC32: 4, PLT32: 4}
"""What is supported: the bytes of the field that each fills in."""


NOTYPE, OBJECT, FUNC, SECTION, FILE = range(5)
"""STT_…, types of symbols."""

CALLABLE = (NOTYPE, FUNC)
"""Symbol types that may be called. A dynamic linker may copy a symbol for data."""

LOCAL, GLOBAL, WEAK = range(3)
"""STB_…, bindings of symbols."""

PRIVATE = (1, 2)
"""STV_INTERNAL, STV_HIDDEN."""

UNDEFINED, ABSOLUTE = 0, 0xFFF1
"""SHN_…: no section."""

OF_LINKERS = re.compile(r"__.*|_[A-Z].*|_?(end|edata|etext)")
"""Names of global symbols that linkers define or may define. The GNU linker's script says `_end =
.`, and that replaces an object's own definition, hidden or not.
"""


def kind_of(part: Part) -> Kind:
    """Return a section's kind.

    Raises:
        GhashgenError: its type, flags, name, address or alignment is unsupported.
    """
    name, found = part.name, SECTIONS.get((part.type, part.flags))
    where = f"section {name} of type {part.type:#x}, flags {part.flags:#x}, is not understood"
    require(found is not None, where)
    if found is Kind.CONSTANTS and name == UNWIND:
        found = Kind.UNUSED
    assert found is not None
    known = NAMES[found]
    called = any(name == start or (start and name.startswith(f"{start}.")) for start in known)
    called = called or (found is Kind.NOT_LOADED and name.startswith(DEBUG))
    require(called, f"section {name}: a linker may treat it by its name")
    power_of_two = part.align & max(part.align - 1, 0) == 0
    where = f"section {name} at address {part.at:#x}, aligned to {part.align}"
    require(not part.at and power_of_two, where)
    return found


def entry_bytes_of(part: Part) -> int:
    """Return the size of a section's mergeable constants, 0 if they are not mergeable.

    A linker may place each entry anywhere with its alignment, and merge equal ones.

    Raises:
        GhashgenError: the section does not consist of such entries.
    """
    if not part.flags & MERGE or part.type != PROGBITS:
        return 0
    whole = part.entry_bytes in ENTRIES and part.size % part.entry_bytes == 0
    constants = f"mergeable constants of {part.entry_bytes} bytes, in {part.size}"
    require(whole, f"section {part.name}: {constants}")
    return part.entry_bytes


def is_place(number: int, symbol: Symbol, first: int, sizes: list[int]) -> bool:
    """Return whether a symbol is a place in a section, or a number or a name defined elsewhere.

    `number` is its index; symbols from `first` on are not local. `sizes` are those of the sections,
    by number.

    Raises:
        GhashgenError: its type, binding, visibility or place is unsupported.
    """
    kind, bind, at = symbol.type, symbol.bind, symbol.place

    def check(holds: bool, why: str) -> None:
        require(holds, f"symbol {symbol.name!r} ({kind}, {bind}, {at}): {why}")

    in_order = (bind == LOCAL) == (number < first)
    check(in_order, "local among the others, or the other way round")
    check(symbol.other <= 3, "a visibility that is not understood")
    if number == 0:
        # Linkers take a relocation by it for one by 0, and do not look.
        check(symbol == ("", 0, 0, 0, 0, 0), "number 0 is no symbol")
        return False
    if at == UNDEFINED:
        elsewhere = kind in (NOTYPE, OBJECT, FUNC) and bind in (GLOBAL, WEAK)
        check(elsewhere, "defined nowhere")
        return False
    if at == ABSOLUTE and bind == LOCAL and kind in (FILE, NOTYPE):
        return False
    check(at < len(sizes), "a place that is not understood")
    if kind == SECTION and bind == LOCAL and symbol.value == 0:
        return False
    check(kind in (NOTYPE, OBJECT, FUNC), "a type that is not understood")
    check(bind in (LOCAL, GLOBAL), "another definition may take its place")
    free = bind == LOCAL or not OF_LINKERS.fullmatch(symbol.name)
    check(free, "a name that linkers define")
    check(symbol.value + symbol.size <= sizes[at], "it reaches beyond its section")
    return True


def replaceable(symbol: Symbol) -> str:
    """Return why a symbol's target may not be this object's definition, "" if it is."""
    if symbol.place == UNDEFINED:
        return "what another object defines"
    if symbol.place == ABSOLUTE:
        return "an address that is a number"
    if symbol.bind == LOCAL or symbol.other in PRIVATE:
        return ""
    return f"{symbol.name}, which is neither local nor hidden: another definition may come first"

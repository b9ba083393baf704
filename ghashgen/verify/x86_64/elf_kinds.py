"""The supported part of ELF: a whitelist of headers, sections, symbols and relocations.

A linker may merge, drop, move, replace or rewrite what flags, types, names and bindings permit.
This accepts only what keeps the bytes, and the symbols' targets, as they are. Everything else is
refused by its name, even if the functions to be proved do not use it. Symbols that other
definitions may replace, or that another object defines, may be in the file; their use is refused.

System V gABI, chapter 4 (sections, symbols); AMD64 psABI, 4.2 to 4.4 (flags, relocations).
"""

import re
from enum import Enum, auto
from typing import Any

from elftools.elf.elffile import ELFFile
from elftools.elf.relocation import RelocationSection
from elftools.elf.sections import Section, Symbol, SymbolTableSection

from ghashgen.support.errors import GhashgenError
from ghashgen.verify.machine.image import Kind

WRITE, ALLOC, EXEC, MERGE, STRINGS, INFO_LINK = 0x1, 0x2, 0x4, 0x10, 0x20, 0x40
EXCLUDE = 0x80000000

ADDRESS_TABLE = 0x6FFF4C03
"""SHT_LLVM_ADDRSIG, where Clang lists symbols that must keep addresses of their own. The proof
needs no address. A linker may merge equal functions, which then have the same bytes.
"""

FLAG_NAMES = {
    WRITE: "WRITE", ALLOC: "ALLOC", EXEC: "EXECINSTR", MERGE: "MERGE", STRINGS: "STRINGS",
    INFO_LINK: "INFO_LINK", 0x80: "LINK_ORDER", 0x100: "OS_NONCONFORMING", 0x200: "GROUP",
    0x400: "TLS", 0x800: "COMPRESSED", 0x200000: "GNU_RETAIN", 0x10000000: "X86_64_LARGE",
    EXCLUDE: "EXCLUDE",
}  # fmt: skip
"""SHF_…, for messages."""

RESERVED = 0xFF00
"""SHN_LORESERVE: section numbers from here on are reserved."""

SYSV, GNU = "ELFOSABI_SYSV", "ELFOSABI_LINUX"


SECTIONS: dict[tuple[str | int, int], Kind] = {
    ("SHT_PROGBITS", ALLOC | EXEC): Kind.CODE,
    ("SHT_PROGBITS", ALLOC): Kind.CONSTANTS,
    ("SHT_PROGBITS", ALLOC | MERGE): Kind.CONSTANTS,
    ("SHT_PROGBITS", ALLOC | WRITE): Kind.UNUSED,
    ("SHT_NOBITS", ALLOC | WRITE): Kind.UNUSED,
    ("SHT_NOTE", ALLOC): Kind.UNUSED,
    ("SHT_AMD64_UNWIND", ALLOC): Kind.UNUSED,
    ("SHT_NULL", 0): Kind.NOT_LOADED,
    ("SHT_PROGBITS", 0): Kind.NOT_LOADED,
    ("SHT_PROGBITS", MERGE | STRINGS): Kind.NOT_LOADED,
    ("SHT_NOTE", 0): Kind.NOT_LOADED,
    ("SHT_SYMTAB", 0): Kind.NOT_LOADED,
    ("SHT_STRTAB", 0): Kind.NOT_LOADED,
    ("SHT_RELA", 0): Kind.NOT_LOADED,
    ("SHT_RELA", INFO_LINK): Kind.NOT_LOADED,
    (ADDRESS_TABLE, EXCLUDE): Kind.NOT_LOADED,
}
"""By type and flags, exactly. An unlisted flag makes the section unsupported."""

NAMES: dict[Kind, tuple[str, ...]] = {
    Kind.CODE: (".text",),
    Kind.CONSTANTS: (".rodata",),
    Kind.UNUSED: (".data", ".bss", ".note", ".eh_frame"),
    Kind.NOT_LOADED: (
        "", ".symtab", ".strtab", ".shstrtab", ".rela", ".comment", ".note", ".stab", ".stabstr",
        ".llvm_addrsig",
    ),
}  # fmt: skip
"""Section names, optionally followed by a point and more. Linkers treat some names specially: they
run what is in .ctors, and compile other code for the same functions from .gnu.lto_….
"""

FLAGS = {
    ".gnu.lto_": "compile with -fno-lto",
    ".init_array": "compile without --coverage and -fprofile-arcs, and without constructors",
    ".group": "compile with -fno-inline, or make inline functions static",
}
"""Name prefixes of sections that compilers write, and the option that prevents them."""

DEBUG = ".debug_"
"""The name prefix of debug sections."""

UNWIND = ".eh_frame"
"""Read-only by its flags, but linkers rewrite it."""


ENTRIES = (4, 8, 16, 32, 64)
"""Bytes of mergeable constants."""


class Relocation(Enum):
    """What a relocation fills in."""

    ABSOLUTE = auto()
    RELATIVE = auto()
    BRANCH = auto()

    @property
    def width(self) -> int:
        """Return the bytes of the field."""
        return 8 if self is Relocation.ABSOLUTE else 4


RELOCATIONS = {1: Relocation.ABSOLUTE, 2: Relocation.RELATIVE, 4: Relocation.BRANCH}
"""R_X86_64_64, _PC32, _PLT32 (AMD64 psABI, table 4.10)."""


TYPES = ("STT_NOTYPE", "STT_FUNC", "STT_OBJECT")

CALLABLE = ("STT_NOTYPE", "STT_FUNC")
"""Symbol types that may be called. A dynamic linker may copy a symbol for data."""

PRIVATE = ("STV_HIDDEN", "STV_INTERNAL")

OF_LINKERS = re.compile(r"__.*|_[A-Z].*|_?(end|edata|etext)")
"""Names of global symbols that linkers define or may define. The GNU linker's script says `_end =
.`, and that replaces an object's own definition, hidden or not.
"""

AGAIN = "assemble the file again"
"""What to do about a file that is damaged."""

ALIASES = {"STT_LOOS": "STT_GNU_IFUNC", "STB_LOOS": "STB_GNU_UNIQUE"}


def require(holds: object, what: str, remedy: str = AGAIN) -> None:
    """Refuse an object of which something does not hold, by `what` it is.

    Raises:
        GhashgenError: it does not.
    """
    if not holds:
        raise GhashgenError(what, remedy)


def check_file(elf: ELFFile, data: bytes) -> None:
    """Check the file's header, and that no two sections share bytes of the file.

    Raises:
        GhashgenError: it is not a plain relocatable object for x86-64.
    """
    found = (elf.elfclass, elf["e_machine"], elf["e_type"])
    require(
        found == (64, "EM_X86_64", "ET_REL") and elf.little_endian,
        f"a {elf.elfclass}-bit {elf['e_machine']} {elf['e_type']} file",
        "give a relocatable ELF64 object for x86-64 (nasm -f elf64)",
    )
    few = elf.num_sections() < RESERVED
    require(not elf["e_phnum"] and few, "an object with segments or too many sections")
    abi, flags = elf["e_ident"]["EI_OSABI"], elf["e_flags"]
    what = f"an object for {abi} with flags {flags:#x}"
    require(abi in (SYSV, GNU) and not flags, what, "assemble for System V")
    # A linker may depend on the sections' names, and looks for them here.
    names = elf.get_section(elf["e_shstrndx"])
    inside = all(section["sh_name"] < names["sh_size"] for section in elf.iter_sections())
    require(names["sh_type"] == "SHT_STRTAB" and inside, "section names that are not strings")
    taken = [(0, elf["e_ehsize"], "the header")]
    taken.append((elf["e_shoff"], elf.num_sections() * elf["e_shentsize"], "the section headers"))
    tables = 0
    for section in elf.iter_sections():
        tables += section["sh_type"] == "SHT_SYMTAB"
        if section["sh_type"] not in ("SHT_NOBITS", "SHT_NULL") and section["sh_size"]:
            taken.append((section["sh_offset"], section["sh_size"], f"section {section.name}"))
    require(tables <= 1, "two symbol tables")
    end, last = 0, "the file"
    for start, size, name in sorted(taken):
        require(start >= end, f"{name} overlaps {last}")
        end, last = start + size, name
        require(end <= len(data), f"{name} is cut off by the end of the file")


ENTRY_BYTES = 24
"""Bytes of a symbol, and of a relocation with its addend: both have 24 in ELF64."""


def check_tables(elf: ELFFile) -> None:
    """Check that symbols and relocations are whole, and that their names are in the right table.

    The library reads past the end of a table, and takes the size of its entries from the file.

    Raises:
        GhashgenError: a table does not consist of 24-byte entries, a name is outside the table of
            names, or a relocation names no symbol.
    """
    for table in elf.iter_sections():
        if isinstance(table, SymbolTableSection):
            _check_entries(table)
            size = table.stringtable["sh_size"]
            for number, symbol in enumerate(table.iter_symbols()):
                # The end of the name is a byte of the table, too.
                whole = symbol["st_name"] + len(symbol.name.encode()) < max(size, 1)
                whole = whole and "\N{REPLACEMENT CHARACTER}" not in symbol.name
                require(whole, f"the name of symbol {number} is damaged")
        elif isinstance(table, RelocationSection):
            _check_entries(table)
            symbols = elf.get_section(table["sh_link"])
            assert isinstance(symbols, SymbolTableSection)
            count = symbols.num_symbols()
            named = all(entry["r_info_sym"] < count for entry in table.iter_relocations())
            require(named, f"a relocation of {table.name} names no symbol")


def _check_entries(table: Section) -> None:
    whole = table["sh_entsize"] == ENTRY_BYTES and table["sh_size"] % ENTRY_BYTES == 0
    require(whole, f"section {table.name} is not a table of whole entries")


def kind_of(section: Section) -> Kind:
    """Return a section's kind.

    Raises:
        GhashgenError: its type, flags, name, address or alignment is unsupported.
    """
    kind, flags, name = section["sh_type"], section["sh_flags"], section.name
    found = SECTIONS.get((kind, flags))
    if found is None:
        words = [word for flag, word in FLAG_NAMES.items() if flags & flag]
        rest = flags & ~sum(FLAG_NAMES)
        words += [f"{rest:#x}"] if rest else []
        flag = next((flag for start, flag in FLAGS.items() if name.startswith(start)), "")
        raise GhashgenError(
            f"section {name} of type {kind}, flags {' '.join(words) or 'none'}, is not understood",
            flag or "put code into .text and constants into .rodata, read-only",
        )
    if found is Kind.CONSTANTS and name == UNWIND:
        found = Kind.UNUSED
    known = NAMES[found]
    called = any(name == start or (start and name.startswith(f"{start}.")) for start in known)
    require(
        called or (found is Kind.NOT_LOADED and name.startswith(DEBUG)),
        f"section {name}: a linker may treat it by its name",
        f"call it {known[0]} or {known[0]}.NAME" if known[0] else "leave it out",
    )
    at, align = section["sh_addr"], section["sh_addralign"]
    power_of_two = align & max(align - 1, 0) == 0
    require(not at and power_of_two, f"section {name} at address {at:#x}, aligned to {align}")
    return found


def entry_bytes_of(section: Section) -> int:
    """Return the size of a section's mergeable constants, 0 if they are not mergeable.

    A linker may place each entry anywhere with its alignment, and merge equal ones.

    Raises:
        GhashgenError: the section does not consist of such entries.
    """
    if not section["sh_flags"] & MERGE or section["sh_type"] != "SHT_PROGBITS":
        return 0
    size, whole = int(section["sh_entsize"]), section["sh_size"]
    require(
        size in ENTRIES and whole % size == 0,
        f"section {section.name}: mergeable constants of {size} bytes, in {whole}",
        "put constants into .rodata (gcc: -fno-merge-constants)",
    )
    return size


def is_place(number: int, symbol: Symbol, first: int, sizes: dict[int, int]) -> bool:
    """Return whether a symbol is a place in a section, or a number or a name defined elsewhere.

    `number` is its index; symbols from `first` on are not local. `sizes` are those of the allocated
    sections, by number.

    Raises:
        GhashgenError: its type, binding, visibility or place is unsupported.
    """
    info, at = symbol["st_info"], symbol["st_shndx"]
    kind, bind = info["type"], info["bind"]
    visibility = symbol["st_other"]["visibility"]

    words = ", ".join(ALIASES.get(word, str(word)) for word in (kind, bind, visibility, at))

    def check(holds: bool, why: str) -> None:
        remedy = "let functions be plain global symbols, and all else local"
        require(holds, f"symbol {symbol.name!r} ({words}): {why}", remedy)

    in_order = (bind == "STB_LOCAL") == (number < first)
    check(in_order, "local among the others, or the other way round")
    understood = visibility in ("STV_DEFAULT", "STV_PROTECTED", *PRIVATE)
    check(understood, "a visibility that is not understood")
    if number == 0 and (kind, bind, at) == ("STT_NOTYPE", "STB_LOCAL", "SHN_UNDEF"):
        return False
    if bind == "STB_LOCAL" and at == "SHN_ABS" and kind in ("STT_FILE", "STT_NOTYPE"):
        return False
    if at == "SHN_UNDEF" and kind in TYPES and bind in ("STB_GLOBAL", "STB_WEAK"):
        return False
    check(isinstance(at, int), "a place that is not understood")
    if kind == "STT_SECTION" and bind == "STB_LOCAL" and symbol["st_value"] == 0:
        return False
    check(kind in TYPES, "a type that is not understood")
    check(bind in ("STB_LOCAL", "STB_GLOBAL"), "another definition may take its place")
    free = bind == "STB_LOCAL" or not OF_LINKERS.fullmatch(symbol.name)
    check(free, "a name that linkers define")
    within = at not in sizes or symbol["st_value"] + symbol["st_size"] <= sizes[at]
    check(within, "it reaches beyond its section")
    return True


def replaceable(symbol: Any) -> str:
    """Return why a symbol's target may not be this object's definition, "" if it is."""
    if symbol["st_shndx"] == "SHN_UNDEF":
        return "what another object defines"
    if not isinstance(symbol["st_shndx"], int):
        return "an address that is a number"
    bind, visibility = symbol["st_info"]["bind"], symbol["st_other"]["visibility"]
    if bind == "STB_LOCAL" or visibility in PRIVATE:
        return ""
    return f"{symbol.name}, which is neither local nor hidden: another definition may come first"

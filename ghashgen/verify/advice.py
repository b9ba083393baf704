"""What to do about an object that the prover does not read, for the person who made it.

The prover calls nothing here: it has already refused, by numbers of the gABI where names mean
nothing to it. This module only adds words.
"""

import re
from collections.abc import Mapping

from ghashgen.support.errors import GhashgenError
from ghashgen.verify.x86_64.elf_file import ElfError

FLAGS = {
    0x1: "WRITE", 0x2: "ALLOC", 0x4: "EXECINSTR", 0x10: "MERGE", 0x20: "STRINGS",
    0x40: "INFO_LINK", 0x80: "LINK_ORDER", 0x100: "OS_NONCONFORMING", 0x200: "GROUP",
    0x400: "TLS", 0x800: "COMPRESSED", 0x200000: "GNU_RETAIN", 0x10000000: "X86_64_LARGE",
    0x80000000: "EXCLUDE",
}  # fmt: skip
"""SHF_…"""

TYPES = {
    1: "SHT_PROGBITS", 7: "SHT_NOTE", 8: "SHT_NOBITS", 9: "SHT_REL", 14: "SHT_INIT_ARRAY",
    17: "SHT_GROUP",
}  # fmt: skip

SYMBOLS: tuple[Mapping[int, str], ...] = (
    {6: "STT_TLS", 10: "STT_GNU_IFUNC"},
    {2: "STB_WEAK", 10: "STB_GNU_UNIQUE"},
    {0xFFF1: "SHN_ABS", 0xFFF2: "SHN_COMMON"},
)
"""Types, bindings and places of symbols."""

REMEDIES = {
    "not an ELF file": "assemble with nasm -f elf64",
    "not a relocatable": "give a relocatable ELF64 object for x86-64 (nasm -f elf64)",
    "an object for OS ABI": "assemble for System V",
    "a damaged .note": "leave it out, or write it as the psABI says",
    "two sections|a section with the name of": "give each its own name",
    "relocation type": "reach constants relative to the instruction pointer, in this object",
    "relocations of .*may be merged": "put constants that are addresses into .rodata",
    "a relocation .*that names none": "name the constant by a local symbol, or put it into .rodata",
    "section .gnu.lto_": "compile with -fno-lto",
    "section .init_array":
        "compile without --coverage and -fprofile-arcs, and without constructors",
    "section .group": "compile with -fno-inline, or make inline functions static",
    "section .* is not understood": "put code into .text and constants into .rodata, read-only",
    "section .*by its name": "call it .text or .rodata, or one of these and .NAME, or leave it out",
    "section .*: mergeable": "put constants into .rodata (gcc: -fno-merge-constants)",
    "symbol '": "let functions be plain global symbols, and all else local",
}  # fmt: skip
"""How a refusal begins, as an expression, and what helps; of several the first."""


def advised(refusal: GhashgenError) -> GhashgenError:
    """Return a refusal in words and with a remedy, if it is of an object; any other as it is."""
    if not isinstance(refusal, ElfError):
        return refusal
    cause = re.sub(r"type (0x\w+), flags (0x\w+)", _section, refusal.cause)
    cause = re.sub(r"(?<=\()(\d+), (\d+), (\d+)(?=\): )", _symbol, cause)
    remedies = (remedy for how, remedy in REMEDIES.items() if re.match(how, cause))
    return GhashgenError(cause, next(remedies, "assemble the file again"))


def _section(match: re.Match[str]) -> str:
    kind, flags = (int(number, 16) for number in match.groups())
    words = [word for flag, word in FLAGS.items() if flags & flag]
    rest = flags & ~sum(FLAGS)
    words += [f"{rest:#x}"] if rest else []
    return f"type {TYPES.get(kind, hex(kind))}, flags {' '.join(words) or 'none'}"


def _symbol(match: re.Match[str]) -> str:
    found = zip(SYMBOLS, match.groups(), strict=True)
    return ", ".join(words.get(int(number), number) for words, number in found)

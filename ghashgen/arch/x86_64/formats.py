"""Object file formats of x86-64, by the names that nasm's -f takes."""

from collections.abc import Mapping
from types import MappingProxyType

from ghashgen.arch.core import ObjectFormat

ELF = ObjectFormat(
    name="elf64",
    title="ELF, x86-64",
    rodata=".rodata",
    symbol_prefix="",
    constants=".section .rodata",
    local=".L",
    unwind="cfi",
    elf=True,
)

COFF = ObjectFormat(
    name="win64",
    title="COFF, x86-64",
    rodata=".rdata",
    symbol_prefix="",
    constants='.section .rdata,"dr"',
    local=".L",
    unwind="seh",
    elf=False,
)

MACH_O = ObjectFormat(
    name="macho64",
    title="Mach-O, x86-64",
    rodata=".rodata",
    symbol_prefix="_",
    constants=".section __TEXT,__const",
    local="L",
    unwind="cfi",
    elf=False,
)

FORMATS: Mapping[str, ObjectFormat] = MappingProxyType(
    {fmt.name: fmt for fmt in (ELF, COFF, MACH_O)}
)
"""Every object format by name."""

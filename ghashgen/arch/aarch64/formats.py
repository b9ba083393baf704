"""Object file formats of AArch64."""

from collections.abc import Mapping
from types import MappingProxyType

from ghashgen.arch.core import ObjectFormat

ELF = ObjectFormat(
    name="elf64",
    title="ELF, AArch64",
    rodata=".rodata",
    symbol_prefix="",
    constants=".section .rodata",
    local=".L",
    unwind="cfi",
    elf=True,
)

MACH_O = ObjectFormat(
    name="macho64",
    title="Mach-O, arm64",
    rodata="__const",
    symbol_prefix="_",
    constants=".section __TEXT,__const",
    local="L",
    unwind="cfi",
    elf=False,
)

FORMATS: Mapping[str, ObjectFormat] = MappingProxyType({fmt.name: fmt for fmt in (ELF, MACH_O)})
"""Every object format by name."""

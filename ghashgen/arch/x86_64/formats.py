"""Object file formats of x86-64, by the name that nasm's -f takes."""

from collections.abc import Mapping
from types import MappingProxyType

from ghashgen.arch.core import ObjectFormat

FORMATS: Mapping[str, ObjectFormat] = MappingProxyType(
    {
        fmt.name: fmt
        for fmt in (
            ObjectFormat("elf64", "ELF, x86-64", ".rodata", "", True),
            ObjectFormat("win64", "COFF, x86-64", ".rdata", "", False),
            ObjectFormat("macho64", "Mach-O, x86-64", ".rodata", "_", False),
        )
    }
)
"""Every object format by name."""

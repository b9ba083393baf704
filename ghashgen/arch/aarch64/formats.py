"""Object file formats of AArch64."""

from collections.abc import Mapping
from types import MappingProxyType

from ghashgen.arch.core import ObjectFormat

FORMATS: Mapping[str, ObjectFormat] = MappingProxyType(
    {
        fmt.name: fmt
        for fmt in (
            ObjectFormat("elf64", "ELF, AArch64", ".section .rodata", "", True),
            ObjectFormat("macho64", "Mach-O, arm64", ".section __TEXT,__const", "_", False),
        )
    }
)
"""Every object format by name."""

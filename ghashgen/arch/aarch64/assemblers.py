"""The assemblers of AArch64: GNU as and Clang."""

from ghashgen.arch.gnu import clang, gnu, gnu_or_clang

GAS = gnu_or_clang(
    "aarch64",
    "GHASHGEN_AS_AARCH64",
    "binutils-aarch64-linux-gnu",
    gnu("as for AArch64", "aarch64", {"elf64": ()}),
    clang("clang for AArch64", {"elf64": "aarch64-linux-gnu", "macho64": "arm64-apple-macos"}),
)
"""GNU as writes only ELF; Clang also writes Mach-O."""

"""The assemblers of x86-64: NASM, and GNU as or Clang."""

from ghashgen.arch.gnu import clang, gnu, gnu_or_clang
from ghashgen.support.toolchain import Assembler, Dialect, Tool, find_assembler

NASM = Assembler(
    title="nasm",
    variable="GHASHGEN_NASM",
    package="nasm",
    programs=("nasm",),
    dialects=(
        Dialect(
            "nasm",
            r".*NASM version (\d+\.\d+\S*)",
            tuple((fmt, ("-f", fmt)) for fmt in ("elf64", "win64", "macho64", "bin")),
            # The first with the EVEX forms of VPCLMULQDQ, VAES and GFNI.
            minimum=(2, 14),
        ),
    ),
    asked="-v",
)
"""NASM, which answers `NASM version 2.16.01 compiled on …`."""

GAS = gnu_or_clang(
    "x86_64",
    "GHASHGEN_AS",
    "binutils",
    gnu("as for Windows", r"x86_64[^']*mingw", {"win64": ()}),
    gnu("as", "x86_64", {"elf64": ("--64",)}),
    clang(
        "clang",
        {
            "elf64": "x86_64-linux-gnu",
            "win64": "x86_64-windows-gnu",
            "macho64": "x86_64-apple-macos",
        },
    ),
)
"""GNU as, for both operand orders; one built for Windows writes only COFF."""


def find_nasm() -> Tool:
    """Return NASM.

    Raises:
        GhashgenError: it is missing or too old.
    """
    return find_assembler(NASM)


def find_gas() -> Tool:
    """Return GNU as or Clang.

    Raises:
        GhashgenError: both are missing.
    """
    return find_assembler(GAS)

"""What a kernel is made for: calling convention, table alignment, syntax, format, prefix."""

from dataclasses import dataclass

from ghashgen.arch.core import Abi, ObjectFormat
from ghashgen.arch.registry import syntaxes
from ghashgen.arch.syntax import Syntax
from ghashgen.arch.x86_64.abi import ABIS, SYSV, WIN64
from ghashgen.arch.x86_64.formats import FORMATS
from ghashgen.arch.x86_64.syntax.nasm import SYNTAX as NASM
from ghashgen.kernels.hash.kernel import Kernel
from ghashgen.support.errors import GhashgenError
from ghashgen.support.wording import choose_one

TABLE_ALIGNS = (1, 2, 4, 8, 16, 32, 64)
"""Alignments of the table, in bytes, that callers may promise."""


@dataclass(frozen=True)
class Target:
    """Rendering axes; they change no algebra."""

    abi: Abi = SYSV
    syntax: Syntax = NASM
    fmt: ObjectFormat = FORMATS["elf64"]
    prefix: str = ""
    """Put before every symbol, macro and file name, so that two libraries can be one program."""
    table_align: int = 0
    """Alignment in bytes that callers promise for the table; 0 for what costs nothing."""

    @property
    def library(self) -> str:
        """What the names begin with that belong to a folder as a whole: header, dispatcher."""
        return f"{self.prefix}ghashgen"

    def symbol(self, name: str) -> str:
        """Return the symbol of a kernel or function name in C."""
        return f"{self.prefix}{name}"

    def table_align_of(self, kernel: Kernel) -> int:
        """Return the alignment in bytes that a kernel's table needs for this target.

        Unless callers promise another, it is the smallest that costs no instruction: 16 where
        memory operands must be aligned (legacy SSE), 1 where they may lie anywhere.
        """
        return self.table_align or kernel.set.operand_align


def target(
    abi: str = "", fmt: str = "", prefix: str = "", syntax: str = "nasm", table_align: int = 0
) -> Target:
    """Return the target of these names; convention and format default to each other's own.

    Raises:
        GhashgenError: an unknown name, a prefix that is no C identifier, or an alignment that is no
            power of two up to 64.
    """
    abi = abi or (WIN64.name if fmt == "win64" else SYSV.name)
    fmt = fmt or ("win64" if abi == WIN64.name else "elf64")
    for axis, value, table in (
        ("abi", abi, ABIS),
        ("format", fmt, FORMATS),
        ("syntax", syntax, syntaxes()),
    ):
        if value not in table:
            raise GhashgenError(f"unknown {axis} {value!r}", choose_one(value, table))
    if prefix and not (prefix.isascii() and prefix.isidentifier()):
        raise GhashgenError(f"prefix {prefix!r} is not a C identifier", "use letters, digits and _")
    if table_align not in (0, *TABLE_ALIGNS):
        raise GhashgenError(
            f"a table cannot be aligned to {table_align} bytes",
            f"choose one of {', '.join(map(str, TABLE_ALIGNS))}",
        )
    return Target(ABIS[abi], syntaxes()[syntax], FORMATS[fmt], prefix, table_align)


def runnable(abi: str, prefix: str = "", table_align: int = 0, syntax: str = "nasm") -> Target:
    """Return the target whose objects can be run and proved here: ELF in either convention.

    The instructions are those of the convention's own container.

    Raises:
        GhashgenError: as `target`.
    """
    return target(abi, "elf64", prefix, syntax, table_align)

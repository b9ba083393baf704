"""The target of a kernel: convention, table alignment, syntax, format, prefix, back end."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TypeVar

from ghashgen.arch.core import Abi, Arch, ObjectFormat
from ghashgen.arch.registry import DEFAULT, arches, syntaxes
from ghashgen.arch.syntax import Syntax
from ghashgen.arch.unwinding import Tables
from ghashgen.kernels.core import Point
from ghashgen.support.errors import GhashgenError
from ghashgen.support.wording import choose_one

_V = TypeVar("_V")

TABLE_ALIGNS = (1, 2, 4, 8, 16, 32, 64)
"""Table alignments in bytes that callers may promise."""

MAX_PREFIX = 64
"""Longest prefix in characters; names of files and symbols that begin with it have limits."""

OWN, PEACHPY = "own", "peachpy"
BACKENDS: Mapping[str, str] = MappingProxyType(
    {
        OWN: "registers allocated by ghashgen, instructions encoded by the assembler",
        PEACHPY: "registers allocated and instructions encoded by PeachPy; frame by ghashgen",
    }
)
"""Register allocator and encoder by name; `output.backends` has their code."""


def _default() -> Arch:
    return arches()[DEFAULT]


@dataclass(frozen=True)
class Target:
    """The rendering axes; they change no algebra."""

    abi: Abi = field(default_factory=lambda: _default().default_abi)
    syntax: Syntax = field(default_factory=lambda: syntaxes()[_default().syntax])
    fmt: ObjectFormat = field(default_factory=lambda: _default().default_format)
    prefix: str = ""
    """Goes before every symbol, macro and file name, so that one program can contain two
    libraries.
    """
    table_align: int = 0
    """Table alignment in bytes that callers promise; 0 for what costs nothing."""
    backend: str = OWN
    """One of BACKENDS."""
    hidden: bool = False
    """Whether a shared library that they are linked into keeps their functions to itself: in ELF,
    and in Mach-O by the syntaxes of GNU as.
    """
    unwind: bool = False
    """Whether files say how to unwind in every syntax and object format that can. Those of GNU as
    always do.
    """

    @property
    def tables(self) -> Tables | None:
        """The unwind tables that a file has besides its code."""
        tables = self.syntax.unwinding
        return tables(self.fmt) if self.unwind and tables is not None else None

    @property
    def library(self) -> str:
        """The beginning of the names that belong to a whole folder: header, dispatcher."""
        return f"{self.prefix}ghashgen"

    def symbol(self, name: str) -> str:
        """Return the C symbol for a kernel's or function's name."""
        return f"{self.prefix}{name}"

    def table_align_of(self, kernel: Point) -> int:
        """Return the table alignment in bytes that a kernel needs for this target.

        Unless callers promise another, it is the smallest that costs no instruction: 16 if memory
        operands must be aligned (legacy SSE), otherwise 1.
        """
        return self.table_align or kernel.instruction_set.operand_align


def target(
    abi: str = "",
    fmt: str = "",
    prefix: str = "",
    syntax: str = "",
    table_align: int = 0,
    arch: str = DEFAULT,
    backend: str = OWN,
) -> Target:
    """Return the target with these names; by default convention and format follow each other.

    Raises:
        GhashgenError: a name is unknown, the prefix is too long or not a C identifier, or the
            alignment is not a power of two up to 64.
    """
    machine = _known("architecture", arch, arches())
    if not abi:
        own = [each.name for each in machine.abis.values() if each.format == fmt]
        abi = own[0] if own else machine.default_abi.name
    convention = _known("abi", abi, machine.abis)
    container = _known("format", fmt or convention.format, machine.formats)
    printer = _known("syntax", syntax or machine.syntax, syntaxes(arch))
    if prefix and not (prefix.isascii() and prefix.isidentifier()):
        raise GhashgenError(f"prefix {prefix!r} is not a C identifier", "use letters, digits and _")
    if len(prefix) > MAX_PREFIX:
        raise GhashgenError(
            f"a prefix has at most {MAX_PREFIX} characters, not {len(prefix)}",
            "choose a shorter one",
        )
    if table_align not in (0, *TABLE_ALIGNS):
        raise GhashgenError(
            f"a table cannot be aligned to {table_align} bytes",
            f"choose one of {', '.join(map(str, TABLE_ALIGNS))}",
        )
    _known("backend", backend, BACKENDS)
    return Target(convention, printer, container, prefix, table_align, backend)


def _known(axis: str, value: str, table: Mapping[str, _V]) -> _V:
    if value not in table:
        raise GhashgenError(f"unknown {axis} {value!r}", choose_one(value, table))
    return table[value]


def arch_of(kernels: Iterable[Point]) -> str:
    """Return the architecture of kernels, or the default one if there are none.

    Raises:
        GhashgenError: they are for several.
    """
    found = {kernel.instruction_set.arch.name: kernel.instruction_set.name for kernel in kernels}
    if len(found) > 1:
        titles = [f"{arches()[name].title} (isa {isa})" for name, isa in sorted(found.items())]
        raise GhashgenError(
            f"you chose kernels of several architectures: {', '.join(titles)}",
            "choose one with --isa",
        )
    return next(iter(found), DEFAULT)


def require_fit(kernels: Iterable[Point], where: Target) -> None:
    """Refuse a target of another architecture than a kernel's.

    Raises:
        GhashgenError: names the first such kernel.
    """
    for kernel in kernels:
        arch = kernel.instruction_set.arch
        if where.abi != arch.abis.get(where.abi.name):
            raise GhashgenError(
                f"{kernel.name} is for {arch.title}, which has no convention {where.abi.name}",
                "choose another isa",
            )


def runnable(
    abi: str,
    prefix: str = "",
    table_align: int = 0,
    syntax: str = "",
    arch: str = DEFAULT,
    backend: str = OWN,
) -> Target:
    """Return the target whose objects can be run and proved here: ELF in every convention.

    The instructions are the same as in the convention's own format.

    Raises:
        GhashgenError: as `target`.
    """
    machine = _known("architecture", arch, arches())
    return target(abi, machine.default_format.name, prefix, syntax, table_align, arch, backend)

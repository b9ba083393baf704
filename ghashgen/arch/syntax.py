"""The type of a syntax."""

from collections.abc import Callable
from dataclasses import dataclass

from ghashgen.arch.core import ObjectFormat
from ghashgen.arch.rows import Row
from ghashgen.arch.unwinding import Tables
from ghashgen.ir.program import Directive, Op
from ghashgen.support.toolchain import Assembler


@dataclass(frozen=True)
class Names:
    """What printing a line needs to know about its file."""

    symbol: str
    """The function's symbol in C."""
    constants: str
    """The beginning of the names of the kernel's constants, before an underscore."""
    fmt: ObjectFormat
    hidden: bool = False
    """Whether the function stays inside the library that it is linked into."""


@dataclass(frozen=True)
class Syntax:
    """How one assembler wants its input."""

    name: str
    title: str
    suffix: str
    """File name suffix."""
    template: str
    """Envelope in templates/."""
    instruction: Callable[[Op, Row, Names], str]
    """Returns text without indentation or comment."""
    directive: Callable[[Directive, Names], tuple[str, ...]]
    """Returns lines without a comment; () for what the syntax or the object format cannot
    express.
    """
    comment: str
    """What starts a comment after an instruction."""
    remark: str
    """What starts a comment line."""
    assembler: Assembler
    """Its assembler, and how to find it."""
    note: tuple[str, str] = ("", "")
    """What an ELF file promises of every entry point, in words and as a GNU property: the numbers
    of its type, size, value and padding; or "".
    """
    encoded: Callable[[Op, str, bytes, Names], str] | None = None
    """(operation, its text, the bytes that the assembler made of it, …) → the line to print instead
    of the text; or None.
    """
    tally: str = ""
    """Adds one to the number at {at} of the array to which the C variable ghashgen_counts points,
    at the entry of a function; or "".
    """
    opening: str = ""
    """A line before the code, or ""."""
    unwinding: Callable[[ObjectFormat], Tables | None] | None = None
    """Returns the unwind tables that files have if the target asks for them, None for a format
    without any. A syntax with directives for unwinding needs no tables.
    """

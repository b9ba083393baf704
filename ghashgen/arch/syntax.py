"""The type of a syntax."""

from collections.abc import Callable
from dataclasses import dataclass

from ghashgen.arch.core import ObjectFormat
from ghashgen.arch.rows import Row
from ghashgen.ir.program import Directive, Op
from ghashgen.support.toolchain import Assembler


@dataclass(frozen=True)
class Names:
    """What a line must know of the file that it stands in."""

    symbol: str
    """The function's symbol in C."""
    constants: str
    """What the names of the kernel's constants begin with, an underscore aside."""
    fmt: ObjectFormat


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
    """Text without indentation or comment."""
    directive: Callable[[Directive, Names], tuple[str, ...]]
    """Lines without a comment; () for what the syntax or the object format does not say."""
    comment: str
    """What starts a comment behind an instruction."""
    remark: str
    """What starts a line that is a comment."""
    assembler: Assembler
    """What assembles it, and how it is found."""
    note: tuple[str, str] = ("", "")
    """What an ELF file promises of every entry point, in words and as a GNU property: the numbers
    of its type, size, value and padding; "" for nothing."""
    opening: str = ""
    """A line that the code begins with; "" for none."""

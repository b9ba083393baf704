"""The type of a syntax."""

from collections.abc import Callable
from dataclasses import dataclass

from ghashgen.arch.rows import Row
from ghashgen.ir.program import Op


@dataclass(frozen=True)
class Syntax:
    """How one assembler wants its input."""

    name: str
    title: str
    suffix: str
    """File name suffix."""
    template: str
    """Envelope in templates/."""
    instruction: Callable[[Op, Row, str], str]
    """(operation, its row, symbol prefix) → text without indentation or comment."""
    label: Callable[[str, str], str]
    """(function symbol, label) → the label as it is defined."""
    comment: str
    """What starts a comment."""

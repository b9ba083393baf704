"""How a kernel fails: a category, one line, and as much of the reason as is known."""

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from ghashgen.algebra.ops.forms import Form
from ghashgen.verify.core.term import Lane

if TYPE_CHECKING:
    from ghashgen.verify.core.explanation import Explanation

MOST = 400
"""Characters of a message."""


class Category(StrEnum):
    """The theorem that failed, or the reason why none was shown."""

    FUNCTION = "function"
    MEMORY = "memory"
    CONSTANT_TIME = "constant-time"
    TIMING = "timing"
    """A secret meets an instruction that is not on the list of those with data-independent timing.
    The result may be right.
    """
    ABI = "abi"
    WIPE = "wipe"
    UNSUPPORTED = "unsupported"
    """Neither proved nor shown wrong: an instruction without a row, or control flow not followed.
    """


@dataclass(frozen=True)
class Difference:
    """A wrong result, for `ghashgen.verify.difference` to explain."""

    meaning: Any
    """The function's meaning, which knows what the names of values stand for."""
    lane: Lane
    got: Form
    wanted: Form
    instruction: Callable[[int], str] = lambda at: ""
    """Returns the instruction at an address."""


class Refutation(Exception):  # noqa: N818 - a verdict, raised where it is found
    """A theorem that does not hold or, with category UNSUPPORTED, could not be established."""

    def __init__(
        self,
        category: Category,
        message: str,
        *,
        at: int | None = None,
        difference: Difference | None = None,
    ) -> None:
        # A certificate may name what no terminal can print, or so much that no line can hold it.
        if not message.isprintable():
            message = "".join(
                c if c.isprintable() else c.encode("unicode_escape").decode() for c in message
            )
        message = message if len(message) <= MOST else f"{message[:MOST]}…"
        super().__init__(message)
        self.category = category
        self.message = message
        self.at = at
        self.difference = difference
        """What was compared; an explanation takes its place."""
        self.explanation: Explanation | None = None
        self.symbol = ""
        self.numbers: dict[str, int] = {}
        """The numbers that the function was run with, by their parameters."""
        self.instruction = ""

    def __reduce__(self) -> tuple[Any, ...]:
        # Exceptions are rebuilt from their arguments, since proofs cross process boundaries. The
        # values that are compared or asked for stay behind: their terms refer to each other.
        state = {**self.__dict__, "difference": None, "value": None}
        return _rebuilt, (self.category, self.message, state)

    def __str__(self) -> str:
        where = f"{self.symbol}: " if self.symbol else ""
        which = "".join(f" ({name} {n})" for name, n in self.numbers.items())
        at = f" at {self.at:#x}" if self.at is not None else ""
        text = f" `{self.instruction}`" if self.instruction else ""
        return f"{self.category}: {where}{self.message}{at}{text}{which}"


def _rebuilt(category: Category, message: str, state: dict[str, Any]) -> Refutation:
    refutation = Refutation(category, message)
    refutation.__dict__.update(state)
    return refutation


def unsupported(message: str, at: int | None = None) -> Refutation:
    """Return the verdict that the checker does not support something."""
    return Refutation(Category.UNSUPPORTED, message, at=at)

"""Terms, their dependences, and the one way to traverse them.

A lane is an int (a known constant) or a `Term`. A term is one of a few kinds (`Kind`), applied to
parts. Its kind answers every question about it (polynomials, the same value under other
names), part by part, in the order of `parts_first`.
"""

from collections.abc import Callable, Container, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ghashgen.algebra.ops.forms import Form

if TYPE_CHECKING:
    from ghashgen.verify.core.terms import Terms

MASK64 = (1 << 64) - 1
MASK128 = (1 << 128) - 1

TABLE, DATA, RAW, OPAQUE, CALLER, SECRET, NUMBERS = 1, 2, 4, 8, 16, 32, 64
"""What a term depends on: table entries; state and blocks; a block not yet padded; a value that
cannot be followed; what the caller left in a register or in memory (taken for public); and whether
key, state or data is in it. The first three imply this, and it is never lost; `NUMBERS`, the bits
of public numbers with unknowns, go with it too.
"""


class NotPolynomialError(Exception):
    """A value that the checker cannot follow: the reason, and the instruction that made it."""

    def __init__(self, reason: str, at: int) -> None:
        super().__init__(reason)
        self.reason = reason
        self.at = at


class Term:
    """One value of 128 bits; compared by identity, since equal terms are one object."""

    __slots__ = ("args", "at", "deps", "form", "mask", "op", "serial")

    def __init__(self, op: str, args: tuple[object, ...], mask: int, deps: int, at: int) -> None:
        self.op = op
        self.args = args
        self.mask = mask
        """Bits that may be other than zero."""
        self.deps = deps
        self.at = at
        """Address of the instruction that made it first."""
        self.serial = 0
        self.form: Form | None = None

    def __repr__(self) -> str:
        return f"<{self.op} {self.serial}>"


Lane = int | Term


def mask_of(lane: Lane) -> int:
    """Return the bits of a lane that may be 1."""
    return lane if isinstance(lane, int) else lane.mask


def deps_of(*lanes: object) -> int:
    """Return the combined dependences of some lanes; constants depend on nothing."""
    deps = 0
    for lane in lanes:
        if isinstance(lane, Term):
            deps |= lane.deps
    return deps


@dataclass(frozen=True, eq=False)
class Kind:
    """One kind of term. Every question about terms is answered here."""

    name: str
    form: Callable[["Terms", Term], Form]
    """The 128 polynomials, given those of the parts.

    Raises NotPolynomialError if there are none.
    """
    rebuild: Callable[..., Lane] | None = None
    """Rebuilds the term, from the pool and all arguments; None if it cannot be rebuilt."""
    linear: bool = False
    """Whether it is a sum of linear functions of its parts, so that a part can be sought in it."""


class Evaluated:
    """The terms whose polynomials are known."""

    def __contains__(self, term: object) -> bool:
        return isinstance(term, Term) and term.form is not None


def parts_of(term: Term) -> list[Term]:
    """Return the terms among the arguments."""
    return [part for part in term.args if isinstance(part, Term)]


def parts_first(
    term: Term, known: Container[Term], into: Callable[[Term], bool] | None = None
) -> Iterator[Term]:
    """Yield a term and everything that it is made of, each after its parts.

    Skips known terms with their parts. Does not descend into terms for which `into` is false.
    """
    stack = [term]
    done: set[Term] = set()
    while stack:
        top = stack[-1]
        if top in done or top in known:
            stack.pop()
            continue
        missing: list[Term] = []
        if into is None or into(top):
            missing = [p for p in parts_of(top) if p not in done and p not in known]
        if missing:
            stack.extend(missing)
            continue
        stack.pop()
        done.add(top)
        yield top


UNEQUAL = ("opaque", "beside", "equal")
"""Kinds of term that can differ even if they look the same: at least part of them may be anything.
For a comparison only one value is known; it may have others by bytes and by words.
"""


def same_value(a: object, b: object) -> bool:
    """Return whether two lanes are certainly equal; an opaque value equals nothing, even itself."""
    if isinstance(a, Term):
        return a is b and a.op not in UNEQUAL
    return isinstance(a, int) and isinstance(b, int) and a == b


def rank(lane: Lane) -> tuple[int, int]:
    """Return a lane's place in an order of all lanes of a pool."""
    return (0, lane) if isinstance(lane, int) else (1, lane.serial)


def secret(lane: object) -> bool:
    """Return whether a value may depend on key, state or data."""
    return isinstance(lane, Term) and lane.deps & SECRET != 0


def of_table(lane: object) -> bool:
    """Return whether a value is a function of the table alone."""
    return isinstance(lane, Term) and lane.deps == TABLE | SECRET

"""What a term is, what it depends on, and the one way in which terms are gone over.

A lane is an int (a known constant) or a `Term`. A term is one of a few kinds (`Kind`), applied to
parts. Whatever somebody asks of all terms, their polynomials, their variables, the same value under
other names, is answered by its kind, part by part, in the order of `parts_first`.
"""

from collections.abc import Callable, Container, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ghashgen.algebra.ops.forms import Form

if TYPE_CHECKING:
    from ghashgen.verify.core.terms import Terms

MASK64 = (1 << 64) - 1
MASK128 = (1 << 128) - 1

TABLE, DATA, RAW, OPAQUE, CALLER, SECRET = 1, 2, 4, 8, 16, 32
"""What a term depends on: table entries; state and blocks; a block not yet padded; a value that
cannot be followed; what the caller left in a register or in memory (taken for public); and whether
key, state or data is in it, which comes with the first three and is never lost."""


class NotPolynomialError(Exception):
    """A value that the checker cannot follow: why, and at which instruction it arose."""

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
    """Return the bits of a lane that may be other than zero."""
    return lane if isinstance(lane, int) else lane.mask


def deps_of(*lanes: object) -> int:
    """Return what some lanes depend on together; constants depend on nothing."""
    deps = 0
    for lane in lanes:
        if isinstance(lane, Term):
            deps |= lane.deps
    return deps


@dataclass(frozen=True)
class Kind:
    """One kind of term: what is asked of terms is answered here, and nowhere else."""

    name: str
    form: Callable[["Terms", Term], Form]
    """The 128 polynomials; those of the parts are known.

    Raises NotPolynomialError if there are none."""
    rebuild: Callable[..., Lane] | None = None
    """The same of other parts, from the pool and all arguments; None if it has no other."""
    variables: Callable[["Terms", Term], frozenset[str]] | None = None
    """The names of the variables that its arguments name, if they may name any."""
    exchanged: Callable[["Terms", Term, Callable[[str], Lane]], Lane] | None = None
    """The same with another lane in the place of each variable that its arguments name."""
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
    """Yield a term and all that it is made of, each after its parts.

    What is known when its turn comes is passed over, with its parts; so are the parts of a term for
    which `into` is false.
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
"""Kinds of term of which the same is no equal value: part of it, at least, may be anything. Of a
comparison only one value is known: by bytes and by words it may have others."""


def same_value(a: object, b: object) -> bool:
    """Return whether two lanes are certainly equal; an opaque value equals nothing, even itself."""
    if isinstance(a, Term):
        return a is b and a.op not in UNEQUAL
    return isinstance(a, int) and isinstance(b, int) and a == b


def rank(lane: Lane) -> tuple[int, int]:
    """Return where a lane stands in an order of all that are in one pool."""
    return (0, lane) if isinstance(lane, int) else (1, lane.serial)


def secret(lane: object) -> bool:
    """Return whether a value may depend on key, state or data."""
    return isinstance(lane, Term) and lane.deps & SECRET != 0


def of_table(lane: object) -> bool:
    """Return whether a value is a function of the table alone."""
    return isinstance(lane, Term) and lane.deps == TABLE | SECRET

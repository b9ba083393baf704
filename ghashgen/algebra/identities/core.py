"""The types of a theorem and its proof, and the comparison of two sides."""

from collections.abc import Callable
from dataclasses import dataclass

from ghashgen.algebra.ops.forms import Form
from ghashgen.algebra.ops.monomials import monomials_of
from ghashgen.support.errors import GhashgenError

SHOWN = 4
"""How many monomials a failure quotes from each side."""


class IdentityFailure(GhashgenError):  # noqa: N818 - a claim that failed, no program error
    """The two sides of a claim differ; the message says where."""


@dataclass(frozen=True)
class Evidence:
    """What was compared: this many things of one kind, all equal."""

    compared: int
    unit: str

    def __str__(self) -> str:
        return f"{self.compared} {self.unit}"


@dataclass(frozen=True)
class Theorem:
    """A claim, proved for all the inputs that `covers` names."""

    name: str
    statement: str
    covers: str
    source: str
    constant: str
    """The constant of the claim that a planted fault changes."""
    prove: Callable[[int], Evidence]
    """Prove the claim with `fault` planted in the constant. 0 is the claim itself; every other
    fault, 1 <= fault < 2^64, must raise IdentityFailure.
    """


@dataclass(frozen=True)
class Proof:
    """The outcome of one theorem: `detail` is the evidence, or why it failed."""

    name: str
    statement: str
    covers: str
    seconds: float
    ok: bool
    detail: str


def require_equal(got: Form, expected: Form, what: str) -> None:
    """Compare two vectors of polynomials, for every input at once.

    Raises IdentityFailure with the lowest differing bit and monomials on one side only.
    """
    if got == expected:
        return
    if got.width != expected.width:
        raise IdentityFailure(f"{what}: {got.width} bits against {expected.width}")
    difference = got ^ expected
    k = next(k for k in range(got.width) if monomials_of(difference, k))
    mine, theirs = (
        {tuple(f"{name}{bit}" for name, bit in factors) for factors in monomials_of(form, k)}
        for form in (got, expected)
    )
    raise IdentityFailure(
        f"{what}: bit {k} differs: {_quote(mine - theirs)} only as computed, "
        f"{_quote(theirs - mine)} only as claimed"
    )


def _quote(monomials: set[tuple[str, ...]]) -> str:
    shown = ["·".join(m) or "1" for m in sorted(monomials)[:SHOWN]]
    more = len(monomials) - len(shown)
    return " + ".join(shown) + (f" + {more} more" if more else "") if shown else "nothing"


def require_same(got: int, expected: int, what: str) -> None:
    """Compare two integers, shown in hexadecimal.

    Raises IdentityFailure with the lowest differing bit.
    """
    if got != expected:
        low = (got ^ expected) & -(got ^ expected)
        raise IdentityFailure(
            f"{what}: bit {low.bit_length() - 1} differs: {got:#x}, claimed {expected:#x}"
        )


def monomials(form: Form) -> int:
    """Return the number of monomials in all bits of a form."""
    parts = (form.constant, *form.linear.values(), *form.quadratic.values())
    return sum(part.bit_count() for part in parts)

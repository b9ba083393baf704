"""Polynomials over GF(2) in commuting indeterminates, in which Horner's rule is proved.

GHASH over n blocks is a polynomial in the blocks, the state and H. An identity between such
polynomials holds in every commutative ring of characteristic 2, hence in GF(2^128), for all values.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import reduce
from operator import add, mul

from ghashgen.algebra.identities.core import SHOWN, IdentityFailure

Monomial = tuple[tuple[str, int], ...]
"""Pairs (indeterminate, exponent >= 1), sorted; () is 1."""


@dataclass(frozen=True)
class Polynomial:
    """A sum of monomials, each with coefficient 1."""

    monomials: frozenset[Monomial] = frozenset()

    def __add__(self, other: "Polynomial") -> "Polynomial":
        return Polynomial(self.monomials ^ other.monomials)

    def __mul__(self, other: "Polynomial") -> "Polynomial":
        out: set[Monomial] = set()
        for a in self.monomials:
            for b in other.monomials:
                out ^= {_times(a, b)}
        return Polynomial(frozenset(out))

    def __str__(self) -> str:
        terms = sorted(self.monomials)
        shown = " + ".join("·".join(_factor(*f) for f in m) or "1" for m in terms[:SHOWN])
        return (shown + (f" + {len(terms) - SHOWN} more" if len(terms) > SHOWN else "")) or "0"


def _factor(name: str, exponent: int) -> str:
    return name if exponent == 1 else f"{name}^{exponent}"


def _times(a: Monomial, b: Monomial) -> Monomial:
    exponents = dict(a)
    for name, exponent in b:
        exponents[name] = exponents.get(name, 0) + exponent
    return tuple(sorted(exponents.items()))


def indeterminate(name: str, exponent: int = 1) -> Polynomial:
    """Return name^exponent; exponent 0 gives 1."""
    return Polynomial(frozenset({((name, exponent),) if exponent else ()}))


def total(terms: Iterable[Polynomial]) -> Polynomial:
    """Return the sum; 0 if there are no terms."""
    return reduce(add, terms, Polynomial())


def horner(state: Polynomial, blocks: Iterable[Polynomial], H: Polynomial) -> Polynomial:
    """Return GHASH's recurrence X = (X + C)·H over the blocks (SP 800-38D, Algorithm 2)."""
    return reduce(lambda X, C: mul(X + C, H), blocks, state)


def require_identical(got: Polynomial, expected: Polynomial, what: str) -> None:
    """Compare two polynomials.

    Raises IdentityFailure with the monomials on one side only.
    """
    if got != expected:
        mine = Polynomial(got.monomials - expected.monomials)
        theirs = Polynomial(expected.monomials - got.monomials)
        raise IdentityFailure(f"{what}: {mine} only as computed, {theirs} only as claimed")

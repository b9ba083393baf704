"""Tests whether a polynomial over GF(2) is irreducible, so that P is known to make a field."""

from ghashgen.algebra.field.gf2 import clmul, degree, mod

X = 0b10
"""The polynomial x."""


def gcd(a: int, b: int) -> int:
    """The greatest common divisor by Euclid's algorithm; gcd(0, 0) is 0.

    Raises ValueError if a or b is negative.
    """
    if a < 0 or b < 0:
        raise ValueError(f"a polynomial over GF(2) is a non-negative int, not {min(a, b)}")
    while b:
        a, b = b, mod(a, b)
    return a


def is_irreducible(p: int) -> bool:
    """Whether p is irreducible over GF(2), by Rabin's test.

    With n = degree(p) >= 1: p is irreducible if and only if x^(2^n) = x mod p, and x^(2^(n/q)) - x
    is coprime to p for every prime q that divides n. (M. O. Rabin, "Probabilistic Algorithms in
    Finite Fields", SIAM J. Comput. 9, 1980, Lemma 1.)

    Raises ValueError if p is negative.
    """
    n = degree(p)
    if n < 1:
        return False
    coprime = all(gcd(_frobenius_of_x(n // q, p) ^ X, p) == 1 for q in _prime_divisors(n))
    return coprime and _frobenius_of_x(n, p) == mod(X, p)


def _frobenius_of_x(times: int, p: int) -> int:
    """x^(2^times) mod p, for any polynomial p."""
    a = mod(X, p)
    for _ in range(times):
        a = mod(clmul(a, a), p)
    return a


def _prime_divisors(n: int) -> list[int]:
    divisors = [q for q in range(2, n + 1) if n % q == 0]
    return [q for q in divisors if all(q % r for r in range(2, q))]

"""Squares, powers and inverses in GF(2^128) (`ghashgen.algebra.field.gf128`)."""

from ghashgen.algebra.field.gf2 import clmul, divmod_
from ghashgen.algebra.field.gf128 import P, mul, require_element


def square(a: int) -> int:
    """The square a·a mod P.

    Raises ValueError unless a is an element.
    """
    return mul(a, a)


def power(a: int, n: int) -> int:
    """The power a^n mod P for n >= 0; a^0 is 1, also for a = 0.

    Raises ValueError if n is negative or a is not an element.
    """
    require_element(a)
    if n < 0:
        raise ValueError(f"the exponent is {n}; take power(inverse(a), {-n})")
    result = 1
    for bit in f"{n:b}":
        result = square(result)
        if bit == "1":
            result = mul(result, a)
    return result


def inverse(a: int) -> int:
    """The inverse a^-1 mod P, by Euclid's algorithm.

    Raises ZeroDivisionError if a is 0, ValueError if a is not an element.
    """
    require_element(a)
    if a == 0:
        raise ZeroDivisionError("0 has no inverse in GF(2^128)")
    r, s = (P, a), (0, 1)
    while r[1]:
        # r = s·a mod P, for both.
        quotient, rest = divmod_(*r)
        r, s = (r[1], rest), (s[1], s[0] ^ clmul(quotient, s[1]))
    return s[0]

"""GF(2)[x]: polynomials with coefficients 0 and 1, as non-negative ints.

Bit k of the int is the coefficient of x^k. Addition is `^`. Only `bit_reflect` has a width. All
methods are schoolbook.
"""


def _require_polynomial(a: int) -> None:
    if a < 0:
        raise ValueError(f"a polynomial over GF(2) is a non-negative int, not {a}")


def degree(a: int) -> int:
    """The degree of a, with -1 for the zero polynomial.

    Raises ValueError if a is negative.
    """
    _require_polynomial(a)
    return a.bit_length() - 1


def clmul(a: int, b: int) -> int:
    """The carry-less product a * b: the sum of a·x^k over the terms x^k of b, by Horner's rule.

    Raises ValueError if a or b is negative.
    """
    _require_polynomial(a)
    _require_polynomial(b)
    product = 0
    for term in f"{b:b}":
        product <<= 1
        if term == "1":
            product ^= a
    return product


def divmod_(a: int, m: int) -> tuple[int, int]:
    """The pair (q, r) with a = q * m + r and degree(r) < degree(m): long division.

    Raises ZeroDivisionError if m is 0, ValueError if a or m is negative.
    """
    if m == 0:
        raise ZeroDivisionError("division by the zero polynomial")
    _require_polynomial(a)
    bits = degree(m) + 1
    quotient, remainder = 0, a
    while (shift := remainder.bit_length() - bits) >= 0:
        quotient ^= 1 << shift
        remainder ^= m << shift
    return quotient, remainder


def mod(a: int, m: int) -> int:
    """The remainder of a by m.

    Raises ZeroDivisionError if m is 0, ValueError if a or m is negative.
    """
    return divmod_(a, m)[1]


def bit_reflect(value: int, width: int) -> int:
    """The width-bit value with bit k moved to bit width-1-k.

    Raises ValueError if value is negative or needs more than width bits.
    """
    if value < 0 or value >> width:
        raise ValueError(f"{value:#x} does not fit in {width} bits")
    return int(f"{value:0{width}b}"[::-1], 2)

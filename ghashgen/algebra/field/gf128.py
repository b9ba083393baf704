"""GF(2^128) = GF(2)[x]/P, the field of GCM (SP 800-38D, section 6.3).

An element is an int below 2^128 in natural bit order: bit k is the coefficient of x^k. `bitorder`
converts elements to blocks and registers.
"""

from ghashgen.algebra.field.gf2 import clmul, mod

P = (1 << 128) | (1 << 7) | (1 << 2) | (1 << 1) | 1
"""The field polynomial x^128 + x^7 + x^2 + x + 1."""

Q = 0x87
"""x^128 mod P = x^7 + x^2 + x + 1."""

X = 0b10
"""The element x."""

X_INVERSE = (1 << 127) | (1 << 6) | (1 << 1) | 1
"""x^-1 mod P = x^127 + x^6 + x + 1."""


def require_element(a: int) -> None:
    """Refuse anything but a reduced element.

    Raises ValueError unless 0 <= a < 2^128.
    """
    if not 0 <= a < 1 << 128:
        raise ValueError(f"an element of GF(2^128) is an int of at most 128 bits, not {a:#x}")


def mul(a: int, b: int) -> int:
    """The product a·b mod P.

    Raises ValueError unless a and b are elements.
    """
    require_element(a)
    require_element(b)
    return mod(clmul(a, b), P)

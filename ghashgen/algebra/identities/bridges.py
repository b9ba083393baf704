"""Claims that need no scheme: between the specifications, and Winograd's identity.

Algorithm 1 of SP 800-38D and `dot` of RFC 8452 are bilinear: each is a composition of maps that are
linear in one argument when the other is fixed. Two bilinear maps that agree on all 128 × 128 pairs
of basis blocks are equal. So checking those pairs is a proof, not a sample.
"""

from ghashgen.algebra.field import gf2, gf128
from ghashgen.algebra.field.bitorder import block_from_element, byte_reverse
from ghashgen.algebra.field.ghash import multiply_blocks
from ghashgen.algebra.field.polyval import POLYVAL_P, X_TO_MINUS_128, dot, mulX_GHASH
from ghashgen.algebra.identities.core import (
    Evidence,
    Theorem,
    monomials,
    require_equal,
    require_same,
)
from ghashgen.algebra.identities.spec import word
from ghashgen.algebra.ops.forms import multiply, variable

PAIRS = Evidence(128 * 128, "pairs of basis blocks")


def _algorithm_1(fault: int) -> Evidence:
    """X • Y of Algorithm 1 is the product in GF(2)[x]/P."""
    blocks = [block_from_element(1 << k) for k in range(128)]
    # x^i·x^j = x^(i+j) in GF(2)[x].
    powers = [gf2.mod(1 << e, gf128.P ^ fault) for e in range(255)]
    expected = [int.from_bytes(block_from_element(power)) for power in powers]
    for i, X in enumerate(blocks):
        for j, Y in enumerate(blocks):
            got = int.from_bytes(multiply_blocks(X, Y))
            require_same(got, expected[i + j], f"x^{i} • x^{j}, as big-endian blocks")
    return PAIRS


def _polyval(fault: int) -> Evidence:
    """The dot product of RFC 8452 is a·b·x^-128, and ByteReverse of a GHASH product."""
    inverse = X_TO_MINUS_128 ^ fault
    one = gf2.mod(gf2.clmul(inverse, 1 << 128), POLYVAL_P)
    require_same(one, 1, "x^-128·x^128 in the field of POLYVAL")
    blocks = [(1 << k).to_bytes(16, "little") for k in range(128)]
    keys = [mulX_GHASH(byte_reverse(b)) for b in blocks]
    # x^(i+j)·x^-128, by the sum of the exponents
    places = [gf2.mod(gf2.clmul(1 << e, inverse), POLYVAL_P) for e in range(255)]
    for i, a in enumerate(blocks):
        for j, b in enumerate(blocks):
            got = int.from_bytes(dot(a, b), "little")
            require_same(got, places[i + j], f"dot(x^{i}, x^{j}) against a·b·x^-128")
            product = byte_reverse(multiply_blocks(byte_reverse(a), keys[j]))
            require_same(got, int.from_bytes(product, "little"), f"dot(x^{i}, x^{j}) against GHASH")
    return PAIRS


def _winograd(fault: int) -> Evidence:
    """a0·b0 + a1·b1 = (a0 + b1)·(a1 + b0) + a0·a1 + b0·b1, the fault added to b1 in the sum."""
    a0, a1 = variable("a0.", 64), variable("a1.", 64)
    b0, b1 = variable("b0.", 64), variable("b1.", 64)
    got = multiply(a0 ^ b1 ^ word(fault), a1 ^ b0) ^ multiply(a0, a1) ^ multiply(b0, b1)
    expected = multiply(a0, b0) ^ multiply(a1, b1)
    require_equal(got, expected, "(a0 + b1)·(a1 + b0) + a0·a1 + b0·b1")
    return Evidence(monomials(expected), "monomials")


def theorems() -> tuple[Theorem, ...]:
    """Return the theorems between specifications, and Winograd's identity."""
    return (
        Theorem(
            name="algorithm-1",
            statement="X • Y of SP 800-38D = the product in GF(2)[x]/P, blocks read as elements",
            covers="all X, Y, by bilinearity from the 128 × 128 pairs of basis blocks",
            source="SP 800-38D, section 6.3, Algorithm 1",
            constant="the tail of P",
            prove=_algorithm_1,
        ),
        Theorem(
            name="polyval-bridge",
            statement="dot(a, b) = a·b·x^-128 = ByteReverse(ByteReverse(a) • x·ByteReverse(b))",
            covers="all a, b, by bilinearity from the 128 × 128 pairs of basis blocks",
            source="RFC 8452, section 3 and appendix A",
            constant="x^-128 = x^127 + x^124 + x^121 + x^114 + 1",
            prove=_polyval,
        ),
        Theorem(
            name="winograd",
            statement="a0*b0 + a1*b1 = (a0 + b1)*(a1 + b0) + a0*a1 + b0*b1",
            covers="all 64-bit a0, a1, b0, b1",
            source="S. Winograd, A New Algorithm for Inner Product, 1968",
            constant="0, what is added to a0 + b1",
            prove=_winograd,
        ),
    )

"""What a vector instruction does to one 128-bit lane: the functions behind the rows.

Each follows the manual's "Operation" section (Intel SDM vol. 2) for one lane, over
`ghashgen.verify.core.terms`. Data movement is given as the source byte of each result byte, so that
it can be read next to the manual. Operations that are not linear over GF(2) are exact on constants
and opaque on secrets.
"""

from collections.abc import Callable, Sequence
from functools import lru_cache

from ghashgen.algebra.ops.forms import Moves
from ghashgen.verify.core.term import MASK64, MASK128, Lane, Term, same_value
from ghashgen.verify.core.terms import Terms

Two = Callable[[Terms, Lane, Lane, int], Lane]
"""A row with two vector sources, in the manual's order SRC1 (or DEST), SRC2."""


Shift = Callable[[Terms, Lane, int, int], Lane]
"""A shift of every element of a lane: terms, source lane, count, bits of an element."""


def repeat(mask: int, bits: int) -> int:
    """Return a 128-bit constant that repeats a mask in every element of `bits` bits."""
    return sum(mask << k for k in range(0, 128, bits))


def shift_left(t: Terms, a: Lane, count: int, bits: int) -> Lane:
    """PSLLW, PSLLD, PSLLQ: zero if the count exceeds the element."""
    if count >= bits:
        return 0
    ones = (1 << bits) - 1
    return t.moves(a, ((count, repeat(ones << count & ones, bits)),))


def shift_right(t: Terms, a: Lane, count: int, bits: int) -> Lane:
    """PSRLW, PSRLD, PSRLQ."""
    if count >= bits:
        return 0
    return t.moves(a, ((-count, repeat((1 << bits) - 1 >> count, bits)),))


def shift_signed(t: Terms, a: Lane, count: int, bits: int) -> Lane:
    """PSRAW, PSRAD, VPSRAQ: the vacated bits copy the sign."""
    count = min(count, bits - 1)
    top = bits - 1
    moves = [(-count, repeat((1 << bits) - 1 >> count, bits))]
    moves += [(-(top - k), repeat(1 << k, bits)) for k in range(bits - count, bits)]
    return t.moves(a, tuple(moves))


def rotate_left(t: Terms, a: Lane, count: int, bits: int) -> Lane:
    """ROL."""
    count %= bits
    left = shift_left(t, a, count, bits)
    return t.xor(left, shift_right(t, a, bits - count, bits)) if count else a


def merge(t: Terms, a: Lane, b: Lane, sources: Sequence[int]) -> Lane:
    """Return the lane whose byte k is byte sources[k] of a, or sources[k] - 16 of b; -1 is zero."""
    from_a = tuple(s if s < 16 else -1 for s in sources)
    from_b = tuple(s - 16 if s >= 16 else -1 for s in sources)
    return t.xor(t.bytes(a, from_a), t.bytes(b, from_b))


def elements(order: Sequence[int], size: int) -> tuple[int, ...]:
    """Return byte sources from element sources of `size` bytes."""
    return tuple(e * size + k for e in order for k in range(size))


def pshufb(t: Terms, a: Lane, b: Lane, imm: int) -> Lane:
    """PSHUFB: a control byte selects a source byte, or zero if its top bit is set."""
    if isinstance(b, Term):
        return t.opaque("a byte shuffle with a control that is not constant", a, b)
    control = b.to_bytes(16, "little")
    return t.bytes(a, tuple(-1 if c & 0x80 else c & 15 for c in control))


def pshufd(t: Terms, a: Lane, imm: int) -> Lane:
    """PSHUFD."""
    return t.bytes(a, elements([imm >> 2 * k & 3 for k in range(4)], 4))


def palignr(t: Terms, a: Lane, b: Lane, imm: int) -> Lane:
    """PALIGNR."""
    # The concatenation a:b shifted right: byte k is byte k + imm of (b, a).
    at = [k + imm for k in range(16)]
    return merge(t, b, a, [s if s < 32 else -1 for s in at])


def pclmulqdq(t: Terms, a: Lane, b: Lane, imm: int) -> Lane:
    """PCLMULQDQ: immediate bits 0 and 4 choose the halves of SRC1 and SRC2."""
    return t.clmul(a, imm & 1, b, imm >> 4 & 1)


def unpack_low(t: Terms, a: Lane, b: Lane, imm: int) -> Lane:
    """PUNPCKLQDQ."""
    return merge(t, a, b, elements([0, 2], 8))


def unpack_high(t: Terms, a: Lane, b: Lane, imm: int) -> Lane:
    """PUNPCKHQDQ."""
    return merge(t, a, b, elements([1, 3], 8))


def greater_than(bits: int) -> Two:
    """PCMPGT: all ones where a > b as signed elements; 0 > b is b's sign."""

    def greater(t: Terms, a: Lane, b: Lane, imm: int) -> Lane:
        if isinstance(a, int) and isinstance(b, int):
            return compare(a, b, bits, lambda x, y: x > y)
        if a == 0:
            return shift_signed(t, b, bits - 1, bits)
        return 0 if same_value(a, b) else t.opaque("a comparison of secrets", a, b)

    return greater


def equal_to(bits: int) -> Two:
    """PCMPEQ: all ones where the elements are equal."""

    def equal(t: Terms, a: Lane, b: Lane, imm: int) -> Lane:
        if isinstance(a, int) and isinstance(b, int):
            return compare(a, b, bits, lambda x, y: x == y)
        return MASK128 if same_value(a, b) else t.equal(t.xor(a, b), MASK128)

    return equal


def compare(a: int, b: int, bits: int, test: Callable[[int, int], bool]) -> int:
    """Return all ones in every element where the test holds for the signed elements."""
    ones, half = (1 << bits) - 1, 1 << bits - 1
    out = 0
    for k in range(0, 128, bits):
        x, y = ((v >> k & ones ^ half) - half for v in (a, b))
        out |= ones << k if test(x, y) else 0
    return out


def arithmetic_of(bits: int, sign: int) -> Two:
    """PADD, PSUB: on constants; on secrets only if no carry can arise, or for 32-bit words."""
    ones = (1 << bits) - 1

    def arithmetic(t: Terms, a: Lane, b: Lane, imm: int) -> Lane:
        if isinstance(a, int) and isinstance(b, int):
            return sum(
                ((a >> k & ones) + sign * (b >> k & ones) & ones) << k for k in range(0, 128, bits)
            )
        if b == 0:
            return a
        if sign > 0 and same_value(a, b):
            # Twice a is a shift.
            return shift_left(t, a, 1, bits)
        masks = [lane.mask if isinstance(lane, Term) else lane for lane in (a, b)]
        if sign > 0 and not masks[0] & masks[1]:
            return t.xor(a, b)
        if bits == 32:
            return t.add_words(a, b, sign)
        return t.opaque("an addition of secrets", a, b)

    return arithmetic


@lru_cache(maxsize=64)
def affine_moves(matrices: int) -> Moves:
    """Return GF2P8AFFINEQB, without its constant, for the two 64-bit matrices of a lane.

    Bit i of a result byte is the parity of matrix byte 7-i AND the source byte (SDM vol. 2A).
    """
    keeps: dict[int, int] = {}
    for half in range(2):
        for i in range(8):
            row = matrices >> 64 * half + 8 * (7 - i) & 0xFF
            bits = (repeat(1 << i, 8) & MASK64) << 64 * half
            for j in range(8):
                if row >> j & 1:
                    keeps[i - j] = keeps.get(i - j, 0) | bits
    return tuple(sorted(keeps.items()))


def affine(t: Terms, a: Lane, b: Lane, imm: int) -> Lane:
    """GF2P8AFFINEQB."""
    if isinstance(b, Term):
        return t.opaque("an affine map with a matrix that is not constant", a, b)
    return t.xor(t.moves(a, affine_moves(b)), repeat(imm, 8) if imm else 0)


def ternary(t: Terms, a: Lane, b: Lane, c: Lane, imm: int) -> Lane:
    """VPTERNLOG: the function with truth table imm, by its polynomial over GF(2).

    Bit 4·a + 2·b + c of imm is the value at (a, b, c) (SDM vol. 2C, table 5-1).
    """
    coefficients = [imm >> k & 1 for k in range(8)]
    for bit in range(3):
        for k in range(8):
            if k >> bit & 1:
                coefficients[k] ^= coefficients[k ^ 1 << bit]
    out: Lane = MASK128 if coefficients[0] else 0
    for k in range(1, 8):
        if coefficients[k]:
            factors = [lane for lane, bit in ((a, 4), (b, 2), (c, 1)) if k & bit]
            # Constants first: a product with a constant stays linear.
            factors.sort(key=lambda lane: not isinstance(lane, int))
            product: Lane = MASK128
            for factor in factors:
                product = t.both(product, factor)
            out = t.xor(out, product)
    return out

"""Blocks, field elements and 128-bit registers: three representations of the same 128 bits.

- A block is 16 bytes. Its leftmost bit, the most significant bit of byte 0, is the coefficient of
  x^0 (SP 800-38D, section 6.3).
- An element is an int whose bit k is the coefficient of x^k (see `gf128`).
- A register is a 128-bit SIMD register as an int. A plain load of 16 bytes is little-endian: byte 0
  goes to bits 7..0. The `Order` says which bit holds which coefficient.
"""

import enum

from ghashgen.algebra.field.gf2 import bit_reflect
from ghashgen.algebra.field.gf128 import X_INVERSE, X, mul, require_element

BLOCK_BYTES = 16


class Order(enum.StrEnum):
    """Which coefficient bit k of a 128-bit register holds.

    REFLECTED: that of x^(127-k); the block loaded big-endian (with a byte swap).
    NATURAL: that of x^k; the block loaded little-endian with the bits inside each byte reversed.
    """

    REFLECTED = "reflected"
    NATURAL = "natural"


def require_block(block: bytes) -> None:
    """Refuse anything but a block.

    Raises ValueError unless block has 16 bytes.
    """
    if len(block) != BLOCK_BYTES:
        raise ValueError(f"a block has {BLOCK_BYTES} bytes, not {len(block)}")


def xor_blocks(x: bytes, y: bytes) -> bytes:
    """The bitwise sum X ⊕ Y of two byte strings of equal length.

    Raises ValueError if the lengths differ.
    """
    if len(x) != len(y):
        raise ValueError(f"{len(x)} bytes and {len(y)} have no sum")
    return (int.from_bytes(x, "big") ^ int.from_bytes(y, "big")).to_bytes(len(x), "big")


def element_from_block(block: bytes) -> int:
    """The element of a block: bit k of the result is the k-th bit from the left.

    Raises ValueError unless block has 16 bytes.
    """
    require_block(block)
    return bit_reflect(int.from_bytes(block, "big"), 128)


def block_from_element(element: int) -> bytes:
    """The block of an element; the inverse of `element_from_block`.

    Raises ValueError unless 0 <= element < 2^128.
    """
    require_element(element)
    return bit_reflect(element, 128).to_bytes(BLOCK_BYTES, "big")


def exponent_of_bit(k: int, order: Order) -> int:
    """The exponent whose coefficient bit k of a register holds, 0 <= k < 128.

    Each order is its own inverse: the result is also the bit that holds the coefficient of x^k.
    """
    match order:
        case Order.REFLECTED:
            return 127 - k
        case Order.NATURAL:
            return k


def register_from_element(element: int, order: Order) -> int:
    """The register that holds an element in the given order.

    Raises ValueError unless 0 <= element < 2^128.
    """
    require_element(element)
    return element if order is Order.NATURAL else bit_reflect(element, 128)


def element_from_register(register: int, order: Order) -> int:
    """The element in a register of the given order; the inverse of `register_from_element`.

    Raises ValueError unless 0 <= register < 2^128.
    """
    if not 0 <= register < 1 << 128:
        raise ValueError(f"a register has 128 bits; {register:#x} does not fit")
    return register if order is Order.NATURAL else bit_reflect(register, 128)


def register_from_block(block: bytes, order: Order) -> int:
    """The register that holds a block's element in the given order.

    Raises ValueError unless block has 16 bytes.
    """
    return register_from_element(element_from_block(block), order)


def block_from_register(register: int, order: Order) -> bytes:
    """The block whose element is in a register; the inverse of `register_from_block`.

    Raises ValueError unless 0 <= register < 2^128.
    """
    return block_from_element(element_from_register(register, order))


def twist(element: int, order: Order) -> int:
    """The element to store as the key operand of a carry-less multiplication.

    NATURAL: the element itself. REFLECTED: element·x^-1 mod P. The 255-bit product of two
    reflected registers has the coefficient of x^(254-k) in bit k. Read as a 256-bit register, with
    x^(255-k) in bit k, it is the product times x, which the twist cancels. (Intel, "Carry-Less
    Multiplication Instruction and its Usage for Computing the GCM Mode", 2010: the operand
    "H<<1 mod P", which is this one as a register.)

    Raises ValueError unless 0 <= element < 2^128.
    """
    require_element(element)
    match order:
        case Order.REFLECTED:
            return mul(element, X_INVERSE)
        case Order.NATURAL:
            return element


def untwist(element: int, order: Order) -> int:
    """The element with this twist; the inverse of `twist`.

    Raises ValueError unless 0 <= element < 2^128.
    """
    require_element(element)
    match order:
        case Order.REFLECTED:
            return mul(element, X)
        case Order.NATURAL:
            return element


def byte_reverse(block: bytes) -> bytes:
    """ByteReverse of RFC 8452, appendix A: the 16 bytes in the opposite order.

    Raises ValueError unless block has 16 bytes.
    """
    require_block(block)
    return block[::-1]

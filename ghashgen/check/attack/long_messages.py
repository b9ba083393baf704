"""GHASH of every prefix of one long message, from tables of products with H.

The products come from `ghashgen.algebra.field`, one for each bit of a block. Everything else is
sums, so a few megabytes take a second.
"""

import random
from functools import cache

from ghashgen.algebra.field.bitorder import (
    BLOCK_BYTES,
    Order,
    element_from_block,
    register_from_element,
    twist,
)
from ghashgen.algebra.field.gf128 import mul
from ghashgen.algebra.field.ghash import multiply_blocks


def products(h: bytes) -> tuple[tuple[int, ...], ...]:
    """Return the product with H of each value of each byte of a block."""
    out = []
    for at in range(BLOCK_BYTES):
        bits = []
        for bit in range(8):
            block = bytearray(BLOCK_BYTES)
            block[at] = 1 << bit
            bits.append(int.from_bytes(multiply_blocks(bytes(block), h), "big"))
        row = [0]
        for value in range(1, 256):
            low = value & -value
            row.append(row[value ^ low] ^ bits[low.bit_length() - 1])
        out.append(tuple(row))
    return tuple(out)


class Hashed:
    """A message drawn from a seed, and its hash from a given state at every length."""

    def __init__(self, h: bytes, state: bytes, seed: str, most: int) -> None:
        self.h, self.state = h, state
        self.message = random.Random(seed).randbytes(most)
        self._products = products(h)
        self._prefixes = [int.from_bytes(state, "big")]

    def _times_h(self, value: int) -> int:
        out = 0
        for row, byte in zip(self._products, value.to_bytes(BLOCK_BYTES, "big"), strict=True):
            out ^= row[byte]
        return out

    def after(self, length: int) -> bytes:
        """Return the state after the first `length` bytes, zero-padded."""
        whole, rest = divmod(length, BLOCK_BYTES)
        known = self._prefixes
        while len(known) <= whole:
            at = BLOCK_BYTES * (len(known) - 1)
            block = int.from_bytes(self.message[at : at + BLOCK_BYTES], "big")
            known.append(self._times_h(known[-1] ^ block))
        if not rest:
            return known[whole].to_bytes(BLOCK_BYTES, "big")
        last = self.message[BLOCK_BYTES * whole : length].ljust(BLOCK_BYTES, b"\0")
        value = self._times_h(known[whole] ^ int.from_bytes(last, "big"))
        return value.to_bytes(BLOCK_BYTES, "big")

    def after_zeros(self, length: int) -> bytes:
        """Return the state after `length` zero bytes: state · H^blocks."""
        out, base, exponent = self.state, self.h, -(-length // BLOCK_BYTES)
        while exponent:
            if exponent & 1:
                out = multiply_blocks(out, base)
            base = multiply_blocks(base, base)
            exponent >>= 1
        return out


@cache
def table(h: bytes, powers: int) -> bytes:
    """Return the key operands of H^1 to H^powers, reflected, 16 bytes each."""
    order = Order.REFLECTED
    H = element_from_block(h)
    power, cells = H, []
    for _ in range(powers):
        cells.append(
            register_from_element(twist(power, order), order).to_bytes(BLOCK_BYTES, "little")
        )
        power = mul(power, H)
    return b"".join(cells)

"""AES in counter mode as in SP 800-38D: sections 6.2 (inc32) and 6.5 (GCTR).

The block cipher is a function of one 16-byte block, with the key inside. All strings are whole
bytes.
"""

from collections.abc import Callable

from ghashgen.algebra.field.bitorder import BLOCK_BYTES, require_block, xor_blocks

BlockCipher = Callable[[bytes], bytes]
"""The forward cipher function CIPH_K: 16 bytes to 16 bytes."""


def inc32(block: bytes) -> bytes:
    """inc_32 of section 6.2: the rightmost 32 bits plus 1 mod 2^32, the leftmost 96 unchanged.

    Raises ValueError unless block has 16 bytes.
    """
    require_block(block)
    counter = int.from_bytes(block[12:], "big")
    return block[:12] + ((counter + 1) % 2**32).to_bytes(4, "big")


def gctr(cipher: BlockCipher, icb: bytes, data: bytes) -> bytes:
    """GCTR_K(ICB, X): Algorithm 3 of section 6.5; as many bytes as data, possibly none.

    Raises ValueError unless icb, the initial counter block, has 16 bytes.
    """
    require_block(icb)
    counter_block = icb
    output = b""
    for start in range(0, len(data), BLOCK_BYTES):
        chunk = data[start : start + BLOCK_BYTES]
        output += xor_blocks(chunk, cipher(counter_block)[: len(chunk)])
        counter_block = inc32(counter_block)
    return output

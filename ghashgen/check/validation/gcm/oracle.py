"""Right answers from pyca's AES-GCM alone, for every counter block and every state.

A kernel's `encrypt` continues from any counter block and any X. Some message leads there: with
H = E_K(0^128), which has an inverse,

- an IV of 16 bytes has J0 = (IV·H + [128]_128)·H (SP 800-38D, section 7.1, step 2). So
  IV = (J0·H^-1 + [128]_128)·H^-1 leads to any J0, and the text begins at inc32(J0);
- an AAD of one block A gives X = A·H. So A = X·H^-1 leads to any X;
- the tag is T = (X' + L)·H + E_K(J0), where L is the length block. So
  X' = (T + E_K(J0))·H^-1 + L is the state after the text.

So one AES-GCM message tells the right result of a call for a text, its counter and its state.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from ghashgen.algebra.field import aes
from ghashgen.algebra.field.bitorder import (
    BLOCK_BYTES,
    block_from_element,
    element_from_block,
    xor_blocks,
)
from ghashgen.algebra.field.counter import gctr
from ghashgen.algebra.field.gcm import length_block
from ghashgen.algebra.field.ghash import ZERO_BLOCK, ghash_padded, multiply_blocks
from ghashgen.algebra.field.powers import inverse
from ghashgen.check.validation import pyca
from ghashgen.check.validation.ciphers import blocks_of, stepped

IV_LENGTHS = length_block(0, BLOCK_BYTES)
"""The last block of J0's hash for an IV of 16 bytes."""


@dataclass(frozen=True)
class Key:
    """An AES key."""

    key: bytes

    @cached_property
    def h(self) -> bytes:
        """The hash subkey."""
        return pyca.encrypt_block(self.key, ZERO_BLOCK)

    @cached_property
    def inverse(self) -> bytes:
        """H^-1 as a block."""
        return block_from_element(inverse(element_from_block(self.h)))

    def divided(self, block: bytes) -> bytes:
        """Return block·H^-1."""
        return multiply_blocks(block, self.inverse)

    def iv_of(self, pre_counter: bytes) -> bytes:
        """Return the 16-byte IV with this J0."""
        return self.divided(xor_blocks(self.divided(pre_counter), IV_LENGTHS))


@dataclass(frozen=True)
class Text:
    """A text encrypted from a counter block and a state, and its final counter and state."""

    key: bytes
    counter: bytes
    x: bytes
    plaintext: bytes
    ciphertext: bytes
    x_after: bytes

    @property
    def counter_after(self) -> bytes:
        """The counter block for whatever follows."""
        return stepped(self.counter, blocks_of(self.plaintext))


def text(key: Key, counter: bytes, x: bytes, plaintext: bytes) -> Text:
    """Return pyca's result for a text."""
    pre_counter = stepped(counter, -1)
    sealed = pyca.gcm(key.key, key.iv_of(pre_counter), plaintext, key.divided(x))
    ciphertext, tag = sealed[:-BLOCK_BYTES], sealed[-BLOCK_BYTES:]
    hashed = xor_blocks(tag, pyca.encrypt_block(key.key, pre_counter))
    lengths = length_block(BLOCK_BYTES, len(plaintext))
    x_after = xor_blocks(key.divided(hashed), lengths)
    return Text(key.key, counter, x, plaintext, ciphertext, x_after)


def differences(found: Text) -> Iterator[str]:
    """Yield how a text differs from SP 800-38D and FIPS 197 as written in `algebra.field`."""
    subkey = aes.cipher(found.key, ZERO_BLOCK)
    if gctr(lambda block: aes.cipher(found.key, block), found.counter, found.plaintext) != (
        found.ciphertext
    ):
        yield "the ciphertext"
    if ghash_padded(subkey, found.x, found.ciphertext) != found.x_after:
        yield "the state"

"""The right state of a message in pieces, from pyca's AES-GCM and its block cipher.

docs/gcm-streams.md describes the 96 bytes. A state is a value, and each piece makes the next state
from it. So states that hardly any message reaches can be tested too.
"""

from dataclasses import dataclass, replace

from ghashgen.algebra.field.bitorder import BLOCK_BYTES, xor_blocks
from ghashgen.algebra.field.counter import inc32
from ghashgen.algebra.field.gcm import j0, length_block
from ghashgen.algebra.field.ghash import ZERO_BLOCK, ghash_padded, multiply_blocks
from ghashgen.check.validation import pyca
from ghashgen.check.validation.ciphers import stepped
from ghashgen.check.validation.gcm.oracle import Key
from ghashgen.check.validation.records import USUAL_IV

MOST_TEXT, MOST_AAD = (1 << 36) - 32, (1 << 61) - 1
"""Bytes that a message may have (SP 800-38D, section 5.2.1.1)."""

NONE, ASSOCIATED, TEXT = range(3)
"""Phases."""

DONE, WRONG, REFUSED, MISPLACED = range(4)
"""Return values: done; the tag does not match; the standard does not allow a length; no message, or
AAD after text.
"""


FEW = 16
"""Up to this many blocks the GHASH specification is used instead of pyca."""


@dataclass(frozen=True)
class State:
    """The state of a message under a key."""

    key: Key
    x: bytes
    counter: bytes
    mask: bytes
    keystream: bytes = ZERO_BLOCK
    aad: int = 0
    text: int = 0
    phase: int = ASSOCIATED

    def __bytes__(self) -> bytes:
        numbers = (self.aad, self.text, self.phase, 0)
        blocks = (self.x, self.counter, self.mask, self.keystream)
        return b"".join((*blocks, *(number.to_bytes(8, "little") for number in numbers)))

    @property
    def begun(self) -> int:
        """Bytes in the unfinished block."""
        return (self.text if self.phase == TEXT else self.aad) % BLOCK_BYTES

    def with_aad(self, data: bytes) -> "State":
        """Return the state after a piece of AAD."""
        return replace(self, x=self._absorbed(self.begun, data), aad=self.aad + len(data))

    def with_text(self, data: bytes, encrypts: bool) -> tuple["State", bytes]:
        """Return the state after a piece of text, and the piece encrypted or decrypted."""
        if not data:
            return self, b""
        start, x = self.begun, self.x
        if self.phase == ASSOCIATED:
            start, x = 0, self._times_h(x) if start else x
        kept = (BLOCK_BYTES - start) % BLOCK_BYTES
        new = -(-max(0, len(data) - kept) // BLOCK_BYTES)
        stream = self.keystream[BLOCK_BYTES - kept :] + self._keystream(new)
        other = xor_blocks(data, stream[: len(data)])
        hashed = replace(self, x=x)._absorbed(start, other if encrypts else data)
        ends_inside = new and (start + len(data)) % BLOCK_BYTES
        after = replace(
            self,
            x=hashed,
            counter=stepped(self.counter, new),
            keystream=stream[-BLOCK_BYTES:] if ends_inside else self.keystream,
            text=self.text + len(data),
            phase=TEXT,
        )
        return after, other

    def tag(self) -> bytes:
        """Return the tag of the message so far."""
        x = self._times_h(self.x) if self.begun else self.x
        lengths = length_block(self.aad, self.text)
        return xor_blocks(self._times_h(xor_blocks(x, lengths)), self.mask)

    def _times_h(self, x: bytes) -> bytes:
        return multiply_blocks(x, self.key.h)

    def _keystream(self, blocks: int) -> bytes:
        """Return the keystream from the counter block on."""
        counters = b"".join(stepped(self.counter, i) for i in range(blocks))
        return pyca.encrypt_block(self.key.key, counters)

    def _absorbed(self, start: int, data: bytes) -> bytes:
        """Return X after bytes that begin at byte `start` of a block."""
        whole = (start + len(data)) // BLOCK_BYTES * BLOCK_BYTES
        padded = bytes(start) + data
        x, rest = self.x, padded[whole:]
        if 0 < whole <= FEW * BLOCK_BYTES:
            x = ghash_padded(self.key.h, x, padded[:whole])
        elif whole:
            # GHASH from X over C_1 … equals GHASH from 0 over X + C_1 …. Take a tag without text,
            # less its length block.
            blocks = xor_blocks(x, padded[:BLOCK_BYTES]) + padded[BLOCK_BYTES:whole]
            iv = bytes(USUAL_IV)
            tag = pyca.gcm(self.key.key, iv, b"", blocks)
            mask = pyca.encrypt_block(self.key.key, j0(self.key.h, iv))
            x = xor_blocks(self.key.divided(xor_blocks(tag, mask)), length_block(whole, 0))
        return xor_blocks(x, rest + bytes(BLOCK_BYTES - len(rest)))


def started(key: Key, iv: bytes) -> State:
    """Return the state of a message under an IV."""
    first = j0(key.h, iv)
    return State(key, ZERO_BLOCK, inc32(first), pyca.encrypt_block(key.key, first))

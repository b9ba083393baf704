"""GCM as in SP 800-38D: sections 7.1 (GCM-AE) and 7.2 (GCM-AD).

The block cipher is a function of one 16-byte block, with the key inside. All strings are whole
bytes. The upper bounds on lengths (2^39 - 256 bits of plaintext, 2^64 - 1 of IV and AAD, section
5.2.1.1) are not checked, because no Python test can reach them.
"""

from ghashgen.algebra.field.bitorder import require_block
from ghashgen.algebra.field.counter import BlockCipher, gctr, inc32
from ghashgen.algebra.field.ghash import ZERO_BLOCK, ghash, pad16

TAG_BYTES = (16, 15, 14, 13, 12, 8, 4)
"""The tag lengths of section 5.2.1.2, in bytes."""


def length_block(aad_bytes: int, text_bytes: int) -> bytes:
    """[len(A)]_64 || [len(C)]_64 of section 7.1, step 5: lengths in bits, big-endian.

    Raises OverflowError if a length in bits is negative or needs more than 64 bits.
    """
    return (8 * aad_bytes).to_bytes(8, "big") + (8 * text_bytes).to_bytes(8, "big")


def j0(h: bytes, iv: bytes) -> bytes:
    """The pre-counter block J_0 of section 7.1, step 2, for an IV of one byte or more.

    Raises ValueError if iv is empty or h does not have 16 bytes.
    """
    require_block(h)
    if not iv:
        raise ValueError("the IV of GCM has at least one bit")
    if len(iv) == 12:
        return iv + bytes(3) + b"\x01"
    return ghash(h, pad16(iv) + bytes(8) + (8 * len(iv)).to_bytes(8, "big"))


def gcm_encrypt(
    cipher: BlockCipher, iv: bytes, plaintext: bytes, aad: bytes, tag_bytes: int = 16
) -> tuple[bytes, bytes]:
    """GCM-AE_K(IV, P, A): Algorithm 4. Returns the ciphertext and the tag of tag_bytes bytes.

    Raises ValueError if iv is empty or tag_bytes is not in TAG_BYTES.
    """
    h = cipher(ZERO_BLOCK)
    pre_counter = j0(h, iv)
    ciphertext = gctr(cipher, inc32(pre_counter), plaintext)
    return ciphertext, _tag(cipher, h, pre_counter, ciphertext, aad, tag_bytes)


def gcm_decrypt(
    cipher: BlockCipher, iv: bytes, ciphertext: bytes, aad: bytes, tag: bytes, tag_bytes: int = 16
) -> bytes:
    """GCM-AD_K(IV, C, A, T): Algorithm 5. Returns the plaintext.

    Raises ValueError, the FAIL of the standard, if the tag is wrong or does not have tag_bytes
    bytes; and if iv is empty or tag_bytes is not in TAG_BYTES.
    """
    h = cipher(ZERO_BLOCK)
    pre_counter = j0(h, iv)
    plaintext = gctr(cipher, inc32(pre_counter), ciphertext)
    if tag != _tag(cipher, h, pre_counter, ciphertext, aad, tag_bytes):
        raise ValueError("the tag does not authenticate the ciphertext and the associated data")
    return plaintext


def _tag(
    cipher: BlockCipher, h: bytes, pre_counter: bytes, ciphertext: bytes, aad: bytes, tag_bytes: int
) -> bytes:
    """Steps 4 to 6 of Algorithm 4: S = GHASH_H(A || 0^v || C || 0^u || lengths), T = MSB_t(...)."""
    if tag_bytes not in TAG_BYTES:
        raise ValueError(f"a GCM tag has one of {TAG_BYTES} bytes, not {tag_bytes}")
    lengths = length_block(len(aad), len(ciphertext))
    s = ghash(h, pad16(aad) + pad16(ciphertext) + lengths)
    return gctr(cipher, pre_counter, s)[:tag_bytes]

"""NIST CAVP's GCM records, for AES-GCM kernels.

Records with 96-bit IVs are texts: the counter begins at IV ‖ 2, and the state is the hash of the
AAD. Their largest text has 51 bytes; `texts` covers loops.
"""

from collections.abc import Iterator
from functools import lru_cache

from ghashgen.algebra.field.bitorder import xor_blocks
from ghashgen.algebra.field.gcm import length_block
from ghashgen.algebra.field.ghash import ZERO_BLOCK, ghash_padded
from ghashgen.check.validation import pyca
from ghashgen.check.validation.gcm.oracle import Key, Text
from ghashgen.check.validation.records import USUAL_IV, Record, decryptions, encryptions, records
from ghashgen.support.errors import GhashgenError


@lru_cache(maxsize=8)
def texts(key_bytes: int) -> tuple[tuple[str, Text], ...]:
    """Return every record of a key size with a 96-bit IV, except those with wrong tags."""
    return tuple(_texts(8 * key_bytes))


def _texts(bits: int) -> Iterator[tuple[str, Text]]:
    for name in (encryptions(bits), decryptions(bits)):
        for record in records(name):
            if len(record.iv) == USUAL_IV and record.plaintext is not None:
                yield record.what, _text(record, record.plaintext)


def _text(record: Record, plaintext: bytes) -> Text:
    """Return a record as a text.

    Raises:
        GhashgenError: the state after it does not give its tag.
    """
    key = Key(record.key)
    x = ghash_padded(key.h, ZERO_BLOCK, record.aad)
    x_after = ghash_padded(key.h, x, record.ciphertext)
    lengths = length_block(len(record.aad), len(record.ciphertext))
    hashed = ghash_padded(key.h, x_after, lengths)
    tag = xor_blocks(hashed, pyca.encrypt_block(record.key, record.iv + b"\x00\x00\x00\x01"))
    if tag[: len(record.tag)] != record.tag:
        raise GhashgenError(f"{record.what}: the specification has another tag")
    counter = record.iv + b"\x00\x00\x00\x02"
    return Text(record.key, counter, x, plaintext, record.ciphertext, x_after)

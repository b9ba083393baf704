"""NIST CAVP's GCM vectors, for hashes.

A kernel computes only GHASH, so H and E_K(J0) are part of each case. Only records with 96-bit IVs
are used, whose J0 needs no GHASH. With a truncated tag, as many bytes of the state are compared.
The largest text has 51 bytes, so no CAVP vector enters a wide loop; see `cases` for those.
"""

from functools import cache

from ghashgen.check.validation.cases import ZERO, Case, length_block, xor
from ghashgen.check.validation.pyca import encrypt_block
from ghashgen.check.validation.records import KEY_BITS, USUAL_IV, Record, encryptions, records
from ghashgen.run.harness import Vector


@cache
def cases() -> tuple[Case, ...]:
    """Return every encryption record with a 96-bit IV; answers are as long as its tag."""
    found = (record for bits in KEY_BITS for record in records(encryptions(bits)))
    return tuple(_case(record) for record in found if len(record.iv) == USUAL_IV)


def _case(record: Record) -> Case:
    mask = encrypt_block(record.key, record.iv + b"\x00\x00\x00\x01")
    lengths = length_block(record.aad, record.ciphertext)
    chunks = (*(part for part in (record.aad, record.ciphertext) if part), lengths)
    vector = Vector(encrypt_block(record.key, ZERO), ZERO, chunks)
    expected = xor(record.tag, mask[: len(record.tag)])
    return Case(vector, record.what, expected=expected)

"""What emitted files say of AES-GCM kernels."""

from collections.abc import Sequence

from ghashgen.kernels.core import Values, Words
from ghashgen.kernels.gcm.kernel import ROUND_KEYS, GcmKernel
from ghashgen.kernels.hash.words import words as hash_words

NOTES = """\
AES-GCM kernels (SP 800-38D, AES as FIPS 197 has it). A context is filled by NAME_init for one
key. It has NAME_CTX_BYTES bytes at an address that is a multiple of NAME_CTX_ALIGN; a
multiple of NAME_CTX_BEST_ALIGN serves speed alone. It holds no address: its bytes may be
copied, and the copy serves at any such address.
NAME_encrypt and NAME_decrypt take len bytes (any number) on from the counter block and the state of
GHASH, 16 bytes each, and leave both where the next call goes on; the last block of the hash is
padded with zeros. in and out are the same pointer or do not overlap."""


def words(kernel: GcmKernel) -> Words:
    """Return what the banner of a kernel says of it: of its GHASH part what a hash kernel says."""
    own = hash_words(kernel.hash)
    axes: Values = {"key": kernel.key, "blocks": kernel.blocks}
    return Words(
        title=f"{line(axes)}, AES of FIPS 197",
        parts=own.parts,
        table=f"{own.table}; round keys from byte {kernel.layout.arrays[ROUND_KEYS]}",
        arguments=(
            ("key", f"{kernel.key_bytes} bytes, any alignment"),
            ("counter, x", "16 bytes, any alignment, byte order of SP 800-38D"),
            ("in, out", "len bytes, any alignment and any len; no byte outside is touched"),
        ),
        closing=(
            "Time depends on len alone. in may be out; else what is written must not overlap what",
            "another argument points to.",
        ),
    )


def line(values: Values) -> str:
    """Return what a kernel of these values computes, for a header."""
    return f"AES-{values['key']}-GCM (SP 800-38D), {values['blocks']} blocks per group"


def notes(entries: Sequence[Values]) -> tuple[str, ...]:
    """Return what a header says of its kernels."""
    return tuple(NOTES.split("\n"))

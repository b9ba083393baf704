"""What emitted files say about AES-CTR kernels."""

from collections.abc import Sequence

from ghashgen.kernels.core import Values, Words
from ghashgen.kernels.ctr.kernel import CtrKernel

NOTES = """\
AES-CTR kernels (SP 800-38A, with the 32-bit counter of SP 800-38D: inc32).

Never use a counter block twice under one key: that reveals the XOR of two texts. Nothing here is
authenticated: who changes the output changes the text, bit for bit.

NAME_init fills a context from a key of 16, 24 or 32 bytes; the number in NAME is the key's bits.
The context takes NAME_CTX_BYTES bytes at a multiple of NAME_CTX_ALIGN. It holds no address, so you
may copy it as bytes to another such place. It is as secret as the key.

NAME_crypt encrypts or decrypts len bytes, any number, from the counter block of 16 bytes. Only the
last 4 bytes of the block count, as a big-endian number that wraps around without a carry. It leaves
the counter block of the next block of text, so split a text at multiples of 16 bytes. in and out
are the same pointer or do not overlap."""


def words(kernel: CtrKernel) -> Words:
    """Return what a kernel's banner says."""
    return Words(
        title=f"{line({'key': kernel.key, 'blocks': kernel.blocks})}, AES of FIPS 197",
        table="the round keys, 16 bytes each, as in FIPS 197",
        arguments=(
            ("key", f"{kernel.key_bytes} bytes, any alignment"),
            ("counter", "16 bytes, any alignment; the last 4 are a big-endian number"),
            ("in, out", "len bytes, any len, any alignment; no byte outside is accessed"),
        ),
        closing=(
            "Time depends only on len. in and out may be the same pointer.",
            "Otherwise no output may overlap another argument's memory.",
        ),
    )


def line(values: Values) -> str:
    """Return what a kernel with these values computes, for a header."""
    return f"AES-{values['key']}-CTR (SP 800-38A, inc32), {values['blocks']} blocks per group"


def notes(entries: Sequence[Values]) -> tuple[str, ...]:
    """Return a header's notes on its kernels."""
    return tuple(NOTES.split("\n"))

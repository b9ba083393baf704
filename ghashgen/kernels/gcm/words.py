"""What emitted files say about AES-GCM kernels."""

from collections.abc import Sequence

from ghashgen.kernels.core import Values, Words
from ghashgen.kernels.gcm.kernel import ROUND_KEYS, GcmKernel
from ghashgen.kernels.hash.words import words as hash_words

NOTES = """\
AES-GCM kernels (SP 800-38D, AES as FIPS 197 has it). NAME_init fills a context from a key of 16, 24
or 32 bytes: the number in the name says its bits. A context has NAME_CTX_BYTES bytes at an address
that is a multiple of NAME_CTX_ALIGN; a multiple of NAME_CTX_BEST_ALIGN serves speed alone. It holds
no address: its bytes may be copied, and the copy serves at any such address. It is as secret as the
key, and erasing it is the caller's. in and out are the same pointer or do not overlap.
NAME_seal and NAME_open take a whole message in one call. They return 0 where all is well; NAME_open
1 where the tag differs, and then out is zero to its end; both 2, with nothing written, where a
length is none that SP 800-38D allows: an IV of no bytes, an IV or AAD of more than 2^61 - 1, a text
of more than 2^36 - 32, a tag to be compared of other than 4, 8 or 12 to 16. Until NAME_open
returns, out holds text whose tag is not yet known.
NAME_encrypt and NAME_decrypt are for hosts that make tags themselves; a kernel whose name says text
has these alone. They take len bytes (any number) on from the counter block and the state of GHASH,
16 bytes each, and leave both where the next call goes on; the last block of the hash is padded with
zeros, so a text may be split at multiples of 16 bytes.
A kernel whose name says streams takes a message in pieces of any length. NAME_start begins it in a
state of 96 bytes at any address; NAME_aad takes what is authenticated alone, all of it before the
text, NAME_encrypt_more or NAME_decrypt_more the text; NAME_finish writes the tag, NAME_verify
compares one as NAME_open does, and either leaves the state zero. They return 0; 1, of NAME_verify,
where the tag differs; 2 where a length is none that may be; 3 where the call may not come there: no
message has begun, or its tag is made, or AAD comes behind text. Of 2 and 3 nothing is written. What
NAME_decrypt_more writes is not to be trusted before NAME_verify has returned 0. A copy of a state
that is used beside it is a second message under one IV.
A kernel whose name says segments has what a text in segments takes. NAME_encrypt or NAME_decrypt
does each from its own counter block and state 0; NAME_combine(x, y, p) folds the state y that is
left of a segment of m blocks into x, p being H^m of NAME_power, whose time depends on m. NAME_hash
continues GHASH over AAD, lengths, or an IV that is not of 12 bytes.
No IV may come twice under one key: texts and the key of the hash would be lost."""


_MESSAGES = (
    ("iv, aad", "iv_len (from 1) and aad_len bytes, any alignment"),
    ("tag", "16 bytes, or tag_len (4, 8, 12 to 16) to be compared, any alignment"),
)

_STREAMS = (("state", "96 bytes, any alignment; it is as secret as what it is made of"),)

_TIME = {False: "len alone", True: "lengths, and on whether a tag differs, alone"}


def words(kernel: GcmKernel) -> Words:
    """Return what a kernel's banner says; about its GHASH part the same as for a hash kernel."""
    own = hash_words(kernel.hash)
    axes: Values = {"key": kernel.key, "blocks": kernel.blocks}
    whole = kernel.messages or kernel.streams
    return Words(
        title=f"{line(axes)}, AES of FIPS 197",
        parts=own.parts,
        table=f"{own.table}; round keys from byte {kernel.layout.arrays[ROUND_KEYS]}",
        arguments=(
            ("key", f"{kernel.key_bytes} bytes, any alignment"),
            ("counter, x", "16 bytes, any alignment, byte order of SP 800-38D"),
            ("in, out", "len bytes, any alignment and any len; no byte outside is touched"),
            *(_MESSAGES if whole else ()),
            *(_STREAMS if kernel.streams else ()),
        ),
        closing=(
            f"Time depends on {_TIME[whole]}. in may be out; else what is written must",
            "not overlap what another argument points to.",
        ),
    )


def line(values: Values) -> str:
    """Return what a kernel with these values computes, for a header."""
    return f"AES-{values['key']}-GCM (SP 800-38D), {values['blocks']} blocks per group"


def notes(entries: Sequence[Values]) -> tuple[str, ...]:
    """Return a header's notes on its kernels."""
    return tuple(NOTES.split("\n"))

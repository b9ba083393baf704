"""What emitted files say about AES-GCM kernels."""

from collections.abc import Sequence

from ghashgen.kernels.core import Values, Words
from ghashgen.kernels.gcm.kernel import ROUND_KEYS, GcmKernel
from ghashgen.kernels.gcm.parts.records import WORDS
from ghashgen.kernels.hash.words import words as hash_words

NOTES = """\
AES-GCM kernels (SP 800-38D, AES of FIPS 197).

Never use an IV twice under one key: that reveals the XOR of two texts, and the subkey H, which lets
anybody forge.

NAME_init fills a context from a key of 16, 24 or 32 bytes; the number in NAME is the key's bits.
Kernels with compact in their name take keys of all these sizes: their NAME_init has a third
parameter, the key's bytes.
The context takes NAME_CTX_BYTES bytes at a multiple of NAME_CTX_ALIGN; NAME_CTX_BEST_ALIGN affects
only speed. It holds no address, so you may copy it as bytes to another such place. It is as secret
as the key: erase it when you no longer need it. in and out are the same pointer or do not overlap.

NAME_seal and NAME_open process a whole message and return
  0  done
  1  NAME_open only: the tag does not match; all of out is zero
  2  a length is invalid; nothing was written
Valid are 1 to 2^61 - 1 bytes of IV, up to 2^61 - 1 of AAD, up to 2^36 - 32 of text, and for
NAME_open a tag of 4, 8 or 12 to 16. Until NAME_open returns, out holds unverified text.

NAME_encrypt and NAME_decrypt are for callers that make tags themselves; kernels with text in their
name have only these. They process len bytes (any number) from the counter block and the GHASH state
x, 16 bytes each, and leave both ready for the next call. They pad the last block of the hash with
zeros, so split a text only at multiples of 16 bytes.

Kernels with streams in their name process a message in pieces of any length. Its state is 96 bytes
at any address. NAME_start begins a message. NAME_aad takes AAD, all of it before the text.
NAME_encrypt_more or NAME_decrypt_more takes text. NAME_finish writes the tag, NAME_verify compares
one; both then zero the state. They return
  0  done
  1  NAME_verify only: the tag does not match
  2  a length is invalid; nothing was written
  3  wrong order: no message has begun, its tag is made, or AAD comes after text; nothing written
Do not use text from NAME_decrypt_more before NAME_verify has returned 0. Never go on with two
copies of a state: they are two messages under one IV.

Kernels with segments in their name process one message in several threads. NAME_encrypt or
NAME_decrypt processes a segment, from the counter block of its place and from state 0. NAME_combine
computes x = x*p + y, where y is the state after a segment of m blocks and p is H^m from NAME_power,
whose time depends on m. NAME_hash continues GHASH over AAD, lengths, or an IV of other than 12
bytes."""


MANY = f"""
Kernels with many or groups in their name also process many messages of one key in one call. Those
with groups process some side by side, and are not proved yet. A message is a record of words of 64
bits:
  {", ".join(WORDS)}
status takes what NAME_seal or NAME_open would return. Each message counts for itself: one that is
refused, or whose tag is wrong, changes nothing for the others. Effects come in no particular order.
No output may overlap another message's buffers, or the records.
"""


UNTOUCHED = """
NAME_open of kernels with untouched in their name writes nothing if it returns 1, and nothing before
the tag is verified.
"""


ANY_TAG = """
Kernels with anytag in their name compare tags of 1 to 16 bytes. A tag of n bytes is forged by one
of 256^n guesses.
"""


_MORE = {
    "many": (("each", "groups"), MANY),
    "on_failure": (("untouched",), UNTOUCHED),
    "tags": (("any",), ANY_TAG),
}
"""Axes whose values add a paragraph to the notes."""


def _messages(kernel: GcmKernel) -> tuple[tuple[str, str], ...]:
    sizes = "1 to 16" if kernel.tags == "any" else "4, 8 or 12 to 16"
    return (
        ("iv, aad", "iv_len (at least 1) and aad_len bytes, any alignment"),
        ("tag", f"16 bytes written, or tag_len ({sizes}) compared; any alignment"),
    )


_MANY = (("messages", "count records of ten 64-bit words, see the header"),)

_STREAMS = (("state", "96 bytes, any alignment; as secret as ctx"),)


def words(kernel: GcmKernel) -> Words:
    """Return what a kernel's banner says; about its GHASH part the same as for a hash kernel."""
    own = hash_words(kernel.hash)
    axes: Values = {"key": kernel.key, "blocks": kernel.blocks, "compact": kernel.compact}
    whole = kernel.messages or kernel.streams
    time = ("lengths", *["m"] * kernel.segments, *["whether the tag matches"] * whole)
    return Words(
        title=f"{line(axes)}, AES of FIPS 197",
        parts=own.parts,
        table=f"{own.table}; round keys from byte {kernel.layout.arrays[ROUND_KEYS]}",
        arguments=(
            ("key", f"{' or '.join(map(str, kernel.key_sizes))} bytes, any alignment"),
            ("counter, x", "16 bytes, any alignment, byte order of SP 800-38D"),
            ("in, out", "len bytes, any len, any alignment; no byte outside is accessed"),
            *(_messages(kernel) if whole else ()),
            *(_STREAMS if kernel.streams else ()),
            *(_MANY if kernel.many != "none" else ()),
        ),
        closing=(
            f"Time depends only on {' and on '.join(time)}. in and out may be the same pointer.",
            "Otherwise no output may overlap another argument's memory.",
        ),
    )


def line(values: Values) -> str:
    """Return what a kernel with these values computes, for a header."""
    size = "" if values.get("compact") else f"-{values['key']}"
    return f"AES{size}-GCM (SP 800-38D), {values['blocks']} blocks per group"


def notes(entries: Sequence[Values]) -> tuple[str, ...]:
    """Return a header's notes on its kernels."""
    more = [
        f"\n{text.rstrip()}"
        for axis, (some, text) in _MORE.items()
        if any(values.get(axis) in some for values in entries)
    ]
    return tuple("".join((NOTES, *more)).split("\n"))

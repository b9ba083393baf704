"""Parameters that several functions share, with the names used in statements; and statuses."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from ghashgen.kernels.core import LENGTH, Counted, Direction, Fixed, Param, Result
from ghashgen.kernels.gcm.kernel import STANDARD_TAGS, GcmKernel
from ghashgen.kernels.gcm.parts.records import RECORD_BYTES, RECORD_TYPE
from ghashgen.kernels.hash.parts.params import INPUT, INPUT_LENGTH, ONE_BLOCK, STATE, TABLE

STATE_BYTES = 96
"""Bytes of the state of a message in pieces."""

STATE_PARTS = (
    *(("x", 0), ("counter", 16), ("mask", 32), ("keystream", 48)),
    *(("aad_bytes", 64), ("text_bytes", 72), ("phase", 80)),
)
"""What lies in it, with offsets; see `parts.stream`."""

CONTEXT = replace(TABLE, name="ctx")
"""The context, read."""

NEW_CONTEXT = replace(CONTEXT, direction=Direction.OUT)
"""The context, filled."""

ANY_KEY = Param("key", "key", Counted("key_len"))
"""The key, `key_len` bytes."""

KEY_LENGTH = Param("key_len", "key_length", LENGTH, secret=False, allowed=(16, 24, 32))
"""Bytes of the key."""

COUNTER = Param("counter", "counter", ONE_BLOCK, Direction.INOUT)
"""The counter block of the next block of text."""

OUTPUT = Param("out", "output", Counted("len"), Direction.OUT, may_be="in")
"""The output text, `len` bytes."""

IV = Param("iv", "iv", Counted("iv_len"))
"""The initialization vector, `iv_len` bytes."""

IV_LENGTH = Param("iv_len", "iv_length", LENGTH, secret=False)
"""Bytes of the IV, from 1."""

AAD = Param("aad", "aad", Counted("aad_len"))
"""Authenticated and unencrypted data, `aad_len` bytes."""

AAD_LENGTH = Param("aad_len", "aad_length", LENGTH, secret=False)
"""Bytes of AAD."""

ASSOCIATED = (CONTEXT, IV, IV_LENGTH, AAD, AAD_LENGTH, INPUT, INPUT_LENGTH, OUTPUT)
"""Parameters of a function that takes a whole message."""

NEW_TAG = Param("tag", "tag", ONE_BLOCK, Direction.OUT)
"""The tag, 16 bytes."""

TAG = Param("tag", "tag", Counted("tag_len"))
"""The received tag, `tag_len` bytes."""

TAG_LENGTH = Param("tag_len", "tag_length", LENGTH, secret=False, allowed=STANDARD_TAGS)
"""Bytes of the received tag: 4, 8 or 12 to 16."""


def with_tags(kernel: GcmKernel, *params: Param) -> Mapping[str, Any]:
    """Return the parameters of a function whose last is TAG_LENGTH, as a kernel allows it."""
    return {"params": (*params[:-1], replace(TAG_LENGTH, allowed=kernel.tag_sizes))}


STATUS = Result("status")
"""The return value: one of the numbers below."""

DONE, DIFFERS, REFUSED, MISPLACED = range(4)
"""Return values. DONE: success; a given tag is right. DIFFERS: the tag differs, and `out` is zero.
REFUSED: the standard does not allow a length, and nothing was written. MISPLACED: the state does
not permit this call, and nothing was written.
"""

STREAM = Param("state", "stream", Fixed(STATE_BYTES, STATE_PARTS), Direction.INOUT)
"""The state of a message in pieces; see `parts.stream`."""

NEW_STREAM = replace(STREAM, direction=Direction.OUT)
"""The same state, for a new message."""

MORE = (CONTEXT, STREAM, INPUT, OUTPUT, INPUT_LENGTH)
"""Parameters of a function that takes a piece of text."""

TEXT = (CONTEXT, COUNTER, STATE, INPUT, OUTPUT, INPUT_LENGTH)
"""Parameters of a function that encrypts or decrypts."""

COUNT = Param("count", "count", LENGTH, secret=False)
"""The number of messages."""

MESSAGES = Param(
    "messages", "messages", Counted("count", RECORD_BYTES, RECORD_TYPE), Direction.INOUT
)
"""Their records, `count` of them."""

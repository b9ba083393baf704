"""NAME_verify(ctx, state, tag, tag_len): compares a message's tag with a given one; erases the
state.

Time depends on whether the tags match, not on which bits differ.
"""

from ghashgen.ir.builder import Builder
from ghashgen.kernels.core import Function
from ghashgen.kernels.gcm.kernel import GcmKernel
from ghashgen.kernels.gcm.parts.params import (
    CONTEXT,
    DIFFERS,
    DONE,
    MISPLACED,
    REFUSED,
    STATUS,
    STREAM,
    TAG,
    TAG_LENGTH,
    with_tags,
)
from ghashgen.kernels.gcm.parts.stream import Stream
from ghashgen.kernels.gcm.parts.tag import check_tag_length, difference


def build(b: Builder, kernel: GcmKernel) -> None:
    """Record the function of this kernel."""
    context, state, tag, tag_length = b.params
    stream = Stream(b, kernel, context, state)
    check_tag_length(b, kernel, tag_length, "refused")
    found = difference(b, kernel, stream.tag("misplaced"), tag, tag_length)
    stream.erase()
    b.branch("equal", found, 0, "right")
    b.give(DIFFERS)
    b.label("right")
    b.give(DONE)
    b.label("refused")
    b.give(REFUSED)
    b.label("misplaced")
    b.give(MISPLACED)


FUNCTION = Function(
    name="verify",
    order=110,
    params=(CONTEXT, STREAM, TAG, TAG_LENGTH),
    purpose=lambda kernel: (
        "compare the tag, zero the state; return 0, or 1 if it does not match; or, with the state "
        "kept, 2 if tag_len is invalid, 3 if no message has begun"
    ),
    build=build,
    statement="verify",
    variant=lambda kernel: with_tags(kernel, CONTEXT, STREAM, TAG, TAG_LENGTH),
    exported=lambda kernel: kernel.streams,
    returns=STATUS,
)

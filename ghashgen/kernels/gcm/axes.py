"""The axes of AES-GCM kernels: those of AES, those of their GHASH part, and AES-GCM's own."""

from dataclasses import replace

from ghashgen.kernels.aes import axes as aes_axes
from ghashgen.kernels.axes import Axis
from ghashgen.kernels.hash import axes as hash_axes

KEY, ISA, ROUND_KEYS, WIPE = aes_axes.KEY, aes_axes.ISA, aes_axes.ROUND_KEYS, aes_axes.WIPE
MULTIPLY, REDUCE = hash_axes.MULTIPLY, hash_axes.REDUCE
BLOCKS = replace(hash_axes.BLOCKS, left_open=aes_axes.group_size)
ORDER, SCHEDULE = hash_axes.ORDER, hash_axes.SCHEDULE

STITCH = Axis(
    "stitch",
    "Interleave AES and GHASH in the group loop.",
    lambda: (True, False),
    True,
    mark=lambda value: "apart",
)
"""Otherwise a group does its AES, then its GHASH. This is what stitching is compared with
(papers/intel-2010).
"""

MESSAGES = Axis(
    "messages",
    "Export seal and open: a whole message in one call.",
    lambda: (False, True),
    True,
    mark=lambda whole: "" if whole else "text",
)
"""Without it, a kernel handles only the text, for hosts that make tags themselves."""

STREAMS = Axis(
    "streams",
    "Also export start, aad, encrypt_more, decrypt_more, finish and verify: messages in pieces.",
    lambda: (False, True),
    False,
)

SHORT = Axis("short", "Add a path without loops for short messages.", lambda: (False, True), False)

ON_FAILURE = Axis(
    "on_failure",
    "What out holds after a wrong tag: zero, or what it held before (untouched); open is then "
    "slower.",
    lambda: ("zero", "untouched"),
    "zero",
    always_told=False,
)
"""An untouched output is not written before the tag is verified, so the text is read twice."""

TAGS = Axis(
    "tags",
    "Tags that open and verify accept: 4, 8 or 12 to 16 bytes (standard), or 1 to 16 (any).",
    lambda: ("standard", "any"),
    "standard",
    mark="{}tag".format,
    always_told=False,
)

MANY = Axis(
    "many",
    "Also export seal_many and open_many: many messages in one call, each after the other; or four "
    "side by side if they are alike and short; or in all groups, which are not proved yet.",
    lambda: ("none", "each", "alike", "groups"),
    "none",
    mark=lambda way: "many" if way == "each" else way,
    always_told=False,
)

COMPACT = Axis(
    "compact", "Make small code that takes keys of every size.", lambda: (False, True), False
)

SEGMENTS = hash_axes.SEGMENTS
"""Also export hash, power and combine. Threads process segments of a text by encrypt and decrypt,
each from its own counter block and state 0; these three functions make the whole message's tag.
"""

AXES = (
    *(KEY, ISA, MULTIPLY, REDUCE, BLOCKS, ORDER, ROUND_KEYS, STITCH),
    *(MESSAGES, SHORT, COMPACT, STREAMS, SEGMENTS, MANY, ON_FAILURE, TAGS),
    *(SCHEDULE, WIPE),
)
"""All axes, in the order in which they are named, asked for and refused."""

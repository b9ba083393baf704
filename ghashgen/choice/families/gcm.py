"""Choosing an AES-GCM kernel: by key size, for messages of each length, whole or in pieces."""

from ghashgen.choice.classes import CLASSES, SizeClass, sizes_of
from ghashgen.choice.questions import Question, Use
from ghashgen.kernels.gcm.family import FAMILY
from ghashgen.kernels.gcm.kernel import ROUNDS
from ghashgen.kernels.gcm.parts.lengths import MOST_TEXT
from ghashgen.records.core import (
    IMIX,
    IMIX_BURSTS,
    IMIX_BYTES,
    PIECES,
    PIECES_BYTES,
    SEAL_BURSTS,
    SEAL_MODES,
    TEXT,
)

_SEAL, _OPEN, *_CHAINED = SEAL_MODES
_WHOLE = ((_SEAL, _OPEN), (_SEAL,))
"""Sealing and opening count equally; if opening was not measured, sealing alone."""

_SEALING = frozenset({"seal", "open"})

MIXED = Use(
    "mixed",
    "messages of any length, under one kernel",
    _WHOLE,
    (SizeClass(None, (16, 64, 256, 1024, 1500, 4096, 16384)),),
    _SEALING,
)
"""For a key whose message lengths are unknown."""

SHORT = Use(
    "short",
    "messages to 256 bytes",
    _WHOLE,
    (SizeClass(None, sizes_of(CLASSES[:3])),),
    _SEALING,
    up_to=256,
)

PACKETS = Use(
    "packets",
    "packets: 64, 594 and 1518 bytes at 7 : 4 : 1",
    ((IMIX,),),
    (SizeClass(None, (IMIX_BYTES,)),),
    _SEALING,
    beside="bursts",
)

BURSTS = Use(
    "bursts",
    "bursts of 32 messages of one length, each by one call",
    (SEAL_BURSTS, SEAL_BURSTS[:1]),
    (SizeClass(None, (16, 64, 128, 256, 512, 1500)),),
    _SEALING,
    prefers=frozenset({"seal_many", "open_many"}),
    also=IMIX_BURSTS,
    shown_at=64,
)
"""A use of its own, since a key has one kernel and the one for single packets may lack these
functions. Bursts of mixed lengths do not decide: only messages alike are processed side by side.
"""

RECORDS = Use(
    "records",
    "records of TLS: from a packet's 1500 bytes to the longest, 16 KiB",
    _WHOLE,
    (SizeClass(None, sizes_of(CLASSES[4:])),),
    _SEALING,
    up_to=16384,
    loses=1.08,
)
"""The bound is for programs whose records are all of one length, as the longest often are."""

BULK = Use(
    "bulk", "long messages: 64 KiB and more", _WHOLE, (SizeClass(None, (65536, 1 << 20)),), _SEALING
)

IN_PIECES = Use(
    "pieces",
    "messages in pieces, which come and go before the tag is known",
    (PIECES,),
    (SizeClass(None, (PIECES_BYTES,)),),
    frozenset({"start", "aad", "encrypt_more", "decrypt_more", "finish", "verify"}),
)

PARTS = Use(
    "parts",
    "parts of messages, which the caller begins and ends: encrypt and decrypt",
    ((TEXT,),),
    (SizeClass(None, (64, 256, 1024, 1500, 4096, 16384)),),
    frozenset({"encrypt", "decrypt"}),
)

ONCE = Use(
    "once",
    "one message a key",
    (tuple(_CHAINED), tuple(_CHAINED[:1]), (_SEAL,)),
    CLASSES,
    _SEALING,
    messages=1,
)
"""A message whose context is made for it must wait for the context: chained calls."""

DISPATCHED = (MIXED, PACKETS, RECORDS, BULK, IN_PIECES, PARTS, SHORT, BURSTS)

QUESTION = Question(
    family=FAMILY.name,
    given="key",
    values=tuple(ROUNDS),
    asked=tuple(ROUNDS),
    uses=(*DISPATCHED, ONCE),
    dispatched=DISPATCHED,
    by_length=(SHORT, RECORDS, BULK),
    longest=MOST_TEXT,
    limit="a text of AES-GCM ends at 2^36 - 32 bytes (SP 800-38D)",
    ways={
        "seal": "messages sealed back to back",
        "open": "messages opened back to back",
        "seal-latency": "messages sealed that wait for each other",
        "open-latency": "messages opened that wait for each other",
        IMIX: "sealing 7 messages of 64 bytes, 4 of 594 and one of 1518",
        TEXT: "parts of messages back to back",
        "seal-burst": "a message of a burst of 32 that is sealed by one call",
        "open-burst": "a message of a burst of 32 that is opened by one call",
        "seal-burst-imix": "a burst of 32 packets as IMIX, sealed by one call",
        "open-burst-imix": "a burst of 32 packets as IMIX, opened by one call",
        "pieces-16": "a message of 64 KiB sealed in pieces of 16 bytes",
        "pieces-1k": "a message of 64 KiB sealed in pieces of 1 KiB",
        "pieces-16k": "a message of 64 KiB sealed in pieces of 16 KiB",
        "open-pieces-1k": "a message of 64 KiB opened in pieces of 1 KiB",
    },
    least="AES-NI, PCLMULQDQ and SSE4.1",
    instead="take a portable AES-GCM there",
)

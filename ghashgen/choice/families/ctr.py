"""Choosing an AES-CTR kernel: by key size, for texts of each length."""

from ghashgen.choice.classes import CLASSES, SizeClass, sizes_of
from ghashgen.choice.questions import Question, Use
from ghashgen.kernels.aes.cipher import ROUNDS
from ghashgen.kernels.ctr.family import FAMILY
from ghashgen.records.core import CRYPT

_MODES = ((CRYPT,),)

MIXED = Use(
    "mixed",
    "texts of any length, under one kernel",
    _MODES,
    (SizeClass(None, (16, 64, 256, 1024, 1500, 4096, 16384)),),
)
"""For a key whose text lengths are unknown."""

SHORT = Use(
    "short", "texts to 256 bytes", _MODES, (SizeClass(None, sizes_of(CLASSES[:3])),), up_to=256
)

LONG = Use(
    "long", "texts of more than 256 bytes", _MODES, (SizeClass(None, (1024, 4096, 16384, 65536)),)
)

ONCE = Use("once", "one text a key", _MODES, CLASSES, messages=1)

DISPATCHED = (MIXED, SHORT, LONG)

QUESTION = Question(
    family=FAMILY.name,
    given="key",
    values=tuple(ROUNDS),
    asked=tuple(ROUNDS),
    uses=(*DISPATCHED, ONCE),
    dispatched=DISPATCHED,
    by_length=(SHORT, LONG),
    longest=1 << 36,
    limit="after 2^36 bytes the counter of 32 bits comes round, and the keystream repeats",
    ways={CRYPT: "texts back to back, each from a counter block of its own"},
    convention="groups of eight of them",
    grows=False,
    least="AES-NI and SSE4.1",
    instead="take a portable AES there",
)

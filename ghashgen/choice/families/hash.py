"""Choosing a GHASH or POLYVAL kernel: by length, for keys of many messages or one, for segments."""

from collections.abc import Mapping
from typing import Any

from ghashgen.choice.classes import ANY_LENGTH, CLASSES
from ghashgen.choice.questions import Question, Use
from ghashgen.kernels.hash.definition import OPS
from ghashgen.kernels.hash.family import FAMILY
from ghashgen.records.core import GCM

LASTING = Use(
    "lasting",
    "messages under a lasting key",
    ((GCM, "throughput", "latency"), ("throughput",)),
    CLASSES,
    fills=True,
)
"""Calls as AES-GCM makes them, back to back and chained count equally; else back to back alone."""

ONCE = Use(
    "once", "one message a key", (("latency",), ("throughput",)), CLASSES, messages=1
)  # fmt: skip
"""A message whose table is made for it must wait for the table: chained calls."""

SEGMENTS = Use(
    "segments",
    "segments of a message, put together by powers of H",
    (("init",),),
    (ANY_LENGTH,),
    exports=frozenset({"power", "combine"}),
)
"""Key set-up decides: a table is used once for each segment."""

USES = (LASTING, ONCE, SEGMENTS)
"""Every use."""


def _measured_as(name: str, axes: Mapping[str, Any]) -> str:
    """Return the GHASH kernel with these axes, because POLYVAL is not measured."""
    return f"ghash_{name.removeprefix('polyval_')}" if axes["op"] == "polyval" else name


QUESTION = Question(
    family=FAMILY.name,
    given="op",
    values=OPS,
    asked=OPS[:1],
    uses=USES,
    dispatched=USES,
    by_length=(LASTING,),
    least="PCLMULQDQ and SSE2",
    instead="take a portable GHASH there",
    longest=(1 << 61) - 1,
    limit="GHASH and POLYVAL hash the bits of a text as a number of 64 bits",
    ways={
        GCM: "a GCM message (12 bytes of AAD, the message, the lengths)",
        "throughput": "messages back to back",
        "latency": "messages that wait for each other",
        "init": "key set-up, from call to result",
    },
    measured_as=_measured_as,
    differs="which swaps bytes besides",
)

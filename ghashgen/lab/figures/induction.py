"""A certificate of one assertion: from the entry to the loop's head S(t), once around, and out."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from ghashgen.algebra.field.bitorder import BLOCK_BYTES
from ghashgen.check.verdicts import Verdict
from ghashgen.kernels.manifest import Entry
from ghashgen.lab.figures.svg import LARGE, SMALL, WIDTH, arrow, box, document, path, text
from ghashgen.support.errors import GhashgenError

KERNEL, OPERATION = "ghash_avx_winograd_clmul1_x8", "update"
"""The kernel and function whose proof is drawn, as in PROOFS.json."""


@dataclass(frozen=True)
class Ranges:
    """Which lengths are proved, and the bytes of a turn."""

    shown: int
    """The greatest length."""
    step: int


def ranges(entry: Entry, verdict: Verdict) -> Ranges:
    """Return the lengths of a kernel's theorem about its result.

    Raises:
        GhashgenError: it is not proved from 0 bytes on.
    """
    spans = [
        (int(found[1]), int(found[2]))
        for function in verdict.functions
        if function.operation == OPERATION
        for theorem in function.theorems
        if theorem.what == "function"
        and (found := re.fullmatch(r"(\d+)\.\.(\d+)", theorem.lengths))
    ]
    if min(spans, default=(1, 0))[0] != 0:
        raise GhashgenError(f"{verdict.kernel} is not proved from 0 bytes on", "draw another")
    return Ranges(max(spans)[1], int(entry.axes["blocks"]) * BLOCK_BYTES)


def draw(entry: Entry, verdict: Verdict) -> str:
    """Return the figure of a kernel's proof."""
    found = ranges(entry, verdict)
    return document(
        f"A certificate says what holds at the head of the loop after t turns of {found.step} "
        "bytes, S(t). The rules run from the entry to S(0), from S(t) to S(t + 1), and from the "
        "entry and S(t) to the return, with t and the length unknown.",
        412,
        _parts(entry.name, found),
    )


def _power(number: int) -> str:
    return f"2^{(number + 1).bit_length() - 1} − 1" if (number + 1) & number == 0 else str(number)


def _parts(name: str, found: Ranges) -> Iterator[str]:
    step, left, right, middle = found.step, 14, 190, 330
    yield text(
        14, 26, "Every length: one assertion at the head of a loop", size=LARGE, style="bold"
    )
    yield text(14, 46, f"{OPERATION} of {name}; a turn takes {step} bytes", "muted", size=SMALL)
    yield box(left, 62, WIDTH - left - 14, 42, f"entry: 0 to {_power(found.shown)} bytes",
              "pale-blue")  # fmt: skip
    yield arrow([(middle, 104), (middle, 156)])
    yield text(middle + 10, 134, "enough for a turn: S(0)", "muted", size=SMALL)
    yield box(right, 156, 280, 38, f"head of the loop: S(t), {step}·t bytes hashed", "pale-green")
    yield arrow([(right + 280, 182), (496, 182), (496, 166), (right + 280, 166)])
    yield text(right + 140, 216, "one turn: S(t + 1); what is left falls", "muted", "middle", SMALL)
    yield arrow([(middle, 226), (middle, 300)])
    yield text(middle + 10, 266, "too little for a turn", "muted", size=SMALL)
    yield box(left, 300, WIDTH - left - 14, 42, "return: X after every byte", "pale-grey")
    yield path([(left + 75, 104), (left + 75, 290)], "muted")
    yield arrow([(left + 75, 280), (left + 75, 300)])
    yield text(left + 85, 266, "too short", "muted", size=SMALL)
    yield text(left, 374, "The rules run each arrow with t and the length unknown.", size=SMALL)
    yield text(left, 392, "S(t) names every register, flag and byte, or says nothing of it.",
               size=SMALL)  # fmt: skip

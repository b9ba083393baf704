"""The cut of an induction: from the entry to the loop's head S(u), once around, to S(u - d)."""

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
    """Which lengths are proved how, and the bytes of a turn."""

    executed: int
    """The greatest executed length, from 0 on."""
    shown: int
    """The greatest length shown by induction, from the next one on."""
    step: int


def ranges(entry: Entry, verdict: Verdict) -> Ranges:
    """Return the ranges of a kernel's theorem about its result.

    Raises:
        GhashgenError: it is not proved by execution and then by induction.
    """
    spans = {
        theorem.method: tuple(map(int, theorem.lengths.split("..")))
        for function in verdict.functions
        if function.operation == OPERATION
        for theorem in function.theorems
        if theorem.what == "function" and re.fullmatch(r"\d+\.\.\d+", theorem.lengths)
    }
    low, high = spans.get("execution", (0, 0)), spans.get("induction", (0, 0))
    if low[0] != 0 or high[0] != low[1] + 1:
        raise GhashgenError(
            f"{verdict.kernel} is not proved by execution and then by induction",
            "draw another kernel",
        )
    return Ranges(low[1], high[1], int(entry.axes["blocks"]) * BLOCK_BYTES)


def draw(entry: Entry, verdict: Verdict) -> str:
    """Return the figure of a kernel's proof."""
    found = ranges(entry, verdict)
    return document(
        f"Lengths to {found.executed} are executed. A longer one, u, reaches the head of the loop "
        f"in a state S(u); a turn leads to S(u - {found.step}), and so on down to a state from "
        "which an executed length was proved.",
        452,
        _parts(entry.name, found),
    )


def _power(number: int) -> str:
    return f"2^{(number + 1).bit_length() - 1} − 1" if (number + 1) & number == 0 else str(number)


def _parts(name: str, found: Ranges) -> Iterator[str]:
    step, first = found.step, found.executed + 1
    left, right, middle = 14, 190, 330
    yield text(
        14, 26, "Every length: some executed, the rest by induction", size=LARGE, style="bold"
    )
    yield text(14, 46, f"{OPERATION} of {name}; a turn takes d = {step} bytes", "muted", size=SMALL)
    yield box(left, 62, 150, 42, f"0 to {found.executed} bytes", "pale-blue")
    yield box(right, 62, WIDTH - right - 14, 42, f"u bytes, {first} to {_power(found.shown)}",
              "pale-green")  # fmt: skip
    yield text(left + 75, 122, "executed one by one", "muted", "middle", SMALL)
    yield arrow([(middle, 104), (middle, 156)])
    yield text(middle + 10, 126, "from the entry; the range", "muted", size=SMALL)
    yield text(middle + 10, 143, "decides every branch", "muted", size=SMALL)
    yield box(right, 156, 280, 38, "head of the loop: state S(u)", "pale-grey")
    yield arrow([(middle, 194), (middle, 246)])
    yield text(middle + 10, 224, "one turn of the loop", "muted", size=SMALL)
    yield box(right, 246, 280, 38, f"head again: exactly S(u − {step})", "pale-grey")
    yield arrow([(right + 280, 265), (496, 265), (496, 175), (right + 280, 175)])
    yield text(
        right + 140, 303, "every register, flag, byte and accumulator", "muted", "middle", SMALL
    )
    yield arrow([(middle, 310), (middle, 352)])
    yield text(middle + 10, 336, "below the range", "muted", size=SMALL)
    yield box(right, 352, 280, 38, f"S(r), r = {first - step} to {found.executed}", "pale-blue")
    yield path([(left + 75, 130), (left + 75, 371)], "muted")
    yield arrow([(left + 75, 371), (right, 371)])
    yield text(left, 414, "An execution met each of these states and was proved from there.",
               size=SMALL)  # fmt: skip
    yield text(left, 432, "So every longer length descends to a proved one.", size=SMALL)

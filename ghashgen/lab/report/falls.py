"""Describes where a line of the plot falls: a longer call takes less time than a shorter one.

If the line stays low after the fall, the code is meant for such lengths. If it rises again, it was
slowed at the lengths around. This happens to legacy SSE code after a call that left the upper
halves of vector registers in use, as some peers with wide registers do; docs/report.md says how
this was seen.
"""

import itertools
from collections.abc import Iterable, Sequence

from ghashgen.lab.report.choice import Line
from ghashgen.lab.report.data import Timing
from ghashgen.records.core import size_name
from ghashgen.records.levels import LEVELS

_SSE = LEVELS.index("SSE")

_MUCH = 0.75
"""A call falls, and a line has risen again, by this fraction."""


def falls(found: Iterable[Line]) -> list[str]:
    """Return a sentence for each fall of these lines."""
    return [sentence for line in found for sentence in _of(line.label, line.timings)]


def _of(label: str, timings: Sequence[Timing]) -> Iterable[str]:
    for at, (before, low) in enumerate(itertools.pairwise(timings)):
        if _cycles(low) >= _MUCH * _cycles(before):
            continue
        said = f"{label}: {_said(low)}, but {_said(before)}"
        behind = timings[at + 2] if at + 2 < len(timings) else None
        if behind is None or behind.per_byte <= _MUCH * before.per_byte:
            yield f"{said}. It stays low, as with code made for {size_name(low.size)} and more."
            continue
        said += f" and {_said(behind)}. It rises again: the lengths around are the slowed ones"
        if low.level == _SSE:
            yield (
                f"{said}, as SSE code is when the call before it left the upper halves of vector "
                "registers in use."
            )
        else:
            yield f"{said}, and the record does not say by what."


def _cycles(timing: Timing) -> float:
    return timing.per_byte * timing.size


def _said(timing: Timing) -> str:
    return f"{_cycles(timing):.1f} cycles for {size_name(timing.size)}"

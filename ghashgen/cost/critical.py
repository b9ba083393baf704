"""The critical path: cycles that dependences alone take, whatever ports, front end and order allow.

A loop has two figures. `through` is the longest chain from the start of a turn to its end.
`carried` is the least distance between turns, because each reads what the one before made, mainly
the state. No turn takes less than `carried`. If `through` is longer than a turn takes, a core must
have several turns in flight, as far as its window allows. Latencies count from register to register
and from address to register; values stored and loaded again are not followed.
"""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

from ghashgen.cost.simulate import Work

TURNS = 24
"""Turns to run; the second half is counted, when the longest cycle of dependences dominates."""


@dataclass(frozen=True)
class CriticalPath:
    """Cycles of a loop by its dependences alone."""

    carried: float
    """From one turn to the next."""
    through: int
    """From the start of a turn to its end."""


def critical_path(work: Sequence[Work]) -> CriticalPath:
    """Return the critical path of a loop body."""
    ready: dict[Hashable, int] = {}
    ends = []
    for _ in range(TURNS):
        for item in work:
            operands = max((ready.get(reg, 0) for reg in item.reads), default=0)
            address = max((ready.get(reg, 0) for reg in item.address), default=0)
            done = max(operands, address + item.load_ahead) + item.latency
            for reg in item.writes:
                ready[reg] = done
        ends.append(max(ready.values(), default=0))
    half = TURNS // 2
    return CriticalPath((ends[-1] - ends[half - 1]) / (TURNS - half), ends[0])

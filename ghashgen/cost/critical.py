"""The critical path: cycles that dependences alone take, whatever ports, front end and order allow.

Of a loop two figures. `through` is the longest chain from the start of a turn to its end. `carried`
is by how much a turn comes after the one before at least, since it reads what that made: the state,
above all. No turn takes less than `carried`; where `through` is longer than a turn takes, a core
must have more than one in flight, as far as its window reaches. Latencies count from register to
register and from address to register; what is stored and loaded again is not seen.
"""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

from ghashgen.cost.simulate import Work

TURNS = 24
"""Turns to run; the second half is counted, when the longest cycle of dependences leads."""


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

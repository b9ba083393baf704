"""The list scheduler: in each cycle, the most urgent operation that its ports and operands allow.

Urgency is the longest path to the end of the region; among equals, the written order. Three limits
keep the order close to what registers allow:

- `reach`: only this many operations ahead, as written, are considered;
- `registers`: once this many vector values live, nothing starts that increases their number, unless
  nothing else could ever start;
- a vector that one turn of a loop hands to the next may be assumed to arrive as late as the
  reduction of an overlapping turn delivers it, so that independent operations go first.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from ghashgen.arch.uarch import Uarch
from ghashgen.compiler.schedule.graph import Graph
from ghashgen.cost.simulate import Calendar, Work, least, open_uops
from ghashgen.ir.program import RegClass, VReg


@dataclass(frozen=True)
class Limits:
    """The limits of an order."""

    registers: int
    reach: int


@dataclass(frozen=True)
class Ordered:
    """An order of a region as written positions, and the cycle in which each operation starts."""

    order: tuple[int, ...]
    start: tuple[int, ...]
    """By written position."""


def heights(graph: Graph, work: Sequence[Work]) -> list[int]:
    """Return for each operation the cycles from its start to the end of the region."""
    out = [item.latency for item in work]
    for i in reversed(range(len(out))):
        for j in graph.feeds[i]:
            out[j] = max(out[j], work[j].latency + out[i])
    return out


class Pressure:
    """The number of live vector registers while operations are placed in sequence."""

    def __init__(self, graph: Graph) -> None:
        self._values = [
            value
            for value in graph.values
            if isinstance(value.reg, VReg) and value.reg.cls is RegClass.VEC
        ]
        self._left = [len(value.readers) for value in self._values]
        self._read: list[list[int]] = [[] for _ in graph.ops]
        self._made: list[list[int]] = [[] for _ in graph.ops]
        self.live = 0
        for k, value in enumerate(self._values):
            for i in value.readers:
                self._read[i].append(k)
            if value.maker >= 0:
                self._made[value.maker].append(k)
            elif value.readers or value.lives_on:
                self.live += 1

    def change(self, i: int) -> int:
        """Return by how much an operation changes the number of live registers."""
        dies = sum(1 for k in self._read[i] if self._left[k] == 1 and not self._lives_on(k))
        born = sum(1 for k in self._made[i] if self._left[k] or self._lives_on(k))
        return born - dies

    def place(self, i: int) -> None:
        """Place an operation."""
        self.live += self.change(i)
        for k in self._read[i]:
            self._left[k] -= 1

    def _lives_on(self, k: int) -> bool:
        return self._values[k].lives_on


def list_order(
    graph: Graph, work: Sequence[Work], uarch: Uarch, limits: Limits, overlap: bool
) -> Ordered:
    """Return the list scheduler's order of a region; `work` has one item for each operation.

    `overlap` is for a loop's body, whose turns overlap.
    """
    out = _once(graph, work, uarch, limits, {})
    if not overlap:
        return out
    turn = least(work, uarch)
    # Pointers and lengths come round at once; the result of a reduction does not.
    vectors = [v for v in graph.values if isinstance(v.reg, VReg) and v.reg.cls is RegClass.VEC]
    makers = {v.reg: v.maker for v in vectors if v.lives_on and v.maker >= 0}
    first = {v.reg: v.readers for v in vectors if v.maker < 0 and v.reg in makers}
    # What the previous turn finishes at f is there at f - turn, once turns overlap.
    ends = {reg: out.start[i] + work[i].latency for reg, i in makers.items()}
    releases = {
        reader: max(int(ends[reg] - turn), 0)
        for reg, readers in first.items()
        for reader in readers
    }
    return _once(graph, work, uarch, limits, releases) if releases else out


def _once(
    graph: Graph, work: Sequence[Work], uarch: Uarch, limits: Limits, releases: dict[int, int]
) -> Ordered:
    height = heights(graph, work)
    uops = open_uops(work, uarch)
    calendar, pressure = Calendar(uarch.ports), Pressure(graph)
    missing = [len(found) for found in graph.before]
    after: list[list[int]] = [[] for _ in work]
    for i, found in enumerate(graph.before):
        for j in found:
            after[j].append(i)
    earliest = [releases.get(i, 0) for i in range(len(work))]
    start = [0] * len(work)
    left = list(range(len(work)))
    order: list[int] = []
    cycle = issued = 0
    while left:
        free = [i for i in left[: limits.reach] if not missing[i]]
        tight = pressure.live >= limits.registers
        allowed = [i for i in free if pressure.change(i) <= 0] if tight else free
        if not allowed:
            # The written order always fits, and the first operation leads towards it.
            allowed = free[:1]
        ready = sorted((i for i in allowed if earliest[i] <= cycle), key=lambda i: (-height[i], i))
        chosen = None
        for i in ready:
            if issued and issued + work[i].fused > uarch.issue:
                continue
            slots = calendar.slots(uops[i], cycle)
            if all(when < cycle + _count(uops[i]) for _, when in slots):
                calendar.take(slots)
                chosen = i
                break
        if chosen is None:
            cycle, issued = cycle + 1, 0
            continue
        pressure.place(chosen)
        issued += work[chosen].fused
        start[chosen] = cycle
        order.append(chosen)
        left.remove(chosen)
        for i in after[chosen]:
            missing[i] -= 1
            wait = work[chosen].latency if chosen in graph.feeds[i] else 0
            earliest[i] = max(earliest[i], cycle + wait)
    return Ordered(tuple(order), tuple(start))


def _count(uops: Sequence[object]) -> int:
    return max((getattr(item, "count", 1) for item in uops), default=1)

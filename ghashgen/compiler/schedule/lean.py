"""lean: an order of one stream that needs few vector registers, found from its end.

Backwards, a register begins to live where it is read last and ends where it is made. Of the
operations that nothing placed so far must precede, that one is placed next, before them, which
changes the number of live registers for the better; among equals the one that was written last. So
what makes an operand comes directly before what reads it, and one sum is finished before the next
is begun, while what reads one register side by side, as the rounds of several blocks read one round
key, stays side by side.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

from ghashgen.compiler.schedule.graph import Graph, Value
from ghashgen.ir.program import RegClass, VReg


@dataclass
class _Lives:
    """The vector registers that live where a stream's order, found backwards, has come to."""

    read: dict[int, list[int]] = field(default_factory=dict)
    """Positions of values by the operation that reads them."""
    made: dict[int, list[int]] = field(default_factory=dict)
    live: set[int] = field(default_factory=set)

    def change(self, i: int) -> int:
        """Return how many more live before an operation than after it."""
        born = sum(k not in self.live for k in self.read.get(i, ()))
        return born - sum(k in self.live for k in self.made.get(i, ()))

    def place(self, i: int) -> None:
        """Go back over an operation."""
        self.live.difference_update(self.made.get(i, ()))
        self.live.update(self.read.get(i, ()))


def _lives(values: Sequence[Value], members: frozenset[int]) -> _Lives:
    out = _Lives()
    for k, value in enumerate(values):
        if not (isinstance(value.reg, VReg) and value.reg.cls is RegClass.VEC):
            continue
        out.made.setdefault(value.maker, []).append(k)
        for i in value.readers:
            out.read.setdefault(i, []).append(k)
        # What others read too may live anywhere: it is no stream's own.
        if value.lives_on or not members.issuperset(value.readers):
            out.live.add(k)
    return out


def lean(ties: Graph, stream: Sequence[int]) -> tuple[int, ...]:
    """Return the operations of a stream, positions of a region, in an order that keeps its ties."""
    members = frozenset(stream)
    lives = _lives(ties.values, members)
    waiting = dict.fromkeys(stream, 0)
    for i in stream:
        for j in ties.before[i] & members:
            waiting[j] += 1
    free = {i for i, count in waiting.items() if not count}
    out: list[int] = []
    while free:
        i = min(free, key=lambda i: (lives.change(i), -i))
        free.remove(i)
        lives.place(i)
        out.append(i)
        for j in ties.before[i] & members:
            waiting[j] -= 1
            if not waiting[j]:
                free.add(j)
    return tuple(reversed(out))

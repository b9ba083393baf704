"""lean: orders one stream so that it needs few vector registers, working from its end.

Backwards, a register begins to live at its last read and ends where it is made. Among the
operations that need not precede any placed one, the one that reduces the number of live registers
most is placed next, in front; among equals, the one written last. So an operand is made directly
before its reader, and one sum is finished before the next begins. Operations that read one register
in parallel, such as the rounds of several blocks with one round key, stay together.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

from ghashgen.compiler.schedule.graph import Graph, Value
from ghashgen.ir.program import RegClass, VReg


@dataclass
class _Lives:
    """The live vector registers at the current point of a stream's order, built backwards."""

    read: dict[int, list[int]] = field(default_factory=dict)
    """Indices of the values that each operation reads."""
    made: dict[int, list[int]] = field(default_factory=dict)
    live: set[int] = field(default_factory=set)

    def change(self, i: int) -> int:
        """Return how many more registers live before an operation than after it."""
        born = sum(k not in self.live for k in self.read.get(i, ()))
        return born - sum(k in self.live for k in self.made.get(i, ()))

    def place(self, i: int) -> None:
        """Step back over an operation."""
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
        # Values with other readers do not belong to one stream and may live anywhere.
        if value.lives_on or not members.issuperset(value.readers):
            out.live.add(k)
    return out


def lean(ties: Graph, stream: Sequence[int]) -> tuple[int, ...]:
    """Return a stream's operations, as positions in a region, in an order that keeps its ties."""
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

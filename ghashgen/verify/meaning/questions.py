"""Questions: conditions on secrets, which a run answers or leaves to the run of another message.

Where a run leaves one, all runs mean one record: a register or a stack slot points as many bytes
behind it in each of them. A run that answers means the record that it follows, and one that leaves
the question means another record of its window. So the run that follows the one that all of them
mean does not leave it: it sees that everybody may know the answer, or refuses.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from ghashgen.verify.core.numbers import Number, combined
from ghashgen.verify.core.refutation import Category, Refutation
from ghashgen.verify.core.values import Pointer, Value
from ghashgen.verify.machine.memory import STACK, Memory
from ghashgen.verify.meaning.buffers import NUMBER_BYTES

Place = int | str
"""A register's number, or a slot of the stack."""


@dataclass
class Questions:
    """What has been asked in all runs of one check, by the address of the instruction."""

    left: set[int] = field(default_factory=set)
    """The questions that some run leaves to another."""
    about: dict[int, set[tuple[Place, int]]] = field(default_factory=dict)
    """Where all runs held a pointer as far behind a record that they may mean, and how far."""

    def ask(self, at: int, leaves: bool, about: set[tuple[Place, int]]) -> None:
        """Note a question, whether the run leaves it, and where the records that it may mean are.

        Raises:
            Refutation: a run leaves it, and there is no record that all runs may mean.
        """
        self.left |= {at} if leaves else set()
        self.about[at] = self.about.get(at, about) & about
        if at in self.left and not self.about[at]:
            reason = "a condition depends on a secret, and no run answers it"
            raise Refutation(Category.CONSTANT_TIME, reason, at=at)


def pointers_to(
    array: str, held: Iterable[tuple[Place, Value]], begin: Number
) -> set[tuple[Place, int]]:
    """Return which places hold pointers into an array, and how many bytes behind a number."""
    pointers = ((place, v) for place, v in held if isinstance(v, Pointer))
    found = ((place, combined(v.offset, begin, -1)) for place, v in pointers if v.region == array)
    return {(place, distance) for place, distance in found if isinstance(distance, int)}


def on_stack(memory: Memory) -> Iterator[tuple[Place, Value]]:
    """Yield the words that stand whole on the stack, where they do."""
    cells, floor = memory.written[STACK], memory.floor()
    for at, (value, part) in cells.items():
        parts = ((value, k) == cells.get(at + k) for k in range(NUMBER_BYTES))
        if part == 0 and at >= floor and all(parts):
            yield f"stack{at:+}", value

"""Questions about other messages: each is for the run that follows the message it is about.

If a run leaves a question, it names a place of the window. The run that follows the message there
stands at the same window, because a register shows where that begins. It asks the same question,
and may not leave it to yet another run: it sees that everybody may know the answer, or refuses.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field

from ghashgen.verify.core.numbers import Number, combined
from ghashgen.verify.core.refutation import Category, Refutation
from ghashgen.verify.core.values import Pointer, Value


@dataclass
class Questions:
    """What has been asked, by the address of the instruction."""

    left: dict[int, set[int]] = field(default_factory=dict)
    """To which places of the window it has been left."""
    leaving: dict[int, set[int]] = field(default_factory=dict)
    """At which places the messages may be whose runs have left it."""
    begins: dict[int, set[tuple[int, int]]] = field(default_factory=dict)
    """Registers that lay as far behind the window's begin in every run, and how far."""

    def ask(self, at: int, to: set[int], places: set[int], begins: set[tuple[int, int]]) -> None:
        """Note a question of a run that follows a message at one of some places.

        `to`: to which place it is left, if it is. `begins`: where this run's window begins.

        Raises:
            Refutation: it has been left to a run that may leave it, too.
        """
        left = self.left[at] = self.left.get(at, set()) | to
        leaving = self.leaving[at] = self.leaving.get(at, set()) | (places if to else set())
        same = self.begins[at] = self.begins.get(at, begins) & begins
        if left and (left & leaving or not same):
            raise Refutation(Category.CONSTANT_TIME, "a question that no run answers", at=at)


def pointers_to(array: str, registers: Iterable[Value], begin: Number) -> set[tuple[int, int]]:
    """Return which registers point into an array, and how many bytes behind a number."""
    pointers = ((k, v) for k, v in enumerate(registers) if isinstance(v, Pointer))
    found = ((k, combined(v.offset, begin, -1)) for k, v in pointers if v.region == array)
    return {(k, distance) for k, distance in found if isinstance(distance, int)}

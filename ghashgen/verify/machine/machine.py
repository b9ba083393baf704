"""The machine that runs a kernel: registers, flags, memory; one decoded instruction at a time.

Lengths and pointers are numbers, known or linear in unknowns; data are lanes. Which registers there
are is the target's to say.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final, TypeVar
from weakref import proxy

from ghashgen.verify.core.linear import Facts
from ghashgen.verify.core.refutation import unsupported
from ghashgen.verify.core.term import Lane, Term
from ghashgen.verify.core.terms import Terms
from ghashgen.verify.core.values import Value
from ghashgen.verify.machine.flags import ENTRY, Flags
from ghashgen.verify.machine.memory import Memory
from ghashgen.verify.machine.target import Target

END = -1
"""The next address after the return to the caller."""


V = TypeVar("V")


class Registers(list[V]):
    """A register file that checks the width of every value written to it.

    So no row has to be trusted for the width of its result: a value that is too wide is refused.
    """

    def __init__(self, values: Iterable[V], valid: Callable[[V], bool]) -> None:
        super().__init__(values)
        self._valid = valid
        self.writes = 0
        """How often one has been written."""
        # What a file of registers holds has been checked.
        for index, value in enumerate(() if isinstance(values, Registers) else values):
            self[index] = value

    def __setitem__(self, index: int, value: V) -> None:  # type: ignore[override]
        """Write one register.

        Raises:
            Refutation: the value may have more bits than the register.
        """
        if not self._valid(value):
            raise unsupported(f"a value that may not fit into its register: {value}")
        self.writes += 1
        super().__setitem__(index, value)


def _vector(count: int) -> Callable[[tuple[Lane, ...]], bool]:
    """Return what tells whether a value is that of a vector register of so many lanes."""

    def valid(lanes: tuple[Lane, ...]) -> bool:
        if len(lanes) != count:
            return False
        for lane in lanes:
            # A term has 128 bits or fewer.
            if type(lane) is not Term and (not isinstance(lane, int) or lane >> 128):
                return False
        return True

    return valid


class Machine:
    """The mutable state of one run. The register files check what is written to them."""

    def __init__(
        self,
        terms: Terms,
        memory: Memory,
        gpr: Iterable[Value],
        vec: Iterable[tuple[Lane, ...]],
        mask: Iterable[Value],
    ) -> None:
        self.terms = terms
        self.memory = memory
        # The memory knows its registers (`floor_of`): a cycle would keep all states.
        held = proxy(memory)

        def fits(value: Value) -> bool:
            return bool(held.facts.fits(value, 64))

        self.gpr: Final = Registers(gpr, fits)
        self.vec: Final = Registers(vec, _vector(self.target.lanes))
        self.mask: Final = Registers(mask, lambda v: isinstance(v, int | Term) and fits(v))
        self.flags: Flags = ENTRY
        self.upper_dirty = False
        """Whether parts of vector registers are in use that must be cleared before the return."""
        self.red_zone = 0
        """Bytes below the stack pointer that the ABI lets a leaf function use."""

    def held(self) -> Iterator[tuple[str, Value]]:
        """Yield what registers hold, each by its name."""
        yield from zip(self.target.general, self.gpr, strict=True)
        yield from zip(self.target.masks, self.mask, strict=True)
        for name, lanes in zip(self.target.vectors, self.vec, strict=True):
            yield from ((name, lane) for lane in lanes)

    def exchange(self, new: Callable[[Value, int], Any], lanes_too: bool = True) -> None:
        """Put `new(value, bits)` in the place of what registers and written bytes hold.

        `lanes_too`: without it `new` changes numbers and addresses only, which no lane is.
        """
        for file in (self.gpr, self.mask):
            for k, value in enumerate(file):
                if (found := new(value, 64)) is not value:
                    file[k] = found
        for k, lanes in enumerate(self.vec if lanes_too else ()):
            if (wide := tuple(new(lane, 128) for lane in lanes)) != lanes:
                self.vec[k] = wide
        for cells in self.memory.written.values():
            held = {id(value): value for value, _ in cells.values()}
            news = {i: now for i, value in held.items() if (now := new(value, 128)) is not value}
            for key, (value, k) in cells.items() if news else ():
                if id(value) in news:
                    cells[key] = news[id(value)], k

    @property
    def target(self) -> Target:
        """The architecture."""
        return self.memory.image.target

    @property
    def at(self) -> int:
        """The address of the current instruction."""
        return self.terms.at

    @property
    def facts(self) -> Facts:
        """What is known of the unknowns in its numbers."""
        return self.memory.facts


def entry_machine(terms: Terms, memory: Memory) -> Machine:
    """Return a machine whose registers hold what the caller left in them."""
    target = memory.image.target
    return Machine(
        terms,
        memory,
        [terms.caller(name, 64) for name in target.general],
        [tuple(terms.caller(f"{v}[{j}]") for j in range(target.lanes)) for v in target.vectors],
        [terms.caller(name, 64) for name in target.masks],
    )


Step = Callable[[Machine], int | None]
"""Execute one instruction; return the next address if it is not the following one, -1 to end."""

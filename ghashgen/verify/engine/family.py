"""What a family of kernels provides to the prover: statements, and their functions' meanings.

    Statement   what an object claims: its functions, their convention; pure data
    Meaning     of one function: its parameters, its correct results, which values get names, what
                a cut keeps, and the plan of its proof

A family is a folder with one or more classes of each. Nothing here or below knows a family. The
prover gets a statement, asks it for the meaning of each function, and asks that for the rest.

The prover relies on these promises of a meaning:

- a lane that replaces another (`written`, `settle`, `carried`) is equal to it, or is a fresh
  variable that stands for any value that the other may have;
- what `carried` returns means the same however the run arrived: it is a function of fresh
  variables, and of buffers from their new beginnings on;
- a cell of a read-only buffer depends only on its place, if all of it lies in the buffer.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

from ghashgen.verify.core.term import Lane, Term
from ghashgen.verify.core.terms import Terms
from ghashgen.verify.core.values import Number, Value
from ghashgen.verify.machine.machine import Machine
from ghashgen.verify.machine.regions import Access
from ghashgen.verify.machine.target import Abi

if TYPE_CHECKING:
    from ghashgen.verify.engine.plans import Shown
    from ghashgen.verify.engine.prover import Prover


@dataclass(frozen=True)
class Buffer:
    """A parameter that points to bytes, with their number or the parameter that holds it."""

    access: Access
    size: int | str
    align: int = 1
    at: str | None = None
    """The parameter with the same bytes, if the caller passes one address twice."""


@dataclass(frozen=True)
class Count:
    """A parameter that is a public number, passed in units of `unit`."""

    unit: int = 1


Parameter = Buffer | Count


@dataclass(frozen=True)
class Result:
    """A returned number, in the low `bits` bits of its register."""

    bits: int


Numbers = Mapping[str, Number]
"""A value for each numeric parameter."""


class Function(Protocol):
    """One exported function of a statement, with its parameters in the order of its interface."""

    @property
    def symbol(self) -> str: ...  # noqa: D102
    @property
    def operation(self) -> str: ...  # noqa: D102
    @property
    def parameters(self) -> tuple[str, ...]: ...  # noqa: D102


class Statement(Protocol):
    """What an object claims."""

    @property
    def name(self) -> str: ...  # noqa: D102
    @property
    def abi(self) -> str: ...  # noqa: D102
    @property
    def wipe(self) -> bool: ...  # noqa: D102
    @property
    def functions(self) -> Sequence[Function]: ...  # noqa: D102

    def meaning(self, function: Function, cutting: bool) -> "Meaning[Any]":
        """Return what a function means; `cutting` says whether its loops will be cut."""


@dataclass
class Entry:
    """A machine at a function's entry, with what is needed to judge it later."""

    machine: Machine
    abi: Abi
    numbers: dict[str, Number]
    """The numeric parameters, minus what was consumed before the last cut."""
    arguments: range = range(0)
    """The arguments on the stack, as offsets from the entry's stack pointer."""
    live: frozenset[int] = frozenset()
    """The registers that are read later, while a run is cut (`x86_64.flow` numbers them)."""
    held: frozenset[str] = frozenset()
    """The numbers whose totals may be any (`Kept.steady`): their old values are unknown."""
    resumed: bool = False
    """Whether the run was resumed for one of several cases."""
    judged: bool = False
    """Whether the returned number has been compared with its definition."""
    gpr: list[Value] = field(init=False)
    vec: list[tuple[Lane, ...]] = field(init=False)
    """The machine's vector registers at the entry."""

    def __post_init__(self) -> None:
        self.gpr, self.vec = list(self.machine.gpr), list(self.machine.vec)


E = TypeVar("E", bound=Entry)

Cell = Callable[[E, int], Lane | None]
"""A buffer's content at 16·index on entry, or None."""


@dataclass(frozen=True)
class Kept:
    """What a meaning keeps at a cut, beyond what every family keeps."""

    vectors: Mapping[Term, Lane]
    """Lanes of vector registers, and their replacements from there on."""
    memory: Mapping[Term, Lane] = field(default_factory=dict)
    """Likewise values on the stack, and in written buffers."""
    buffers: Mapping[str, Lane | None] = field(default_factory=dict)
    """The first 16 bytes of written buffers; None: nothing that may be used."""
    lost: Mapping[str, range] = field(default_factory=dict)
    """Bytes of buffers whose content on entry means nothing from there on."""
    numbers: Mapping[str, range] = field(default_factory=dict)
    """Bytes of buffers that hold public numbers, with or without an unknown."""
    done: Mapping[str, int] = field(default_factory=dict)
    """How much of a length has been consumed: buffers of that length begin that much later."""
    steady: Mapping[str, Mapping[Value, Value]] = field(default_factory=dict)
    """Per number, values that keep their entry value while it is consumed, and their replacements
    from there on: a total, the beginning of a buffer. They count if the loops of a cut move a
    pointer into a buffer of that length, in registers that these loops do not write.
    """


class Meaning(ABC, Generic[E]):
    """What one function has to do. A prover makes one, which owns its terms."""

    terms: Terms
    parameters: Mapping[str, Parameter]
    """The kind of each parameter."""
    returns: Result | None = None
    """The number that the function returns, if it does: `check` must then compare it."""
    cuts = False
    """Whether loops are cut."""
    meetings = False
    """Whether runs are also cut where two paths meet: a part without a loop may end there."""
    repeats = True
    """Whether straight code with known results may be skipped: `written` then notes nothing in an
    entry (`engine.stretches`).
    """

    @abstractmethod
    def entry(self, machine: Machine, abi: Abi, numbers: dict[str, Number]) -> E:
        """Return the entry, with what the family has to remember of a run."""

    @abstractmethod
    def cell(self, buffer: str) -> "Cell[E]":
        """Return a buffer's content on entry."""

    @abstractmethod
    def check(self, prover: "Prover[E]", entry: E) -> None:
        """Compare what the function has left with its definition.

        Raises:
            Refutation: it differs.
        """

    @abstractmethod
    def prove(self, prover: "Prover[E]", lengths: Iterable[int] | None) -> "Shown":
        """Prove the function by one of `ghashgen.verify.engine.plans`.

        `lengths` restricts the lengths of a function that has one.

        Raises:
            Refutation: it does not hold.
        """

    def work(self, entry: E) -> int:
        """Return the maximum number of blocks (or similar) that a run takes before it is cut."""
        return 1

    def written(self, entry: E, vectors: tuple[int, ...]) -> None:
        """Name what an instruction has written to these vector registers."""

    def settle(self, entry: E, term: Term) -> Lane:
        """Return a RAW value that meets one that is not, under a name if it has one."""
        return term

    def carried(self, entry: E, lanes: list[Term]) -> Kept | None:
        """Return what is kept at a cut with live data `lanes`; None if this is no cut.

        The entry changes only at a cut.
        """
        return None

    def cases(self, entry: E) -> tuple[str, Sequence[Number]] | None:
        """Return an unknown and all its values, one by one, for the rest of a run."""
        return None

    def may_be_known(self, prover: "Prover[E]", entry: E, value: Term) -> bool:
        """Return whether it may become public that a value is 0."""
        return False

    def answered(self, prover: "Prover[E]", entry: E, zero: bool) -> None:
        """Note whether such a value is 0."""

    def continued(self, prover: "Prover[E]", entry: E) -> bool:
        """Prove the rest of a resumed run, if it needs an induction of its own."""
        return False

    def key(self, entry: E) -> object:
        """Return what else the rest of a run depends on; hashable."""
        return ()

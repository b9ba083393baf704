"""What a family of kernels gives to the prover: statements, and what their functions mean.

    Statement   what an object claims: its functions, their convention; pure data
    Meaning     of one function: what its parameters are, what its results should be, which values
                get names, what is kept at a cut, and by which plan it is proved

A family is a folder with one class of each, or some. Nothing here or below knows any: the prover is
handed a statement, asks it for the meaning of each function, and asks that for all the rest.

What a meaning promises, and the prover builds on:

- a lane that it puts in the place of another (`written`, `settle`, `carried`) is equal to it, or is
  a fresh variable that stands for any value that the other may have;
- `carried` returns what means the same however the run arrived: a function of fresh variables, and
  of what lies in buffers from the new beginnings on;
- a cell of a buffer that is read only depends on its place alone, as far as it is there whole.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

from ghashgen.verify.core.term import Lane, Term
from ghashgen.verify.core.terms import Terms
from ghashgen.verify.core.values import Number, Value
from ghashgen.verify.x86_64.abi import Abi
from ghashgen.verify.x86_64.machine import Machine
from ghashgen.verify.x86_64.regions import Access

if TYPE_CHECKING:
    from ghashgen.verify.engine.plans import Shown
    from ghashgen.verify.engine.prover import Prover


@dataclass(frozen=True)
class Buffer:
    """A parameter that points to bytes: how many, or which other parameter says how many."""

    access: Access
    size: int | str
    align: int = 1
    at: str | None = None
    """The parameter whose bytes these are, where the caller passes one address twice."""


@dataclass(frozen=True)
class Count:
    """A parameter that is a public number, passed in units of so many."""

    unit: int = 1


Parameter = Buffer | Count


@dataclass(frozen=True)
class Result:
    """A number that a function returns, in the low bits of its register: how many."""

    bits: int


Numbers = Mapping[str, Number]
"""A value for each parameter that is a number."""


class Function(Protocol):
    """One exported function of a statement: its parameters are in the order of its interface."""

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
    """The parameters that are numbers, less what has been dealt with before the last cut."""
    arguments: range = range(0)
    """Where on the stack arguments are, as offsets from the entry's stack pointer."""
    live: frozenset[int] = frozenset()
    """The registers that are read later, where a run is being cut (`x86_64.flow` numbers them)."""
    held: frozenset[str] = frozenset()
    """The numbers whose totals are any (`Kept.steady`): nothing is known of what they were."""
    resumed: bool = False
    """Whether the run has been taken up again for one of several cases."""
    judged: bool = False
    """Whether the number that the function returned has been compared with its definition."""
    gpr: list[Value] = field(init=False)
    vec: list[tuple[Lane, ...]] = field(init=False)
    """What the machine's registers held at the entry."""

    def __post_init__(self) -> None:
        self.gpr, self.vec = list(self.machine.gpr), list(self.machine.vec)


E = TypeVar("E", bound=Entry)

Cell = Callable[[E, int], Lane | None]
"""What a buffer holds at 16·index on entry, None where there is nothing."""


@dataclass(frozen=True)
class Kept:
    """What a meaning keeps at a cut, beside what means the same for every family."""

    vectors: Mapping[Term, Lane]
    """Lanes of vector registers, and what stands for them from there on."""
    memory: Mapping[Term, Lane] = field(default_factory=dict)
    """Likewise values on the stack, and in buffers that are written."""
    buffers: Mapping[str, Lane | None] = field(default_factory=dict)
    """The first 16 bytes of buffers that are written; None: nothing that may be used."""
    lost: Mapping[str, range] = field(default_factory=dict)
    """Bytes of buffers whose content on entry means nothing from there on."""
    numbers: Mapping[str, range] = field(default_factory=dict)
    """Bytes of buffers where public numbers stand, with or without an unknown."""
    done: Mapping[str, int] = field(default_factory=dict)
    """How much of a length has been dealt with: buffers of that length begin so much later."""
    steady: Mapping[str, Mapping[Value, Value]] = field(default_factory=dict)
    """Per number, values that stay what they were at the entry while it is dealt with, and what
    stands for them from there on: a total, the beginning of a buffer. They count where the loops of
    a cut move a pointer into a buffer of that length, in registers that these do not write."""


class Meaning(ABC, Generic[E]):
    """What one function is to do. A prover makes one, which owns its terms."""

    terms: Terms
    parameters: Mapping[str, Parameter]
    """What each parameter of the function is."""
    returns: Result | None = None
    """The number that the function returns, if it does: `check` must then compare it."""
    cuts = False
    """Whether loops are cut."""
    meetings = False
    """Whether runs are cut wherever two ways meet, too: a part that has no loop may end there."""
    repeats = True
    """Whether straight code may be passed over where its results are known: `written` then notes
    nothing in an entry (`engine.stretches`)."""

    @abstractmethod
    def entry(self, machine: Machine, abi: Abi, numbers: dict[str, Number]) -> E:
        """Return the entry, with what the family wants to remember of a run."""

    @abstractmethod
    def cell(self, buffer: str) -> "Cell[E]":
        """Return what a buffer holds on entry."""

    @abstractmethod
    def check(self, prover: "Prover[E]", entry: E) -> None:
        """Compare what the function has left with what it should leave.

        Raises:
            Refutation: it differs.
        """

    @abstractmethod
    def prove(self, prover: "Prover[E]", lengths: Iterable[int] | None) -> "Shown":
        """Prove the function by one of `ghashgen.verify.engine.plans`.

        `lengths` restricts it to some, where it has a length.

        Raises:
            Refutation: it does not hold.
        """

    def work(self, entry: E) -> int:
        """Return how many blocks, or the like, a run goes through at most before it is cut."""
        return 1

    def written(self, entry: E, vectors: tuple[int, ...]) -> None:
        """Give names to what an instruction has written to these vector registers."""

    def settle(self, entry: E, term: Term) -> Lane:
        """Return a value that is RAW, and meets one that is not, under a name if it has one."""
        return term

    def carried(self, entry: E, lanes: list[Term]) -> Kept | None:
        """Return what is kept at a cut where `lanes` are live data; None: it is no cut.

        The entry changes only if it is one.
        """
        return None

    def cases(self, entry: E) -> tuple[str, Sequence[Number]] | None:
        """Return an unknown, and all that it may be, one after another, for the rest of a run."""
        return None

    def may_be_known(self, prover: "Prover[E]", entry: E, value: Term) -> bool:
        """Return whether it is no secret that a value is 0."""
        return False

    def answered(self, prover: "Prover[E]", entry: E, zero: bool) -> None:
        """Note whether such a value is 0."""

    def continued(self, prover: "Prover[E]", entry: E) -> bool:
        """Prove the rest of a run that is taken up again, if that takes an induction of its own."""
        return False

    def key(self, entry: E) -> object:
        """Return what else the rest of a run depends on: it is hashable."""
        return ()

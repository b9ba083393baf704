"""What the rules ask of a specification."""

from collections.abc import Iterator, Mapping
from typing import Any, Protocol

from ghashgen.verify.core.linear import Case
from ghashgen.verify.core.numbers import Number
from ghashgen.verify.core.term import Lane, Term
from ghashgen.verify.core.terms import Terms
from ghashgen.verify.rules.entry import Call
from ghashgen.verify.rules.state import Arrival, Ranges, State


class Meaning(Protocol):
    """One function's specification; it owns the terms of a check."""

    symbol: str
    abi: str
    """The name of its calling convention."""
    wipe: bool
    result_bits: int
    """Bits of the number that it returns, 0 if it returns none."""
    terms: Terms
    numbers: Mapping[str, tuple[int, int]]
    """The parameters that are numbers: unknowns of these ranges."""
    promised: tuple[Case, ...]
    """What else the caller promises of them: one of these cases."""
    vectors_named: bool
    """Whether `named` is asked of what is written to vector registers."""

    def call(self, numbers: Mapping[str, Number], align: tuple[int, int]) -> Call:
        """Return how it is called where its numbers are these."""

    def arrivals(self, state: State, ranges: Ranges) -> Iterator[State]:
        """Yield what a state that comes to a cut may be an instance as, given the ranges of the
        unknowns of the assertions there.

        Raises:
            Refutation: there is no more of it.
        """

    def begin(self) -> dict[str, Any]:
        """Return the ghosts at the entry."""

    def ghosts(self, data: Mapping[str, Any], unknowns: Mapping[str, Any]) -> dict[str, Any]:
        """Return the ghosts that an assertion states.

        Raises:
            Refutation: they are not of the form of its ghosts.
        """

    def named(self, lane: Lane) -> Lane:
        """Return a lane, or an equal value under a name."""

    def canonical(self, lane: Lane) -> Lane:
        """Return a lane with names for what has definitions in it."""

    def settled(self, arrival: Arrival, region: str) -> set[int]:
        """Return the written bytes of a buffer that an assertion may leave out: they are right.

        Raises:
            Refutation: they are not.
        """

    def entering(self, state: State) -> None:
        """Make the terms ready for a run of this state."""

    def value(self, data: list[object]) -> Lane:
        """Return a term that an assertion names, beside those that the rules know.

        Raises:
            Refutation: there is no such term.
        """

    def instance(self, arrival: Arrival) -> None:
        """Check that a state's ghosts are what an assertion says.

        Raises:
            Refutation: they are not.
        """

    def may_be_known(self, state: State, value: Term) -> bool:
        """Return whether everybody may know that a secret value is 0."""

    def answered(self, state: State, value: Term, zero: bool) -> None:
        """Note in the ghosts whether that value is 0."""

    def end(self, state: State) -> None:
        """Compare what is left at the return.

        Raises:
            Refutation: something is not as it should be.
        """

"""A symbolic state: a machine, what is known of its unknowns, and what the ghosts are.

A ghost is a number or a name of the specification's, such as how many bytes have been hashed.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ghashgen.verify.core.linear import Case, Facts
from ghashgen.verify.core.numbers import Number, parts, replaced, unknown
from ghashgen.verify.core.refutation import unsupported
from ghashgen.verify.core.renumbering import renumbered
from ghashgen.verify.core.term import Lane, Term
from ghashgen.verify.core.values import Linear, Pointer, Value
from ghashgen.verify.machine.convention import floor_of
from ghashgen.verify.machine.flags import Flag, Flags, Open
from ghashgen.verify.machine.machine import Machine
from ghashgen.verify.machine.memory import Memory

Ranges = Sequence[Mapping[str, tuple[int, int]]]
"""The least and the greatest values of unknowns, for each of some assertions."""


@dataclass
class State:
    """A machine and its ghosts; the facts stand in its memory."""

    machine: Machine
    ghosts: dict[str, Any]
    label: str
    """The assertion that it began as."""
    origin: dict[str, Number]
    """What that assertion's unknowns are now."""

    @property
    def memory(self) -> Memory:
        """The machine's memory."""
        return self.machine.memory

    @property
    def facts(self) -> Facts:
        """What is known of the unknowns."""
        return self.machine.facts

    def copy(self) -> "State":
        """Return a state that changes by itself."""
        old, was = self.machine, self.machine.memory
        memory = Memory.__new__(Memory)
        memory.__dict__.update(was.__dict__)
        memory.bases = list(was.bases)
        memory.regions = dict(was.regions)
        memory.written = {name: dict(cells) for name, cells in was.written.items()}
        memory.returns = list(was.returns)
        m = Machine(old.terms, memory, old.gpr, old.vec, old.mask)
        m.flags, m.upper_dirty, m.red_zone = old.flags, old.upper_dirty, old.red_zone
        memory.floor = floor_of(m)
        return State(m, dict(self.ghosts), self.label, dict(self.origin))

    def within(self, case: Case) -> "State | None":
        """Return the state in one of several cases; None if it cannot be in it."""
        facts = self.facts
        for name, low, high in case.fresh:
            facts = facts.with_range(name, low, high)
        values = dict(case.values)
        asked = {*values, *(u for a in case.not_negative for u, _ in parts(a)[1])}
        if not asked <= facts.ranges.keys():
            raise unsupported("a question about the numbers of another state")
        news = (replaced(a, values) for a in case.not_negative)
        facts = facts.with_values(values).with_not_negative(*news)
        while facts.possible():
            single = {u: low for u, (low, high) in facts.ranges.items() if low == high}
            if not single:
                return self.copy().renamed(values, facts)
            facts = facts.with_values(single)
            values = {**{u: replaced(a, single) for u, a in values.items()}, **single}
        return None

    def each(self, cases: Iterable[Case]) -> "list[State]":
        """Return the state in all of several cases in which it can be."""
        return [one for one in map(self.within, cases) if one is not None]

    def renamed(self, values: Mapping[str, Number], facts: Facts) -> "State":
        """Put numbers in the place of unknowns, everywhere; return itself.

        The names of blocks stay: a block at 16·q is the one at 48 where q is 3, under another name.
        """
        m, memory = self.machine, self.memory
        memory.facts = facts
        if not values:
            return self
        terms: dict[Term, Lane] = {}
        in_terms = not m.terms.unknowns.isdisjoint(values)

        def new(v: Value, bits: int) -> Value:
            if isinstance(v, Term):
                return renumbered(m.terms, v, values, facts, terms) if in_terms else v
            if isinstance(v, Linear):
                return replaced(v, values)
            if isinstance(v, Pointer):
                return Pointer(v.region, replaced(v.offset, values))
            return v

        memory.renamed(values)
        m.exchange(new, lanes_too=in_terms)
        for name, region in memory.regions.items():
            low, size = replaced(region.low, values), replaced(region.size, values)
            end = None if region.done is None else replaced(region.done, values)
            if (low, size, end) != (region.low, region.size, region.done):
                memory.regions[name] = replace(region, low=low, size=size, done=end)
        m.flags = _flags(m.flags, values)
        self.ghosts = {
            name: replaced(ghost, values) if isinstance(ghost, int | Linear) else ghost
            for name, ghost in self.ghosts.items()
        }
        self.origin = {u: replaced(a, values) for u, a in self.origin.items()}
        return self


@dataclass(frozen=True)
class Arrival:
    """A state that comes to an assertion."""

    state: State
    to: Mapping[str, Any]
    """The assertion's ghosts, in the state's unknowns."""
    bound: Mapping[str, Value]
    """What its unknown values are."""
    where: str

    def value(self, variable: str) -> Lane:
        """Return what an unknown value is whose variable a ghost names.

        Raises:
            Refutation: it is none, or is a number or an address.
        """
        value = self.bound.get(variable.removeprefix("u"))
        if not isinstance(value, int | Term) or variable[:1] != "u":
            raise unsupported(self.where + f"a ghost of {variable}, which is no unknown value")
        return value


def _flags(flags: Flags, values: Mapping[str, Number]) -> Flags:
    """Return flags whose open comparisons are of other numbers."""

    def new(flag: Flag | None) -> Flag | None:
        if isinstance(flag, Open) and flag.number is not None:
            return replace(flag, number=replaced(flag.number, values))
        return flag

    changed: dict[str, Any] = {name: new(getattr(flags, name)) for name in COMPARED}
    return replace(flags, **changed)


COMPARED = ("carry", "zero", "sign", "overflow", "at_most", "less")
"""The flags that may stand for a comparison of numbers."""


def own(facts: Facts) -> dict[str, Number]:
    """Return each unknown as the number that it is."""
    return {u: unknown(u) for u in facts.ranges}

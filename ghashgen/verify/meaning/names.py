"""Names for values that equal what the specification says they are: a block, a state, a power.

A value that is equal to its definition may be replaced by a variable of that definition, and the
other way round: both are the same 128 bits. What is named keeps products quadratic.

    C...   a block of what is hashed, by its place; where no byte of it is there are zeros
    P...   the bytes that a partial block has, which other bytes may stand beside
    Z...   a sum of values times powers of H (`Names.defined`)
"""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from ghashgen.algebra.ops.forms import Form, variable
from ghashgen.verify.core.term import (
    CALLER,
    OPAQUE,
    RAW,
    Kind,
    Lane,
    Term,
    of_table,
    parts_first,
    parts_of,
)
from ghashgen.verify.core.terms import Terms
from ghashgen.verify.core.variables import rebuilt
from ghashgen.verify.meaning.algebra import Algebra


@dataclass(frozen=True)
class Partial:
    """A block of which only some bytes are there: its variable, the first one, and their end."""

    block: str
    first: int
    end: int

    @property
    def bytes(self) -> str:
        """The variable of the bytes that are there; what stands beside them is anything."""
        return f"P{self.block}"

    @property
    def mask(self) -> int:
        """The bits that are there."""
        return (1 << 8 * self.end) - (1 << 8 * self.first)


Found = TypeVar("Found")

Sum = Mapping[tuple[str, int], int]
"""{(value, power): 1}: the sum of values times powers of H; equal parts have cancelled."""


class Names:
    """Recognises the values of one function's check."""

    def __init__(self, algebra: Algebra, kinds: Iterable[Kind] = ()) -> None:
        self.algebra = algebra
        self.terms = Terms(algebra.entry, kinds=kinds)
        self.terms.factors = self._factors
        self.terms.settle = self.settled
        self.partials: frozenset[Partial] = frozenset()
        """The partial blocks of the state that is being run."""
        self.state: Any = None
        """The state that is being run (`enter`)."""
        self.here: dict[tuple[object, ...], Any] = {}
        """What has been found of values in this state: in another one it may be wrong."""
        self._always: dict[tuple[object, ...], Any] = {}
        self.special: Callable[[Term], Lane] = lambda term: term
        """Names what a family has definitions of; a value that has none is returned as it is."""
        # By their definitions alone, whatever the state.
        self.defined: dict[str, dict[str, int]] = {}
        self._sums: dict[frozenset[tuple[str, int]], str] = {}
        self._powers: dict[Term, Lane] = {}
        self._products: dict[Term, bool] = {}

    def enter(self, state: Any, partials: frozenset[Partial]) -> None:
        """Go on with a state; what was found in another one is forgotten."""
        self.partials = partials
        if self.state is not state:
            self.state = state
            self.forget()

    def forget(self) -> None:
        """Forget whatever depends on the state: lengths, counters, what has been hashed."""
        self.here.clear()

    def once(self, key: tuple[object, ...], find: Callable[[], Found]) -> Found:
        """Return what is found, which is looked for once in each state."""
        if key not in self.here:
            self.here[key] = find()
        found: Found = self.here[key]
        return found

    def always(self, key: tuple[object, ...], find: Callable[[], Found]) -> Found:
        """Return what is found, which is looked for once: it is the same in every state."""
        if key not in self._always:
            self._always[key] = find()
        found: Found = self._always[key]
        return found

    def recognised(self, lane: Lane) -> Sum | None:
        """Return a lane as a sum of values times powers of H, None if it is none."""
        if lane == 0:
            return {}
        form = self.terms.try_form(lane)
        found = None if form is None else self.algebra.recognise(form)
        return None if found is None else self.expanded(found)

    def expanded(self, parts: Mapping[str, int]) -> Sum:
        """Return a sum without the values that are sums themselves."""
        out: dict[tuple[str, int], int] = {}
        for name, power in parts.items():
            inner: Sum = {(name, 0): 1}
            if name in self.defined:
                inner = self.expanded(self.defined[name])
            for value, more in inner:
                key = value, power + more
                if key in out:
                    del out[key]
                else:
                    out[key] = 1
        return out

    def _degree(self, lane: Lane) -> int:
        if isinstance(lane, int):
            return 0
        form = self.terms.try_form(lane)
        return 3 if form is None else form.degree

    def named(self, lane: Lane) -> Lane:
        """Return a value with names for what has definitions in it: blocks, whole or padded."""
        if not isinstance(lane, Term):
            return lane
        lane = self.settled(lane) if lane.deps & RAW else lane
        return self.special(lane) if isinstance(lane, Term) else lane

    def _factors(self, a: Lane, b: Lane) -> tuple[Lane, Lane]:
        a, b = self.named(a), self.named(b)
        if self._degree(a) + self._degree(b) <= 2:
            return a, b
        return self._lowered(a), self._lowered(b)

    def _lowered(self, lane: Lane) -> Lane:
        """Return a value of degree 1 that is equal, if there is a name for it or for its parts."""
        if not isinstance(lane, Term) or lane.deps & (OPAQUE | CALLER):
            return lane
        return self.once(("lowered", lane, self.partials), lambda: self._lower(lane))

    def _lower(self, lane: Term) -> Lane:
        form = self.terms.try_form(lane)
        if form is None or form.degree < 2:
            return lane
        found = self.algebra.recognise(form)
        if found is not None:
            name = self._sums.setdefault(frozenset(found.items()), f"Z{len(self.defined) + 1}")
            self.defined[name] = found
            return self.terms.variable(name)
        power = self.power(lane)
        if power is not lane:
            return power
        return self.rebuilt(lane, self._lowered)

    def power(self, lane: Lane) -> Lane:
        """Return a power of H, as B, H or N define it, as that entry; anything else as it is."""
        if not isinstance(lane, Term) or not of_table(lane):
            return lane
        if not self.terms.kinds[lane.op].linear:
            return lane
        known = self._powers.get(lane)
        if known is None:
            form = self.terms.try_form(lane)
            pair = None if form is None or form.constant else _pair(form)
            known = lane
            if pair is not None:
                for kind, expected in self.algebra.power_forms(*pair):
                    if form == expected:
                        known = self.terms.entry(kind, sum(pair))
            self._powers[lane] = known
        return known

    def has_product(self, term: Term) -> bool:
        """Return whether a carry-less product is in a value, however deep."""
        known = self._products
        for part in parts_first(term, known):
            known[part] = part.op == "clmul" or any(known[p] for p in parts_of(part))
        return known[term]

    def settled(self, term: Term) -> Lane:
        """Return the bytes of a partial block, with zeros beside them, as that block.

        As they stand in memory or in a register; in a sum, part by part.
        """
        return self.once(("settled", term, self.partials), lambda: self._settle(term))

    def _settle(self, term: Term) -> Lane:
        if not term.deps & RAW or term.deps & (OPAQUE | CALLER):
            return term
        terms, algebra = self.terms, self.algebra
        form = terms.try_form(term)
        for partial in sorted(self.partials, key=lambda one: one.block):
            padded = variable(partial.bytes).moves(algebra.memory, 128).mask(partial.mask)
            if form == padded:
                return terms.moves(terms.variable(partial.block), algebra.memory)
            if form == padded.moves(algebra.register, 128):
                return terms.variable(partial.block)
        return self.rebuilt(term, self.settled)

    def rebuilt(self, term: Term, new: Callable[[Term], Lane]) -> Lane:
        """Return a sum of linear functions with its parts named."""
        if not self.terms.kinds[term.op].linear:
            return term
        parts = [new(a) if isinstance(a, Term) else a for a in term.args]
        if all(a is b for a, b in zip(parts, term.args, strict=True)):
            return term
        return rebuilt(self.terms, term, *parts)


def in_turn(*hooks: Callable[[Term], Lane]) -> Callable[[Term], Lane]:
    """Return what names a value by each of some rules in turn."""

    def named(lane: Term) -> Lane:
        out: Lane = lane
        for one in hooks:
            if isinstance(out, Term):
                out = one(out)
        return out

    return named


def _pair(form: Form) -> tuple[int, int] | None:
    """Return (a, b), a <= b, if only B_a and B_b occur, as a product or as a square would."""
    names = {name for two in form.quadratic for name in two} | set(form.linear)
    # B0 is combine's factor, which is no power of H.
    numbers = sorted(int(n[1:]) for n in names if re.fullmatch("B[1-9][0-9]*", n))
    if len(numbers) != len(names) or not numbers or len(numbers) > 2:
        return None
    if len(numbers) == 2:
        return (numbers[0], numbers[1]) if form.quadratic and not form.linear else None
    return None if form.quadratic else (numbers[0], numbers[0])

"""Names for values that equal what the specification says they are: a block, a state, a power.

A value that is equal to its definition may be replaced by a variable of that definition, and the
other way round: both are the same 128 bits. What is named keeps products quadratic.

    C...   a block of what is hashed, by its place; where no byte of it is there are zeros
    P...   the bytes that a partial block has, which other bytes may stand beside
    Z...   a sum of values times powers of H (`Names.defined`)
"""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, TypeVar

from ghashgen.algebra.ops.forms import Form, variable
from ghashgen.verify.core.renumbering import rebuilt
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
from ghashgen.verify.meaning.algebra import Algebra, Sum


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
        self.special: tuple[Callable[[Term], Lane], ...] = ()
        """Each names what it has definitions of, and returns any other value as it is."""
        # By their definitions alone, whatever the state.
        self.defined: dict[str, Sum] = {}
        self._sums: dict[Sum, str] = {}
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
        return _found(self.here, key, find)

    def always(self, key: tuple[object, ...], find: Callable[[], Found]) -> Found:
        """Return what is found, which is looked for once: it is the same in every state."""
        return _found(self._always, key, find)

    def recognised(self, lane: Lane) -> Sum | None:
        """Return a lane as a sum of values times powers of H, None if it is none."""
        form = self.terms.try_form(lane)
        return None if form is None else self.sum_of(form)

    def sum_of(self, form: Form) -> Sum | None:
        """Return the polynomials of a register as such a sum, None if they are none."""
        found = self.algebra.recognise(form)
        return None if found is None else self.expanded(found)

    def expanded(self, sum_: Sum) -> Sum:
        """Return a sum without the values that are sums themselves."""
        out: Sum = frozenset()
        for name, power in sum_:
            inner = self.defined.get(name)
            out ^= {(name, power)} if inner is None else raised(self.expanded(inner), power)
        return out

    def _degree(self, lane: Lane) -> int:
        if isinstance(lane, int):
            return 0
        form = self.terms.try_form(lane)
        return 3 if form is None else form.degree

    def named(self, lane: Lane) -> Lane:
        """Return a value with names for what has definitions in it: blocks, whole or padded."""
        if not isinstance(lane, Term) or of_table(lane):
            return lane
        named: Lane = self.settled(lane) if lane.deps & RAW else lane
        for special in self.special:
            named = special(named) if isinstance(named, Term) else named
        return named

    def _factors(self, a: Lane, b: Lane) -> tuple[Lane, Lane]:
        a, b = self.named(a), self.named(b)
        if self._degree(a) + self._degree(b) <= 2:
            return a, b
        return self._lowered(a), self._lowered(b)

    def _lowered(self, lane: Lane) -> Lane:
        """Return a value of degree 1 that is equal, if there is a name for it or for its parts."""
        return self.part_by_part("lowered", lane, self._lower)

    def _lower(self, lane: Term) -> Lane | None:
        form = self.terms.try_form(lane)
        if form is None or form.degree < 2:
            return lane
        found = self.algebra.recognise(form)
        if found is None:
            power = self.power(lane)
            return None if power is lane else power
        name = self._sums.setdefault(found, f"Z{len(self.defined) + 1}")
        self.defined[name] = found
        return self.terms.variable(name)

    def power(self, lane: Lane) -> Lane:
        """Return a power of H, as B, H or N define it, as that entry; anything else as it is."""
        if not (isinstance(lane, Term) and of_table(lane) and self.terms.kinds[lane.op].linear):
            return lane
        term = lane
        return self.always(("power", term), lambda: self._power(term))

    def _power(self, term: Term) -> Lane:
        form = self.terms.try_form(term)
        pair = None if form is None else _pair(form)
        for kind, expected in self.algebra.power_forms(*pair) if pair else ():
            if form == expected:
                return self.terms.entry(kind, sum(pair or ()))
        return term

    def has_product(self, term: Term) -> bool:
        """Return whether a carry-less product is in a value, however deep."""
        known = self._products
        for part in parts_first(term, known):
            known[part] = part.op == "clmul" or any(known[p] for p in parts_of(part))
        return known[term]

    def settled(self, lane: Lane) -> Lane:
        """Return the bytes of a partial block, with zeros beside them, as that block."""
        return self.part_by_part("partial", lane, self._settle)

    def _settle(self, term: Term) -> Lane | None:
        if not term.deps & RAW:
            return term
        for partial in sorted(self.partials, key=lambda one: one.block):
            padded = variable(partial.bytes).moves(self.algebra.memory, 128).mask(partial.mask)
            if (found := self.as_name(term, padded, partial.block)) is not None:
                return found
        return None

    def as_name(self, term: Term, wanted: Form, name: str) -> Lane | None:
        """Return a variable for a value of these polynomials, as it stands in memory or in a
        register; None for any other value.
        """
        form = self.terms.try_form(term)
        if form is None or form.linear.keys() != wanted.linear.keys():
            return None
        if form == wanted:
            return self.terms.moves(self.terms.variable(name), self.algebra.memory)
        in_register = form == wanted.moves(self.algebra.register, 128)
        return self.terms.variable(name) if in_register else None

    def part_by_part(self, rule: str, lane: Lane, find: Callable[[Term], Lane | None]) -> Lane:
        """Return what `find` has for a value; if that is None, name the parts of a sum so.

        `rule` is the name of `find`.
        """
        if not isinstance(lane, Term) or lane.deps & (OPAQUE | CALLER):
            return lane
        term = lane
        return self.once((rule, term, self.partials), lambda: self._by_parts(rule, term, find))

    def _by_parts(self, rule: str, term: Term, find: Callable[[Term], Lane | None]) -> Lane:
        found = find(term)
        if found is not None:
            return found
        if not self.terms.kinds[term.op].linear:
            return term
        parts = [self.part_by_part(rule, a, find) if isinstance(a, Term) else a for a in term.args]
        if all(a is b for a, b in zip(parts, term.args, strict=True)):
            return term
        return rebuilt(self.terms, term, *parts)


def _found(known: dict[tuple[object, ...], Any], key: tuple[object, ...],
           find: Callable[[], Found]) -> Found:  # fmt: skip
    if key not in known:
        known[key] = find()
    found: Found = known[key]
    return found


def raised(sum_: Sum, power: int) -> Sum:
    """Return a sum times a power of H."""
    return frozenset((value, m + power) for value, m in sum_)


def _pair(form: Form) -> tuple[int, int] | None:
    """Return (a, b), a <= b, if only B_a and B_b occur; they are one where the other is alone."""
    names = {name for two in form.quadratic for name in two} | set(form.linear)
    # B0 is combine's factor, which is no power of H.
    numbers = sorted(int(n[1:]) for n in names if re.fullmatch("B[1-9][0-9]*", n))
    found = len(numbers) == len(names) and 0 < len(numbers) < 3
    return (numbers[0], numbers[-1]) if found else None

"""Name values that are equal to their specification.

A proof stays small because a value that is *proved equal* to its definition is replaced by a fresh
variable with that definition: a power of H as soon as it is computed, the state at a loop head, a
partial block once it is zero-padded. Replacing a value by an arbitrary one that satisfies the same
definition only generalises, so every theorem about the result holds for the original.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from ghashgen.algebra.ops.forms import Form, variable
from ghashgen.verify.core.term import (
    CALLER,
    DATA,
    OPAQUE,
    RAW,
    Kind,
    Lane,
    Term,
    parts_first,
    parts_of,
)
from ghashgen.verify.core.terms import Terms
from ghashgen.verify.core.variables import Variables
from ghashgen.verify.hash.entries import Algebra

PARTIAL = "P"
"""The variable of a last block that may be partly readable."""


BLOCK = "C"
"""The letter of the variables of blocks."""


def block_name(number: int, letter: str = BLOCK) -> str:
    """Return the variable of block `number` (from 1) after the last cut."""
    return f"{letter}{number}"


@dataclass
class Naming:
    """Recognises values; `defined` holds the states named inside products (variables Z1, Z2, …)."""

    algebra: Algebra
    kinds: tuple[Kind, ...] = ()
    """Kinds of term that a family adds."""
    words: Mapping[str, str] = field(default_factory=dict)
    """What messages call these terms' variables, by their letter; {} stands for the number."""
    terms: Terms = field(init=False)
    variables: Variables = field(init=False)
    blocks: str = BLOCK
    """The letters of the variables of blocks, which are numbered in the order they are hashed."""
    defined: dict[str, dict[str, int]] = field(default_factory=dict)
    _blocks: dict[str, Lane] = field(default_factory=dict)
    _named: set[Term] = field(default_factory=set)
    _recognised: dict[Term, dict[str, int] | None] = field(default_factory=dict)
    _padded: dict[tuple[Term, int, str], str | None] = field(default_factory=dict)
    _powers: dict[Term, tuple[str, int] | None] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.terms = Terms(self.algebra.entry, self.name_inside, self.kinds)
        self.variables = Variables(self.terms)

    def in_memory(self, block: str) -> Lane:
        """Return the variable of a block in memory order."""
        known = self._blocks.get(block)
        if known is None:
            variable_of = self.terms.variable(block)
            known = self._blocks[block] = self.terms.moves(variable_of, self.algebra.memory)
        return known

    def recognise(self, term: Term) -> dict[str, int] | None:
        """Return {v: m} if the term is Σ v·H^m over states and blocks v, else None."""
        if term not in self._recognised:
            known = term.deps & DATA and not term.deps & (OPAQUE | CALLER | RAW)
            form = self.terms.try_form(term) if known else None
            self._recognised[term] = None if form is None else self.algebra.recognise(form)
        return self._recognised[term]

    def recognise_block(self, term: Term) -> dict[str, int] | None:
        """Return {v: m} if the term is Σ v·H^m written as a block in memory, else None."""
        lane = self.terms.moves(term, self.algebra.register)
        return self.recognise(lane) if isinstance(lane, Term) else None

    def padded(
        self,
        lane: Lane,
        present: int,
        block: str,
        forms: tuple[str, ...],
        partial: str = PARTIAL,
    ) -> Lane:
        """Replace the first `present` bytes of `partial` by the variable of that block.

        Done if the lane is the zero-padded block as it stands in "memory" or in a "register".
        """
        if not isinstance(lane, Term) or not lane.deps & RAW or lane.deps & (OPAQUE | CALLER):
            return lane
        key = (lane, present, partial)
        if key not in self._padded:
            self._padded[key] = self._which_padded(lane, present, partial)
        found = self._padded[key]
        match found if found in forms else None:
            case "memory":
                return self.terms.moves(self.terms.variable(block), self.algebra.memory)
            case "register":
                return self.terms.variable(block)
        return lane

    def _which_padded(self, lane: Term, present: int, partial: str) -> str | None:
        form = self.terms.try_form(lane)
        in_memory = variable(partial).moves(self.algebra.memory, 128).mask((1 << 8 * present) - 1)
        if form == in_memory:
            return "memory"
        return "register" if form == in_memory.moves(self.algebra.register, 128) else None

    def power(self, lane: Lane) -> Lane:
        """Replace a lane that equals a power of H, as B, H or N define it, by that entry."""
        if not isinstance(lane, Term) or lane.deps & (OPAQUE | CALLER) or not self._linear(lane):
            return lane
        if lane not in self._powers:
            self._powers[lane] = self._which_power(lane)
        found = self._powers[lane]
        return self.terms.entry(*found) if found else lane

    def _which_power(self, lane: Term) -> tuple[str, int] | None:
        form = self.terms.try_form(lane)
        pair = None if form is None or form.constant else _single_pair(form)
        if pair is None:
            return None
        a, b = pair
        for kind, expected in self.algebra.power_forms(a, b):
            if form == expected:
                return kind, a + b
        return None

    def name_inside(self, operand: Term) -> bool:
        """Name a state that enters a product unnamed, so that the product stays quadratic.

        Returns whether the operand's form has changed.
        """
        found = self._find_state(operand)
        if found is None:
            return self._refreshed(operand)
        state, meaning = found
        name = f"Z{len(self.defined) + 1}"
        self.defined[name] = meaning
        self._forget_above(operand, state)
        state.form = variable(name)
        self._named.add(state)
        return True

    def _refreshed(self, operand: Term) -> bool:
        """Compute a form again that is older than the name of a state in it."""

        def above(term: Term) -> bool:
            return self._linear(term) and term not in self._named

        before = self.terms.form(operand).degree
        for term in parts_first(operand, (), above):
            if above(term):
                term.form = None
        return self.terms.form(operand).degree < before

    def _linear(self, term: Term) -> bool:
        return self.terms.kinds[term.op].linear

    def _find_state(self, operand: Term) -> tuple[Term, dict[str, int]] | None:
        stack = [operand]
        while stack:
            term = stack.pop()
            if term.form is None or term.form.degree < 2:
                continue
            meaning = self.algebra.recognise(term.form)
            if meaning is not None:
                return term, meaning
            if self._linear(term):
                stack.extend(parts_of(term))
        return None

    def _forget_above(self, operand: Term, state: Term) -> None:
        """Drop the forms of every term from the operand down to the state that contains it."""
        contains: dict[Term, bool] = {state: True}
        for term in parts_first(operand, contains, self._linear):
            parts = parts_of(term) if self._linear(term) else []
            contains[term] = any(contains[part] for part in parts)
        for term, inside in contains.items():
            if inside:
                term.form = None

    def position(self, name: str, weights: Mapping[str, int]) -> int | None:
        """Return the number of blocks absorbed before v entered: v counts as v·H^(blocks - that).

        None if v stands for several values that no one state contains.
        """
        if name in weights:
            return weights[name]
        if name[0] in self.blocks:
            return int(name[1:]) - 1
        if name[0] != "Z":
            return None
        found: set[int | None] = set()
        for part, exponent in self.defined[name].items():
            at = self.position(part, weights)
            found.add(None if at is None else at + exponent)
        return found.pop() if len(found) == 1 else None

    def leaves(self, name: str) -> list[str]:
        """Return the states and blocks that a variable contains."""
        if name[0] != "Z":
            return [name]
        return [leaf for part in self.defined[name] for leaf in self.leaves(part)]

    def made_of(self, form: Form) -> set[str]:
        """Return the variables of a form, except powers of H beside others."""
        return {n for pair in form.quadratic for n in pair if n[0] != "B"} | set(form.linear)

    def grouped(
        self, form: Form, weights: Mapping[str, int], known: Mapping[str, int]
    ) -> Mapping[str, int]:
        """Return a form's states and blocks, each with its position; some are in one Z.

        `known` has the positions that do not follow from the names.
        """
        names = [n for n in self.made_of(form) if n[0] == "Z"]
        # The latest first: it may contain an earlier one, and nothing may count twice.
        for name in sorted(names, key=lambda n: -int(n[1:])):
            at, leaves = self.position(name, known), self.leaves(name)
            if at is None or len(set(leaves)) != len(leaves) or not set(leaves) <= set(weights):
                continue
            weights = {v: p for v, p in weights.items() if v not in leaves} | {name: at}
        return weights


def _single_pair(form: Form) -> tuple[int, int] | None:
    """Return (a, b), a <= b, if only B_a and B_b occur, as a product or as a square would."""
    names = {name for pair in form.quadratic for name in pair} | set(form.linear)
    numbers = sorted(int(name[1:]) for name in names if name[0] == "B")
    if len(numbers) != len(names) or not numbers or len(numbers) > 2:
        return None
    if len(numbers) == 2:
        return (numbers[0], numbers[1]) if form.quadratic and not form.linear else None
    return None if form.quadratic else (numbers[0], numbers[0])

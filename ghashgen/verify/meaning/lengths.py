"""The block of lengths that ends what is hashed: two numbers of bits, 64 bits each, big-endian.

In a register the AAD's is the upper half and the text's the lower, or the other way round, as the
bit order has it; of an IV the first is zero. Where both are known it is a constant, else a variable
stands for what is equal to it.
"""

from collections.abc import Callable
from dataclasses import dataclass

from ghashgen.algebra.field.bitorder import BLOCK_BYTES
from ghashgen.algebra.ops.forms import Form
from ghashgen.verify.core.kinds import NUMBER_LETTER
from ghashgen.verify.core.numbers import Number, times
from ghashgen.verify.core.term import OPAQUE, RAW, Lane, Term
from ghashgen.verify.core.values import Linear
from ghashgen.verify.core.variables import Variables
from ghashgen.verify.meaning.hashing import Hashing
from ghashgen.verify.meaning.letters import LENGTHS
from ghashgen.verify.meaning.names import Names, Sum
from ghashgen.verify.meaning.status import number_of
from ghashgen.verify.rules.state import State

NUMBER_BYTES = 8


@dataclass
class Lengths:
    """The block of one hash: `numbers` are the names of its two lengths in bytes, "" for none."""

    names: Names
    numbers: tuple[str, str]
    hash: str

    def __post_init__(self) -> None:
        self.variables = Variables(self.names.terms)

    @property
    def variable(self) -> str:
        """The variable that stands for the block."""
        return f"{LENGTHS}{self.hash}"

    def block(self, state: State, held: Callable[[str], Number] | None = None) -> Lane:
        """Return the block in a register."""
        terms, facts = self.names.terms, state.facts
        if held is None:
            return self.names.once(
                ("lengths", self.hash), lambda: self.block(state, lambda n: number_of(state, n))
            )
        lane: Lane = 0
        for place, name in enumerate(self.numbers):
            number = held(name) if name else 0
            assert isinstance(number, int | Linear)
            bits = times(number, 8)
            half = terms.number(bits, facts) if isinstance(bits, Linear) else bits
            order = tuple(range(NUMBER_BYTES - 1, -1, -1))
            sources = (*[-1] * NUMBER_BYTES * place, *order)
            padding = [-1] * (BLOCK_BYTES - len(sources))
            lane = terms.xor(lane, terms.bytes(half, (*sources, *padding)))
        return terms.moves(lane, self.names.algebra.register)

    def value(self) -> Lane:
        """Return the block of the state that is being run, where an assertion names it."""
        block = self.block(self.names.state)
        return block if isinstance(block, int) else self.names.terms.variable(self.variable)

    def named(self, lane: Term) -> Lane:
        """Return the block under its name, in a register or in memory; else part by part."""
        if lane.deps & (OPAQUE | RAW):
            return lane
        found = self.variables.of(lane)
        if not any(name[0] == NUMBER_LETTER for name in found):
            return lane
        if all(name[0] == NUMBER_LETTER for name in found):
            form, block = self.names.terms.try_form(lane), self.block(self.names.state)
            wanted = self.names.terms.form(block)
            if form == wanted:
                return self.names.terms.variable(self.variable)
            memory = self.names.algebra.memory
            if form == wanted.moves(memory, 128):
                return self.names.terms.moves(self.names.terms.variable(self.variable), memory)
        return self.names.rebuilt(lane, self.named)

    def ended(self, hashing: Hashing, state: State) -> tuple[Sum, Form]:
        """Return (X + the block)·H, X after all that is hashed: a sum, and what a known block adds.

        Raises:
            Fork: how much is left to hash depends on the unknowns.
        """
        sum_ = {(name, power + 1): 1 for name, power in hashing.at_end(state)}
        block = self.block(state)
        if isinstance(block, int):
            return sum_, self.names.algebra.multiple(block, 1)
        return {**sum_, (self.variable, 1): 1}, Form(128)

    def ends(self, lane: Lane, hashing: Hashing, state: State) -> bool:
        """Return whether a register is that."""
        form = self.names.terms.try_form(lane)
        if form is None:
            return False
        sum_, constant = self.ended(hashing, state)
        return self.names.sum_of(form ^ constant) == sum_

    def sum_in(self, form: Form, hashing: Hashing, state: State) -> Form | None:
        """Return the same in the values that a form has times powers of H; None: in none.

        A value may be a sum itself (`Names.defined`), and the same whole be made of others.
        """
        found = {v: int(g[1:]) for g, v in form.quadratic if g[0] == "B" and v[0] != "B"}
        sum_, constant = self.ended(hashing, state)
        if dict(self.names.expanded(found)) != sum_:
            return None
        return self.names.algebra.state(found) ^ constant

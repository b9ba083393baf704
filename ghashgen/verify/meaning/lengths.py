"""The block of lengths that ends what is hashed: two numbers of bits, 64 bits each, big-endian.

In a register the AAD's is the upper half and the text's the lower, or the other way round, as the
bit order has it; of an IV the first is zero. Where both are known it is a constant, else a variable
stands for what is equal to it.
"""

from dataclasses import dataclass

from ghashgen.algebra.field.bitorder import BLOCK_BYTES
from ghashgen.algebra.ops.forms import Form
from ghashgen.verify.core.kinds import NUMBER_LETTER
from ghashgen.verify.core.numbers import times
from ghashgen.verify.core.term import NUMBERS, Lane, Term
from ghashgen.verify.core.values import Linear
from ghashgen.verify.meaning.algebra import Sum
from ghashgen.verify.meaning.buffers import NUMBER_BYTES
from ghashgen.verify.meaning.hashing import Hashing
from ghashgen.verify.meaning.letters import LENGTHS
from ghashgen.verify.meaning.names import Names, raised
from ghashgen.verify.rules.state import State


@dataclass
class Lengths:
    """The block of one hash: `numbers` are the names of its two lengths in bytes, "" for none."""

    names: Names
    numbers: tuple[str, str]
    hash: str

    @property
    def variable(self) -> str:
        """The variable that stands for the block."""
        return f"{LENGTHS}{self.hash}"

    def block(self, state: State) -> Lane:
        """Return the block in a register."""
        return self.names.once((self.variable,), lambda: self._block(state))

    def _block(self, state: State) -> Lane:
        terms = self.names.terms
        lane: Lane = 0
        for place, name in enumerate(self.numbers):
            bits = times(state.ghosts[name] if name else 0, 8)
            half = terms.number(bits, state.facts) if isinstance(bits, Linear) else bits
            sources = [-1] * BLOCK_BYTES
            at = NUMBER_BYTES * place
            sources[at : at + NUMBER_BYTES] = reversed(range(NUMBER_BYTES))
            lane = terms.xor(lane, terms.bytes(half, tuple(sources)))
        return terms.moves(lane, self.names.algebra.register)

    def value(self) -> Lane:
        """Return the block of the state that is being run, where an assertion names it."""
        block = self.block(self.names.state)
        return block if isinstance(block, int) else self.names.terms.variable(self.variable)

    def named(self, lane: Term) -> Lane:
        """Return the block under its name, in a register or in memory; else part by part."""
        if not lane.deps & NUMBERS:
            return lane
        return self.names.part_by_part(self.variable, lane, self._named)

    def _named(self, lane: Term) -> Lane | None:
        form = self.names.terms.try_form(lane)
        if form is None or not any(name[0] == NUMBER_LETTER for name in form.linear):
            return None if form is None else lane
        state = self.names.state
        if not all(state.facts.fits(times(state.ghosts[n], 8), 64) for n in self.numbers if n):
            return lane  # Of another message, where this one's lengths may be refused.
        block = self.names.terms.form(self.block(state))
        return self.names.as_name(lane, block.moves(self.names.algebra.memory, 128), self.variable)

    def ended(self, hashing: Hashing, state: State) -> tuple[Sum, Form]:
        """Return (X + the block)·H, X after all that is hashed: a sum, and what a known block adds.

        Raises:
            Fork: how much is left to hash depends on the unknowns.
        """
        sum_, block = raised(hashing.at_end(state), 1), self.block(state)
        if isinstance(block, int):
            return sum_, self.names.algebra.multiple(block, 1)
        return sum_ ^ {(self.variable, 1)}, Form(128)

    def sum_in(self, form: Form, hashing: Hashing, state: State) -> Form | None:
        """Return the same in the values that a form has times powers of H; None: in none.

        A value may be a sum itself (`Names.defined`), and the same whole be made of others.
        """
        found = frozenset((v, int(g[1:])) for g, v in form.quadratic if g[0] == "B" and v[0] != "B")
        sum_, constant = self.ended(hashing, state)
        if self.names.expanded(found) != sum_:
            return None
        return self.names.algebra.state(found) ^ constant

"""J_0, the counter block before the text's first (SP 800-38D, 7.1), and E_K(J_0), a tag's mask.

An IV of 12 bytes is followed by the number 1. Any other is hashed, padded, with the block of its
length in bits behind it. From where J_0 is known it is IV ‖ N, like every counter: what is equal to
its definition is that.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from ghashgen.algebra.field.bitorder import BLOCK_BYTES
from ghashgen.algebra.ops.forms import Form, variable
from ghashgen.verify.core.numbers import combined
from ghashgen.verify.core.refutation import unsupported
from ghashgen.verify.core.term import Lane, Term
from ghashgen.verify.core.values import Linear
from ghashgen.verify.meaning.cipher import encrypted
from ghashgen.verify.meaning.counters import BASE, IV_BYTES, Counters
from ghashgen.verify.meaning.hashing import Blocks, Hashing, size_of
from ghashgen.verify.meaning.lengths import Lengths
from ghashgen.verify.meaning.letters import MASK, NONCE
from ghashgen.verify.meaning.names import Names
from ghashgen.verify.rules.state import Arrival, State

FIRST = -BLOCK_BYTES
"""The place of J_0, of which the text's first block is the next."""

IV_MASK = (1 << 8 * IV_BYTES) - 1
"""The bits of an IV of the usual size."""


class Initial:
    """J_0 of an IV, and the mask, whose ghost says that it is the variable M."""

    number, name = "iv_length", "mask"

    def __init__(self, names: Names, keys: Sequence[Lane]) -> None:
        self.iv = Blocks(NONCE, "iv")
        self.counters = Counters(names, keys, start=None, explicit=self.explicit)
        """The counters that go on from there."""
        self.hashing = Hashing(names, (self.iv,), "iv", ())
        self.lengths = Lengths(names, ("", self.number), "iv")

    def begin(self) -> dict[str, Any]:
        """Return no ghost: the mask has no name at the entry."""
        return {}

    def ghosts(self, data: object, unknowns: Mapping[str, object]) -> dict[str, Any]:
        """Return the ghost of an assertion: whether the mask has its name.

        Raises:
            Refutation: it says something else.
        """
        if not isinstance(data, bool):
            raise unsupported(f"no ghost of the mask: {data!r}")
        return {self.name: True} if data else {}

    def explicit(self) -> Lane | None:
        """Return J_0 where it is the IV and the number 1, None where it is not."""
        names = self.counters.names
        if not self._has_usual_size(names.state):
            return None
        iv = names.terms.moves(names.terms.variable(self.iv.name(0)), names.algebra.memory)
        return names.terms.xor(names.terms.keep(iv, IV_MASK), 1 << 8 * BLOCK_BYTES - 8)

    def _has_usual_size(self, state: State) -> bool | None:
        """Return whether the IV has 12 bytes; None: it may or may not."""
        return state.facts.equals(state.ghosts[self.number], IV_BYTES)

    def named(self, lane: Lane) -> Lane:
        """Return J_0, if it was hashed, as the counter block that it is; else part by part."""
        return self.counters.names.part_by_part(self.name, lane, self._named)

    def _named(self, lane: Term) -> Lane | None:
        names, terms = self.counters.names, self.counters.names.terms
        memory, register, state = names.algebra.memory, names.algebra.register, names.state
        usual = self._has_usual_size(state)
        if usual:
            if lane is not terms.variable(self.iv.name(0)):
                return None
            # Of the block of an IV of 12 bytes the other bytes are zeros.
            return terms.moves(terms.keep(terms.moves(lane, memory), IV_MASK), register)
        # It is hashed only where the IV certainly has another size.
        if usual is None or self.hashing.keys[0] not in state.ghosts:
            return lane
        _, hashed, _, _ = self.hashing.position(state.ghosts)
        left = combined(size_of(state.memory, self.iv.buffer), hashed, -1)
        form = terms.try_form(lane)
        if isinstance(left, Linear) or not names.has_product(lane) or form is None:
            return lane
        sum_, constant = self.lengths.ended(self.hashing, state)
        for in_memory in (True, False):
            found = form.moves(register, 128) if in_memory else form
            if names.sum_of(found ^ constant) == sum_:
                state.ghosts.setdefault(BASE, FIRST)
                block = self.counters.block(FIRST)
                return block if in_memory else terms.moves(block, register)
        return None

    def mask(self, state: State) -> Form:
        """Return the polynomials of E_K(J_0)."""
        if state.ghosts.get(self.name):
            return variable(MASK)
        return self.counters.stream(FIRST)

    def instance(self, arrival: Arrival) -> None:
        """Check that the state knows its mask, where an assertion has a name for it."""
        if self.name in arrival.to:
            self.mask(arrival.state)

    def value(self) -> Lane:
        """Return the mask, where an assertion names it."""
        names = self.counters.names
        if names.state.ghosts.get(self.name):
            return names.terms.variable(MASK)
        return encrypted(names.terms, self.counters.block(FIRST), self.counters.keys)

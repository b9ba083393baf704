"""J_0, the counter block before the text's first (SP 800-38D, 7.1), and E_K(J_0), a tag's mask.

An IV of 12 bytes is followed by the number 1. Any other is hashed, padded, with the block of its
length in bits behind it. From where J_0 is known it is IV ‖ N, like every counter: what is equal to
its definition is that.
"""

from collections.abc import Mapping, Sequence

from ghashgen.algebra.field.bitorder import BLOCK_BYTES
from ghashgen.algebra.ops.forms import Form, variable
from ghashgen.verify.core.numbers import combined
from ghashgen.verify.core.refutation import unsupported
from ghashgen.verify.core.term import CALLER, OPAQUE, RAW, Lane, Term
from ghashgen.verify.core.values import Linear, Value
from ghashgen.verify.meaning.cipher import encrypted
from ghashgen.verify.meaning.counters import BASE, IV_BYTES, Counters
from ghashgen.verify.meaning.hashing import Blocks, Hashing, size_of
from ghashgen.verify.meaning.lengths import Lengths
from ghashgen.verify.meaning.letters import MASK, NONCE
from ghashgen.verify.meaning.names import Names
from ghashgen.verify.rules.state import State

FIRST = -BLOCK_BYTES
"""The place of J_0, of which the text's first block is the next."""


class Initial:
    """J_0 of an IV, and the mask, whose ghost says that it is the variable M."""

    number, name = "iv_length", "mask"

    def __init__(self, names: Names, keys: Sequence[Lane]) -> None:
        self.iv = Blocks(NONCE, "iv")
        self.counters = Counters(names, keys, start=None, explicit=self.explicit)
        """The counters that go on from there."""
        self.hashing = Hashing(names, (self.iv,), "iv", ())
        self.lengths = Lengths(names, ("", self.number), "iv")

    def begin(self) -> dict[str, object]:
        """Return no ghost: the mask has no name at the entry."""
        return {}

    def ghosts(self, data: object, unknowns: Mapping[str, object]) -> dict[str, object]:
        """Return the ghost of an assertion: whether the mask has its name.

        Raises:
            Refutation: it says something else.
        """
        if not isinstance(data, bool):
            raise unsupported(f"no ghost of the mask: {data!r}")
        return {self.name: True} if data else {}

    def explicit(self) -> Lane | None:
        """Return J_0 where it is the IV and the number 1, None where it is not."""
        state = self.counters.names.state
        if not self._has_usual_size(state):
            return None
        return self.counters.names.always((FIRST, self.iv.letter), self._of_the_usual_size)

    def _of_the_usual_size(self) -> Lane:
        names = self.counters.names
        iv = self._short(names.terms.variable(self.iv.name(0)))
        return names.terms.xor(
            names.terms.moves(iv, names.algebra.memory), 1 << 8 * BLOCK_BYTES - 8
        )

    def _has_usual_size(self, state: State) -> bool | None:
        """Return whether the IV has 12 bytes; None: it may or may not."""
        size = state.ghosts[self.number]
        return state.facts.equals(size, IV_BYTES) if isinstance(size, int | Linear) else None

    def _short(self, lane: Lane) -> Lane:
        """Return a value of an IV of 12 bytes, of whose block the other bytes are zeros."""
        names = self.counters.names
        if lane != names.terms.variable(self.iv.name(0)):
            return names.rebuilt(lane, self._short) if isinstance(lane, Term) else lane
        memory, register = names.algebra.memory, names.algebra.register
        keep = (1 << 8 * IV_BYTES) - 1
        return names.terms.moves(names.terms.keep(names.terms.moves(lane, memory), keep), register)

    def named(self, lane: Lane) -> Lane:
        """Return J_0, if it was hashed, as the counter block that it is; else the value."""
        names = self.counters.names
        state: State = names.state
        if not isinstance(lane, Term) or lane.deps & (OPAQUE | CALLER | RAW):
            return lane
        usual = self._has_usual_size(state)
        if usual:
            return self._short(lane)
        # It is hashed only where the IV certainly has another size.
        if usual is None or self.hashing.keys[0] not in state.ghosts:
            return lane
        left = combined(
            size_of(state.memory, self.iv.buffer), self.hashing.position(state.ghosts)[1], -1
        )
        if isinstance(left, Linear) or not names.has_product(lane):
            return lane
        for moves, back in (
            (names.algebra.register, None),
            (None, names.algebra.register),
        ):
            if self._is_first(state, lane if moves is None else names.terms.moves(lane, moves)):
                state.ghosts.setdefault(BASE, FIRST)
                block = self.counters.block(FIRST)
                return block if back is None else names.terms.moves(block, back)
        return names.rebuilt(lane, self.named)

    def _is_first(self, state: State, register: Lane) -> bool:
        return self.counters.names.once(
            ("first", register), lambda: self.lengths.ends(register, self.hashing, state)
        )

    def mask(self, state: State) -> Form:
        """Return the polynomials of E_K(J_0)."""
        if state.ghosts.get(self.name):
            return variable(MASK)
        return self.counters.stream(FIRST)

    def instance(
        self, state: State, to: Mapping[str, object], bound: Mapping[str, Value], where: str
    ) -> None:
        """Check that the state knows its mask, where an assertion has a name for it."""
        if self.name in to:
            self.mask(state)

    def value(self) -> Lane:
        """Return the mask, where an assertion names it."""
        names = self.counters.names
        if names.state.ghosts.get(self.name):
            return names.terms.variable(MASK)
        return encrypted(names.terms, self.counters.block(FIRST), self.counters.keys)

"""Counter blocks and the keystream (SP 800-38D, 6.5): which block of counters is known by a name.

The counter block of the text at d is IV ‖ N + (d - base)/16 modulo 2^32, IV and N being variables:
any 96 bits and any number. `base` is a ghost, a place in the text, or within the block before it;
that of J_0 is -16. An assertion names the counter at a place of its choice. What another run called
it there is compared with it; from there on it is IV ‖ N again.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ghashgen.algebra.field.bitorder import BLOCK_BYTES
from ghashgen.algebra.ops.forms import Form, variable
from ghashgen.verify.core.numbers import Number, combined, parse, within
from ghashgen.verify.core.refutation import unsupported
from ghashgen.verify.core.term import Lane
from ghashgen.verify.core.terms import Terms
from ghashgen.verify.core.words import M32
from ghashgen.verify.machine.memory import Memory
from ghashgen.verify.meaning.cipher import encrypted
from ghashgen.verify.meaning.letters import COUNTER, IV, KEPT
from ghashgen.verify.meaning.names import Names
from ghashgen.verify.rules.assertion import require_known
from ghashgen.verify.rules.state import Arrival

IV_BYTES = 12
_BIG_ENDIAN = (*[-1] * IV_BYTES, 3, 2, 1, 0)

BASE = "counter"
"""The ghost that says where the counter is IV ‖ N."""


def counter_block(terms: Terms, number: int) -> Lane:
    """Return IV ‖ N + number modulo 2^32, as it is in memory."""
    iv = terms.keep(terms.variable(IV), (1 << 8 * IV_BYTES) - 1)
    word = terms.add_words(terms.keep(terms.variable(COUNTER), M32), number & M32)
    return terms.xor(iv, terms.bytes(word, _BIG_ENDIAN))


@dataclass
class Counters:
    """The counters of a text, and what they make under the round keys of a table."""

    names: Names
    keys: Sequence[Lane]
    start: Number | None = 0
    """Where the counter is IV ‖ N at the entry; None: nowhere yet."""
    begun: str = ""
    """The number that says where the text goes on, if not at 0: a block that has begun before has
    its keystream in the variable `KEPT`."""
    explicit: Callable[[], Lane | None] = lambda: None
    """Returns J_0 where no variable stands for it."""
    name: str = BASE

    def begin(self) -> dict[str, Any]:
        """Return the ghost at the entry."""
        return {} if self.start is None else {BASE: self.start}

    def ghosts(self, data: object, unknowns: Mapping[str, object]) -> dict[str, Any]:
        """Return the ghost of an assertion: a place, or None where no counter is known.

        Raises:
            Refutation: it is something else.
        """
        if data is None:
            return {}
        base = parse(data)
        require_known(base, unknowns, "the counter")
        return {BASE: base}

    def number(self, at: Number, base: Number | None = None) -> int:
        """Return what is added to N for the text at a place, of the state that is being run.

        Raises:
            Refutation: it is at no known distance.
        """
        base = self.names.state.ghosts.get(BASE) if base is None else base
        if base is None:
            raise unsupported("a counter that nobody knows")
        distance, facts = combined(at, base, -1), self.names.state.facts
        blocks = facts.least(distance) // BLOCK_BYTES
        if facts.greatest(distance) // BLOCK_BYTES != blocks:
            raise unsupported(f"the counter at {at}, of that at {base}")
        return blocks & M32  # type: ignore[no-any-return]

    def at_entry(self, memory: Memory, at: Number) -> Lane:
        """Return the counter block in memory as the caller left it: that of the first block."""
        # Behind a cut N may be another number: what memory holds is still that of the entry.
        return self.block(0)

    def first(self) -> Lane:
        """Return J_0 of an IV of 12 bytes: IV ‖ 1, as it is in memory."""
        iv = self.names.terms.keep(self.names.terms.variable(IV), (1 << 8 * IV_BYTES) - 1)
        return self.names.terms.xor(iv, 1 << 8 * BLOCK_BYTES - 8)

    def behind(self, end: Number) -> Lane:
        """Return the counter block of the first block that begins at a place or behind it."""
        if within(self.names.state.ghosts.get(BASE, 0), BLOCK_BYTES) != 0:
            raise unsupported("a counter within a block")
        return self._block(combined(end, BLOCK_BYTES - 1))

    def block(self, at: Number) -> Lane:
        """Return the counter block at a place, as it stands in memory."""
        if at != self.names.state.ghosts.get(BASE) and within(at, BLOCK_BYTES) != 0:
            raise unsupported(f"a counter within a block, at {at}")
        return self._block(at)

    def _block(self, at: Number) -> Lane:
        first = None if BASE in self.names.state.ghosts else self.explicit()
        if first is None:
            number = self.number(at)
            return self.names.always(
                ("counter", number), lambda: counter_block(self.names.terms, number)
            )
        terms = self.names.terms
        number = 1 + self.number(at, -BLOCK_BYTES) & M32
        iv = terms.xor(first, 1 << 8 * BLOCK_BYTES - 8)
        return terms.xor(iv, int.from_bytes(number.to_bytes(4, "big"), "little") << 8 * IV_BYTES)

    def stream(self, at: Number) -> Form:
        """Return the polynomials of the keystream at a place.

        Raises:
            Refutation: it is not known.
        """
        state = self.names.state
        if self.begun:
            before = state.facts.below(combined(at, state.ghosts[self.begun], -1), 0)
            if before is None:
                raise unsupported(f"the keystream at {at}, which may have begun before")
            if before:
                return self.names.always(("stream", KEPT), lambda: variable(KEPT))
        block = self.block(at)
        terms = self.names.terms
        return self.names.always(
            ("stream", block), lambda: terms.form(encrypted(terms, block, self.keys))
        )

    def instance(self, arrival: Arrival) -> None:
        """Check that the state knows its counters: which one is named is of no consequence."""
        if BASE in arrival.to:
            self.block(arrival.to[BASE])

"""The text: what is written is what is read plus the keystream, and how far it is so.

The ghost `output` is a place: before it everything that was to be written is written and right, and
nothing writes there again; behind it the state holds what has been written since.
"""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from ghashgen.algebra.field.bitorder import BLOCK_BYTES
from ghashgen.algebra.ops.forms import Form, variable
from ghashgen.verify.core.linear import Fork
from ghashgen.verify.core.numbers import Number, combined, parse, parts, unknown, within
from ghashgen.verify.core.refutation import Category, Refutation, unsupported
from ghashgen.verify.core.term import Lane, Term
from ghashgen.verify.core.values import Linear
from ghashgen.verify.machine.memory import Memory
from ghashgen.verify.meaning.counters import Counters
from ghashgen.verify.meaning.hashing import Blocks, block_at, content, size_of
from ghashgen.verify.meaning.names import Names, Partial
from ghashgen.verify.rules.assertion import require_known
from ghashgen.verify.rules.state import Arrival, State

ANSWER, RIGHT, DIFFERS = "answer", "right", "differs"
"""The ghost that says whether a tag is right, once that is known: the output is zeros if not."""

DONE = "output"
"""The ghost that says up to where the output is right."""


@dataclass
class Text:
    """Input and output of one length, in two buffers or in one."""

    names: Names
    counters: Counters
    read: Blocks
    """The blocks that are read."""
    hashed: Blocks
    """The blocks that are hashed: those read, or those written."""
    out: str = "output"
    """The buffer that is written."""
    name: str = DONE
    _last: tuple[Arrival, set[int]] | None = field(default=None, init=False, repr=False)

    @property
    def encrypting(self) -> bool:
        """Whether what is written is hashed."""
        return self.read is not self.hashed

    def begin(self) -> dict[str, Any]:
        """Return the ghost at the entry."""
        return {DONE: unknown(self.counters.begun) if self.counters.begun else 0}

    def ghosts(self, data: object, unknowns: Mapping[str, object]) -> dict[str, Any]:
        """Return the ghost of an assertion: a multiple of 16 bytes.

        Raises:
            Refutation: it is something else.
        """
        at = parse(data)
        require_known(at, unknowns, "the output")
        if within(at, BLOCK_BYTES) != 0 and data != "length":
            raise unsupported("an output that ends within a block")
        return {DONE: at}

    # What is read.

    def input(self, memory: Memory, at: Number) -> Lane | None:
        """Return 16 bytes of the input as they are at first.

        Input and output may be one buffer. So what is read must not have been written over, as if
        they were one: then a run takes the same course and gives the same, whether they are or not.
        `Region.over` sees to what is written, and this to what is known to be right.

        Raises:
            Refutation: it may have been.
        """
        region = memory.regions[self.out]
        end = region.done
        assert end is not None
        # Nothing of the block in which it begins is done yet, if it begins within one.
        before = end != region.low and memory.facts.below(combined(at, end, -1), 0) is not False
        if before or self.names.state.ghosts.get(ANSWER) == DIFFERS:
            raise unsupported("a text that is read after it has been written over")
        return content(self.names, self.read, memory, at)

    def output(self, memory: Memory, at: Number) -> Lane | None:
        """Return 16 bytes of the output that are known to be right; None where they are not."""
        end = memory.regions[self.out].done
        assert end is not None
        facts, before = memory.facts, combined(end, at, -1)
        if facts.below(before, BLOCK_BYTES) is not False or facts.below(at, 0) is not False:
            return None
        if not self.encrypting or self.names.state.ghosts.get(ANSWER) == DIFFERS:
            raise unsupported("a text that is read again")
        block = self.names.terms.variable(self.hashed.name(at))
        return self.names.terms.moves(block, self.names.algebra.memory)

    # What is written.

    def wanted(self, at: Number, mask: int, read: str = "") -> Form:
        """Return the polynomials of some bytes of a block of the output, with zeros beside them.

        `read` is the variable of what is read there, if it is not the block's.
        """
        if self.names.state.ghosts.get(ANSWER) == DIFFERS:
            return Form(128)
        name, stream = read or self.read.name(at), self.counters.stream(at)

        def find() -> Form:
            block = variable(name).moves(self.names.algebra.memory, 128)
            return (stream ^ block).mask(mask)

        # A stream that is known stays, so its identity stands for it.
        return self.names.always(("wanted", name, id(stream), mask), find)

    def begun(self, state: State) -> bool:
        """Return whether any of it may have been written, now or before."""
        first = state.memory.regions[self.out].low
        return state.ghosts[DONE] != first or bool(state.memory.written[self.out])

    def block(self, lane: Term) -> Lane:
        """Return a block of the output as what is hashed, in memory or in a register, by name.

        In a sum of linear functions, part by part.
        """
        return self.names.part_by_part("text", lane, self._block)

    def _block(self, lane: Term) -> Lane | None:
        # Bytes of a partial block may have been taken one by one.
        alone = Partial(self.read.letter, 0, 0).bytes
        form = self.names.terms.try_form(lane)
        names = () if form is None else form.linear
        texts = [name for name in names if name.startswith((self.read.letter, alone))]
        if len(texts) != 1:
            return None if texts or form is None else lane
        at = parse(texts[0].removeprefix(alone).removeprefix(self.read.letter))
        mask, facts = 0, self.names.state.facts
        # The name of a block stays where an unknown in it becomes a number.
        if all(u in facts.ranges for u, _ in parts(at)[1]):
            with suppress(Refutation, Fork):
                mask = block_at(self.read, self.names.state.memory, at).mask
        if mask > 0:
            with suppress(Refutation):  # A keystream that is not known names nothing.
                wanted, name = self.wanted(at, mask, texts[0]), self.hashed.name(at)
                # What is wanted stays, too.
                key = "name", lane, name, id(wanted)
                return self.names.always(key, lambda: self.names.as_name(lane, wanted, name))
        return None

    # How far it is right.

    def folded(self, arrival: Arrival) -> set[int]:
        """Check what is written up to where an assertion says, once, and return it."""
        if self._last is None or self._last[0] is not arrival:
            self._last = arrival, self._folded(arrival)
        return self._last[1]

    def _folded(self, arrival: Arrival) -> set[int]:
        state, where = arrival.state, arrival.where
        at, end, memory = state.ghosts[DONE], arrival.to[DONE], state.memory
        distance = combined(end, at, -1)
        if (least := state.facts.least(distance)) == state.facts.greatest(distance):
            distance = least
        if isinstance(distance, Linear) or distance < 0:
            raise unsupported(where + f"the output right up to {end}, and before up to {at}")
        return self._right(memory, at, distance, where)

    def _right(self, memory: Memory, at: Number, size: int, where: str) -> set[int]:
        """Check so many bytes from a place on, block by block, and return them.

        Raises:
            Fork: where blocks begin depends on the unknowns.
            Refutation: they are wrong.
        """
        if not size:
            return set()
        inside = memory.key(at) % BLOCK_BYTES
        at, end = combined(at, inside, -1), size + inside
        return set().union(*(
            self._right_block(
                memory, combined(at, k), max(inside - k, 0), min(BLOCK_BYTES, end - k), where
            )
            for k in range(0, end, BLOCK_BYTES)
        ))  # fmt: skip

    def _right_block(
        self, memory: Memory, at: Number, first: int, end: int, where: str
    ) -> set[int]:
        partial, place = Partial(self.read.name(at), first, end), memory.key(at)
        keys = range(place + first, place + end)
        if any(k not in memory.written[self.out] for k in keys):
            raise Refutation(Category.FUNCTION, where + f"the output at {at} is not written")
        lane = memory._read(self.out, place + first, end - first)
        if first and isinstance(lane, int | Term):
            lane = self.names.terms.moves(lane, ((8 * first, partial.mask),))
        if not isinstance(lane, int | Term) or not self.names.once(
            ("right", lane, partial), lambda: self._is_right(lane, at, partial)
        ):
            raise Refutation(Category.FUNCTION, where + f"the output at {at} is wrong")
        return set(keys)

    def _is_right(self, lane: Lane, at: Number, partial: Partial) -> bool:
        """Return whether these bytes of a block are as they should be, with zeros beside them."""
        form = self.names.terms.try_form(lane)
        known = (self.wanted(at, partial.mask, read) for read in ("", partial.bytes))
        if form is not None and form in known:
            return True
        block = variable(self.hashed.name(at)).moves(self.names.algebra.memory, 128)
        text = self.encrypting and self.names.state.ghosts.get(ANSWER) != DIFFERS
        # What has no polynomials equals nothing, and a text that is read has no other name.
        found = self.names.terms.try_form(self.names.named(lane))
        return text and found is not None and found == block.mask(partial.mask)

    def check_end(self, state: State) -> None:
        """Compare what is left of the output.

        Raises:
            Fork: how much that is depends on the unknowns.
            Refutation: it is wrong.
        """
        memory = state.memory
        at = state.ghosts[DONE]
        left = state.facts.known(combined(size_of(memory, self.read.buffer), at, -1))
        right = self._right(memory, at, left, "")
        if memory.written[self.out].keys() - right:
            raise Refutation(Category.FUNCTION, "more is written than the output")

    def instance(self, arrival: Arrival) -> None:
        """Check that the output is right up to a place (where nothing is written, too)."""
        self.folded(arrival)
        size = size_of(arrival.state.memory, self.read.buffer)
        if not arrival.state.facts.shows(combined(size, arrival.to[DONE], -1)):
            raise unsupported(arrival.where + "an output beyond its end")

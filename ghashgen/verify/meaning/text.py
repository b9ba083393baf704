"""The text: what is written is what is read plus the keystream, and how far it is so.

The ghost `output` is a place: before it everything that was to be written is written and right, and
nothing writes there again; behind it the state holds what has been written since.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from ghashgen.algebra.field.bitorder import BLOCK_BYTES
from ghashgen.algebra.ops.forms import Form, variable
from ghashgen.verify.core.numbers import Number, combined, parse, parts, whole
from ghashgen.verify.core.refutation import Category, Refutation, unsupported
from ghashgen.verify.core.term import CALLER, OPAQUE, RAW, Lane, Term
from ghashgen.verify.core.values import Linear, Value
from ghashgen.verify.core.variables import Variables
from ghashgen.verify.meaning.counters import Counters
from ghashgen.verify.meaning.hashing import Blocks, content, size_of
from ghashgen.verify.meaning.names import Names, Partial
from ghashgen.verify.rules.assertion import require_known
from ghashgen.verify.rules.state import State
from ghashgen.verify.x86_64.memory import Memory

ANSWER, RIGHT, DIFFERS = "answer", "right", "differs"
"""The ghost that says whether a tag is right, once that is known: the output is zeros if not."""

DONE = "output"
"""The ghost that says up to where the output is right."""


@dataclass
class Text:
    """Input and output of one length, apart or in one buffer."""

    names: Names
    counters: Counters
    read: Blocks
    """The blocks that are read."""
    hashed: Blocks
    """The blocks that are hashed: those read, or those written."""
    out: str
    """The buffer that is written: `read.buffer` where it is done in place."""
    name: str = DONE
    variables: Variables = field(init=False)

    def __post_init__(self) -> None:
        self.variables = Variables(self.names.terms)

    @property
    def encrypting(self) -> bool:
        """Whether what is written is hashed."""
        return self.read is not self.hashed

    def begin(self) -> dict[str, object]:
        """Return the ghost at the entry."""
        return {DONE: 0}

    def ghosts(self, data: object, unknowns: Mapping[str, object]) -> dict[str, object]:
        """Return the ghost of an assertion: a multiple of 16 bytes.

        Raises:
            Refutation: it is something else.
        """
        at = parse(data)
        require_known(at, unknowns, "the output")
        c, k = parts(at)
        within = c % BLOCK_BYTES or any(n % BLOCK_BYTES for _, n in k)
        if within and data != "length":
            raise unsupported("an output that ends within a block")
        return {DONE: at}

    def done(self, ghosts: Mapping[str, object]) -> Number:
        """Return up to where the output is right."""
        at = ghosts[DONE]
        assert isinstance(at, int | Linear)
        return at

    # What is read.

    def input(self, memory: Memory, at: Number) -> Lane | None:
        """Return 16 bytes of the input as they are at first; in place, what is written by now.

        Raises:
            Refutation: that is not known.
        """
        if self.out == self.read.buffer:
            end = memory.regions[self.out].done
            assert end is not None
            before = memory.facts.below(combined(at, whole(end), -1), 0) is not False
            if before and (written := self.output(memory, at)) is not None:
                return written
            if before or self.names.state.ghosts.get(ANSWER) == DIFFERS:
                raise unsupported("a text that is read after it has been written over")
        return content(self.names, self.read, memory, at)

    def output(self, memory: Memory, at: Number) -> Lane | None:
        """Return 16 bytes of the output that are known to be right; None where they are not."""
        end = memory.regions[self.out].done
        assert end is not None
        facts, before = memory.facts, combined(whole(end), at, -1)
        if facts.below(before, BLOCK_BYTES) is not False or facts.below(at, 0) is not False:
            return None
        if not self.encrypting or self.names.state.ghosts.get(ANSWER) == DIFFERS:
            raise unsupported("a text that is read again")
        block = self.names.terms.variable(self.hashed.name(at))
        return self.names.terms.moves(block, self.names.algebra.memory)

    # What is written.

    def wanted(self, at: Number, present: int, read: str = "") -> Form:
        """Return the polynomials of so many bytes of the output, with zeros behind them.

        `read` is the variable of what is read there, if it is not the block's.
        """
        if self.names.state.ghosts.get(ANSWER) == DIFFERS:
            return Form(128)
        name, counter = read or self.read.name(at), self.counters.block(at)

        def find() -> Form:
            block = variable(name).moves(self.names.algebra.memory, 128)
            return (self.counters.stream(at) ^ block).mask((1 << 8 * present) - 1)

        return self.names.always(("wanted", counter, name, present), find)

    def begun(self, state: State) -> bool:
        """Return whether any of it may have been written, now or before."""
        return self.done(state.ghosts) != 0 or bool(state.memory.written[self.out])

    def present(self, memory: Memory, at: Number) -> int:
        """Return how many bytes the block at a place has; 0 where that is not known."""
        left = combined(size_of(memory, self.read.buffer), at, -1)
        if memory.facts.below(left, BLOCK_BYTES) is False:
            return BLOCK_BYTES
        return left if isinstance(left, int) and left > 0 else 0

    def block(self, lane: Term) -> Lane:
        """Return a block of the output as what is hashed, in memory or in a register, by name.

        In a sum of linear functions, part by part.
        """
        return self.names.once(("text", lane), lambda: self._block(lane))

    def _block(self, lane: Term) -> Lane:
        if lane.deps & (OPAQUE | CALLER | RAW):
            return lane
        texts = [n for n in self.variables.of(lane) if n[0] == self.read.letter]
        if not texts:
            return lane
        if len(texts) == 1:
            at = parse(texts[0][1:])
            present = self.present(self.names.state.memory, at)
            form = self.names.terms.try_form(lane) if present else None
            if form is not None:
                wanted, moves = self.wanted(at, present), self.names.algebra
                name = self.names.terms.variable(self.hashed.name(at))
                if form == wanted:
                    return self.names.terms.moves(name, moves.memory)
                # Bytes are moved only if it may be: of the same variables.
                alike = form.linear.keys() == wanted.linear.keys()
                if alike and form == wanted.moves(moves.register, 128):
                    return name
        return self.names.rebuilt(lane, self.block)

    # How far it is right.

    def folded(self, state: State, to: Mapping[str, object], where: str) -> set[int]:
        """Check what is written up to where an assertion says, and return it."""
        at, end, memory = self.done(state.ghosts), self.done(to), state.memory
        distance = combined(end, at, -1)
        if isinstance(distance, Linear) or distance < 0:
            raise unsupported(where + f"the output right up to {end}, and before up to {at}")
        out: set[int] = set()
        for k in range(0, distance, BLOCK_BYTES):
            out |= self._right(memory, combined(at, k), min(BLOCK_BYTES, distance - k), where)
        return out

    def _right(self, memory: Memory, at: Number, present: int, where: str) -> set[int]:
        first = memory.key(at)
        keys = range(first, first + present)
        if any(k not in memory.written[self.out] for k in keys):
            raise Refutation(Category.FUNCTION, where + f"the output at {at} is not written")
        lane = memory._read(self.out, first, present)
        form = self.names.terms.try_form(lane) if isinstance(lane, int | Term) else None
        # Bytes of a last block may have been taken one by one.
        alone = Partial(self.read.name(at), present).bytes
        if form is None or form not in (self.wanted(at, present), self.wanted(at, present, alone)):
            named = self.names.named(lane) if isinstance(lane, Term) else lane
            block = variable(self.hashed.name(at)).moves(self.names.algebra.memory, 128)
            text = self.encrypting and self.names.state.ghosts.get(ANSWER) != DIFFERS
            right = block.mask((1 << 8 * present) - 1) if text else None
            # What has no polynomials equals nothing, and a text that is read has no other name.
            known = self.names.terms.try_form(named) if isinstance(named, int | Term) else None
            if known is None or known != right:
                raise Refutation(Category.FUNCTION, where + f"the output at {at} is wrong")
        return set(keys)

    def check_end(self, state: State) -> None:
        """Compare what is left of the output.

        Raises:
            Fork: how much that is depends on the unknowns.
            Refutation: it is wrong.
        """
        memory = state.memory
        at = self.done(state.ghosts)
        left = combined(size_of(memory, self.read.buffer), at, -1)
        if isinstance(left, Linear):
            state.facts.near(left)
            raise unsupported(f"an end that is {left} bytes away")
        right: set[int] = set()
        for k in range(0, left, BLOCK_BYTES):
            right |= self._right(memory, combined(at, k), min(BLOCK_BYTES, left - k), "")
        if memory.written[self.out].keys() - right:
            raise Refutation(Category.FUNCTION, "more is written than the output")

    def instance(
        self, state: State, to: Mapping[str, object], bound: Mapping[str, Value], where: str
    ) -> None:
        """Check that the output is right up to a place (where nothing is written, too)."""
        self.folded(state, to, where)
        left = combined(size_of(state.memory, self.read.buffer), self.done(to), -1)
        if not state.facts.shows(left):
            raise unsupported(where + "an output beyond its end")

"""A message in pieces: the 96 bytes of its state (docs/gcm-streams.md, "The state").

Its numbers stand in memory; a function is called with any that a message may have, and with any
others in a phase that is no message's. Places in a piece count from the message's beginning, so
that blocks are where they are in the message: the piece begins at the length so far.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from ghashgen.algebra.field.bitorder import BLOCK_BYTES
from ghashgen.algebra.ops.forms import Form
from ghashgen.verify.core.limits import EVERY, GREATEST_OTHER, GREATEST_TEXT
from ghashgen.verify.core.linear import Case
from ghashgen.verify.core.numbers import Number, combined, unknown
from ghashgen.verify.core.refutation import Category, Refutation
from ghashgen.verify.core.term import Lane
from ghashgen.verify.core.values import Linear, Pointer
from ghashgen.verify.machine.memory import Memory
from ghashgen.verify.machine.regions import Access
from ghashgen.verify.meaning.counters import KEPT, Counters
from ghashgen.verify.meaning.function import Buffer, Function
from ghashgen.verify.meaning.hashing import STATE
from ghashgen.verify.meaning.letters import MASK
from ghashgen.verify.meaning.names import Names
from ghashgen.verify.meaning.status import check_status, number_of, one_of
from ghashgen.verify.rules.state import State

STREAM, STREAM_BYTES, NUMBER_BYTES = "stream", 96, 8
COUNTER_AT, MASK_AT, KEPT_AT, NUMBERS_AT, END_AT = 16, 32, 48, 64, 88
"""Where the counter block, E_K(J_0), the kept keystream, the numbers and the last bytes are; X is
at 0."""

AAD_DONE, TEXT_DONE, PHASE = "aad_done", "text_done", "phase"
"""Bytes of AAD and of text so far, and the phase."""

NONE, ASSOCIATED, TEXT = range(3)
"""Phases: no message; AAD may come; text has."""

NUMBERS = dict.fromkeys((AAD_DONE, TEXT_DONE, PHASE), (0, EVERY))
HELD = {name: (STREAM, NUMBERS_AT + NUMBER_BYTES * k) for k, name in enumerate(NUMBERS)}

_TEXT, _AAD_LEFT = unknown(TEXT_DONE), combined(GREATEST_OTHER, unknown(AAD_DONE), -1)

PROMISED = (
    Case((_AAD_LEFT,), ((TEXT_DONE, 0), (PHASE, ASSOCIATED))),
    Case((_AAD_LEFT, combined(_TEXT, 1, -1), combined(GREATEST_TEXT, _TEXT, -1)), ((PHASE, TEXT),)),
    Case((), ((PHASE, NONE),)),
    Case((combined(unknown(PHASE), TEXT + 1, -1),)),
)
"""The numbers of a state: of a message whose AAD or whose text comes, and those of none."""


def is_associated(state: State) -> bool:
    """Return whether AAD may come."""
    return one_of(state, PHASE, frozenset((ASSOCIATED,)))


def is_message(state: State) -> bool:
    """Return whether the state is that of a message."""
    return one_of(state, PHASE, frozenset((ASSOCIATED, TEXT)))


def begun(state: State, name: str) -> bool:
    """Return whether a length so far ends within a block.

    Raises:
        Fork: that depends on the unknowns.
    """
    n = number_of(state, name)
    inside = state.facts.low_bits(n, 4) if isinstance(n, Linear) else n % BLOCK_BYTES
    return inside != 0


@dataclass
class Stream:
    """The state as a function finds it, and as it leaves it."""

    names: Names
    counters: Counters | None = None
    """What follows the counter block, if it changes."""
    buffer: Buffer = field(init=False)

    def __post_init__(self) -> None:
        self.buffer = Buffer(Access.UPDATE, STREAM_BYTES, self.content)

    def content(self, memory: Memory, at: Number) -> Lane | None:
        """Return 16 bytes as they are at first; none for the numbers."""
        terms, moves = self.names.terms, self.names.algebra.memory
        if at == COUNTER_AT and self.counters is not None:
            return self.counters.block(number_of(self.names.state, TEXT_DONE))
        if at == 0:
            return terms.moves(terms.variable(STATE), moves)
        letters = {COUNTER_AT: "I", MASK_AT: MASK, KEPT_AT: KEPT}
        return terms.variable(letters[at]) if isinstance(at, int) and at in letters else None

    def check_refused(self, state: State, status: int, *others: str) -> None:
        """Require a status, and that nothing has been written."""
        check_status(state, status)
        written = state.memory.written
        before = {
            at + k: (state.ghosts[name], k)
            for name, (_, at) in HELD.items()
            for k in range(NUMBER_BYTES)
        }
        if written[STREAM] != before or any(written[name] for name in others):
            raise Refutation(Category.FUNCTION, "something is written, though the call is refused")

    def check(
        self, f: Function, state: State, cells: Mapping[int, Form], numbers: Mapping[str, Number]
    ) -> None:
        """Compare what is new behind X: some cells and numbers. Nothing else may be written.

        Raises:
            Refutation: they differ, or something is.
        """
        memory, left = state.memory, {*range(BLOCK_BYTES, NUMBERS_AT), *range(END_AT, STREAM_BYTES)}
        for at, wanted in cells.items():
            what = f"byte {at} of the state"
            f.compare(f.held_in(state, STREAM, what, at), wanted, what)
            left -= {*range(at, at + BLOCK_BYTES)}
        if left & memory.written[STREAM].keys():
            raise Refutation(Category.FUNCTION, "what stays in the state is written")
        for name, (region, at) in HELD.items():
            found = memory.load(Pointer(region, at), NUMBER_BYTES)
            off: Number = 1
            if isinstance(found, int | Linear):
                off = combined(found, numbers.get(name, number_of(state, name)), -1)
            if state.facts.equals(off, 0) is not True:
                raise Refutation(Category.FUNCTION, f"{name}, in the state, is wrong")


def check_cells(f: Function, state: State, cells: Sequence[Form]) -> None:
    """Compare a whole state, 16 bytes at a time.

    Raises:
        Refutation: it differs.
    """
    for k, wanted in enumerate(cells):
        what = f"byte {BLOCK_BYTES * k} of the state"
        f.compare(f.cell(state, STREAM, what, BLOCK_BYTES * k), wanted, what)

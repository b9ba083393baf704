"""A message in pieces: the 96 bytes of its state (docs/gcm-streams.md, "The state").

Its numbers stand in memory; a function is called with any that a message may have, and with any
others in a phase that is no message's. Places in a piece count from the message's beginning, so
that blocks are where they are in the message: the piece begins at the length so far.
"""

from collections.abc import Iterator

from ghashgen.algebra.field.bitorder import BLOCK_BYTES
from ghashgen.algebra.ops.forms import Form, constant, variable
from ghashgen.verify.core import limits
from ghashgen.verify.core.linear import Case
from ghashgen.verify.core.numbers import Number, combined, unknown
from ghashgen.verify.core.term import Lane
from ghashgen.verify.machine.memory import Memory
from ghashgen.verify.machine.regions import Access
from ghashgen.verify.meaning.buffers import NUMBER_BYTES, Buffer, Left
from ghashgen.verify.meaning.counters import Counters
from ghashgen.verify.meaning.hashing import Hashing, Sums, size_of
from ghashgen.verify.meaning.initial import Initial
from ghashgen.verify.meaning.letters import IV, KEPT, MASK, STATE
from ghashgen.verify.meaning.names import Names
from ghashgen.verify.meaning.status import one_of, outside
from ghashgen.verify.rules.state import State

STREAM, STREAM_BYTES = "stream", 96
COUNTER_AT, MASK_AT, KEPT_AT, NUMBERS_AT = 16, 32, 48, 64
"""Where the counter block, E_K(J_0), the kept keystream and the numbers are; X is at 0."""

AAD_DONE, TEXT_DONE, PHASE = "aad_done", "text_done", "phase"
"""Bytes of AAD and of text so far, and the phase."""

NONE, ASSOCIATED, TEXT = range(3)
"""Phases: no message; AAD may come; text has."""

MOST = {AAD_DONE: limits.GREATEST_OTHER, TEXT_DONE: limits.GREATEST_TEXT}

NUMBERS = dict.fromkeys((AAD_DONE, TEXT_DONE, PHASE), (0, limits.EVERY))
HELD = {name: (STREAM, NUMBERS_AT + NUMBER_BYTES * k) for k, name in enumerate(NUMBERS)}

_TEXT, _TEXT_LEFT = unknown(TEXT_DONE), combined(limits.GREATEST_TEXT, unknown(TEXT_DONE), -1)
_AAD_LEFT = combined(limits.GREATEST_OTHER, unknown(AAD_DONE), -1)

PROMISED = (
    Case((_AAD_LEFT,), ((TEXT_DONE, 0), (PHASE, ASSOCIATED))),
    Case((_AAD_LEFT, combined(_TEXT, 1, -1), _TEXT_LEFT), ((PHASE, TEXT),)),
    Case((), ((PHASE, NONE),)),
    Case((combined(unknown(PHASE), TEXT + 1, -1),)),
)
"""The numbers of a state: of a message whose AAD or whose text comes, and those of none."""


def buffer(names: Names, counters: Counters | None) -> Buffer:
    """Return the state as a function finds it; `counters` follow its counter block, if any do."""
    terms, moves = names.terms, names.algebra.memory

    def content(memory: Memory, at: Number) -> Lane | None:
        """Return 16 bytes as they are at first; none for the numbers."""
        if at == COUNTER_AT and counters is not None:
            return counters.block(names.state.ghosts[TEXT_DONE])
        if at == 0:
            return terms.moves(terms.variable(STATE), moves)
        letters = {COUNTER_AT: IV, MASK_AT: MASK, KEPT_AT: KEPT}
        return terms.variable(letters[at]) if isinstance(at, int) and at in letters else None

    return Buffer(Access.UPDATE, STREAM_BYTES, content)


def _is_associated(state: State) -> bool:
    """Return whether AAD may come."""
    return one_of(state, PHASE, frozenset((ASSOCIATED,)))


def padded(state: State, ended: bool) -> Sums:
    """Return X where a begun block of AAD is full of zeros; at the end, one of text too."""
    last = AAD_DONE if _is_associated(state) else TEXT_DONE if ended else ""
    return ((STATE, int(last != "" and state.facts.low_bits(state.ghosts[last], 4) != 0)),)


def refused(state: State, hashing: Hashing) -> int | None:
    """Return the status of a call that changes nothing, None for any other.

    Raises:
        Fork: which it is depends on the unknowns.
    """
    goes_on = hashing.start
    turns = (ASSOCIATED,) if goes_on == AAD_DONE else (ASSOCIATED, TEXT)
    if not one_of(state, PHASE, frozenset(turns)):
        return limits.MISPLACED
    if not hashing.order:
        return None
    total = size_of(state.memory, hashing.order[0].buffer)
    if outside(state, (total, 0, MOST[goes_on])):
        return limits.REFUSED
    some = "a piece of no bytes, or of some"
    empty = goes_on == TEXT_DONE and state.facts.zero(state.ghosts["length"], some)
    return limits.DONE if empty else None


def at_start(state: State, initial: Initial) -> Iterator[Left]:
    """Yield the state of a message of which nothing has come yet."""
    counter = initial.counters.names.terms.form(initial.counters.block(0))
    zeros = Form(128)
    yield from _cells(zeros, counter, initial.mask(state), zeros, zeros, constant(ASSOCIATED, 128))


def at_end() -> Iterator[Left]:
    """Yield the state of a message that is over: zeros."""
    return _cells(*[Form(128)] * (STREAM_BYTES // BLOCK_BYTES))


def after(state: State, hashing: Hashing, counters: Counters) -> Iterator[Left]:
    """Yield the state after a piece of a message; the rest of it stays."""
    total = size_of(state.memory, hashing.order[0].buffer)
    numbers = {name: state.ghosts[name] for name in NUMBERS} | {hashing.start: total}
    yield Left(STREAM, 0, "the state", hashing.at_end(state))
    if hashing.start == TEXT_DONE:
        numbers[PHASE] = TEXT
        inside = state.facts.low_bits(total, 4)
        last = combined(total, inside, -1)
        block = counters.block(combined(last, BLOCK_BYTES if inside else 0))
        yield _cell(COUNTER_AT, counters.names.terms.form(block))
        yield _cell(KEPT_AT, counters.stream(last) if inside else variable(KEPT))
    for name, (_, at) in HELD.items():
        yield Left(STREAM, at, f"{name}, in the state,", numbers[name])


def _cells(*wanted: Form) -> Iterator[Left]:
    return (_cell(BLOCK_BYTES * k, form) for k, form in enumerate(wanted))


def _cell(at: int, wanted: Form) -> Left:
    return Left(STREAM, at, f"byte {at} of the state", wanted)

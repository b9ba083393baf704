"""What several states hold in the same places."""

from collections.abc import Sequence
from typing import Any

from ghashgen.verify.core.numbers import combined, unknown
from ghashgen.verify.core.refutation import Refutation
from ghashgen.verify.core.values import Pointer
from ghashgen.verify.meaning.buffers import NUMBER_BYTES
from ghashgen.verify.meaning.function import Function
from ghashgen.verify.meaning.initial import Initial
from ghashgen.verify.meaning.records import (
    COUNT,
    MESSAGES,
    MOST_RECORDS,
    OTHER_WORDS,
    PLACE,
    RECORD,
    WINDOW,
    Records,
)
from ghashgen.verify.rules.state import State


def records(meaning: Function, one: Any, facts: Sequence[str] = (f"{COUNT}-{RECORD}-1",)) -> Any:
    """Return an assertion with what it says of the array of messages, if there is one."""
    if isinstance(meaning, Records) and one is not None:
        numbers = {n: unknown(n) for n in meaning.numbers}
        for at, value in meaning.words(numbers):
            place = combined(meaning.at(numbers), at)
            said = ["p", value.region, "0"] if isinstance(value, Pointer) else ["n", str(value)]
            one["places"][f"{MESSAGES}+{place}:{NUMBER_BYTES}"] = said
        ends = {COUNT: (0, MOST_RECORDS), RECORD: (0, MOST_RECORDS), PLACE: (0, 0), WINDOW: (1, 1)}
        for n, (low, high) in ends.items():
            one["unknowns"].setdefault(n, [low, high])
        one["facts"] += [fact for fact in facts if fact not in one["facts"]]
    return one


def written_cells(states: Sequence[State], region: str) -> list[tuple[int, int]]:
    """Return the bytes that may have been written, in pieces that each hold one value."""
    if region in (MESSAGES, OTHER_WORDS):
        return []
    written = [state.memory.written[region] for state in states]
    left = sorted(set().union(*written))
    out: list[tuple[int, int]] = []
    for first in left:
        if out and first < sum(out[-1]):
            continue
        size = 1
        for n in (16, 8, 4, 2):
            pieces: Any = [[w.get(first + k) for k in range(n)] for w in written]
            if all(
                None not in p and all(x[0] is p[0][0] and x[1] == k for k, x in enumerate(p))
                for p in pieces
            ):
                size = n
                break
        out.append((first, size))
    return out


def is_mask(
    meaning: Function, initial: Initial, states: Sequence[State], values: Sequence[Any]
) -> bool:
    """Return whether a value is E_K(J_0) in every state."""
    for state, v in zip(states, values, strict=True):
        meaning.entering(state)
        form = meaning.terms.try_form(v)
        if form is None or not any(n[0] in "SM" for n in form.linear):
            return False
        try:
            if form != initial.mask(state):
                return False
        except Refutation:
            return False
    return True

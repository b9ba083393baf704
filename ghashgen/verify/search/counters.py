"""Which counter blocks a value is made of: the place of the first, and in which layout."""

from collections.abc import Callable
from contextlib import suppress
from typing import Any

from ghashgen.algebra.field.bitorder import BLOCK_BYTES
from ghashgen.algebra.ops.forms import Form, Moves
from ghashgen.verify.core.moves import byte_moves
from ghashgen.verify.core.numbers import Number, combined, within
from ghashgen.verify.core.refutation import Refutation
from ghashgen.verify.core.term import MASK128, Lane
from ghashgen.verify.meaning.algebra import ROUND_KEY
from ghashgen.verify.meaning.counters import Counters
from ghashgen.verify.meaning.function import Function
from ghashgen.verify.rules.state import State

WHOLE = ((0, MASK128),)
TURNED = byte_moves(tuple(range(15, -1, -1)))


def _words(lanes: int) -> tuple[tuple[int, Moves], ...]:
    """Return the numbers of four blocks, each that many behind the one before, as words."""
    word = (15, 14, 13, 12)
    return tuple(
        (BLOCK_BYTES * lanes * w, byte_moves((-1,) * 4 * w + word + (-1,) * 4 * (3 - w)))
        for w in range(4)
    )


LAYOUTS: tuple[tuple[tuple[tuple[int, Moves], ...], bool], ...] = (
    (((0, WHOLE),), False),
    (((0, TURNED),), False),
    (((0, WHOLE),), True),
    (_words(2), False),
    (_words(4), False),
)
"""Sums of counter blocks, each so many bytes further on and moved, and whether k_0 is added: a
block as it is in memory, with its bytes turned, and with k_0 added; the numbers of four registers.
"""


def said(at: Number, layout: int) -> Any:
    """Return what an assertion says of the counter at a place, in a layout."""
    parts, whitened = LAYOUTS[layout]
    out: Any = ["t", "entry", ROUND_KEY, 0] if whitened else None
    for ahead, moves in parts:
        block = ["t", "counter", ["n", str(combined(at, ahead))]]
        data = ["t", "moves", block, [[shift, hex(keep)] for shift, keep in moves]]
        out = data if out is None else ["t", "xor", data, out]
    return out


class KnownCounters:
    """The counter blocks around a place of a state, by their polynomials."""

    def __init__(self, meaning: Function, counters: Counters) -> None:
        self.meaning, self.counters, self.terms = meaning, counters, counters.names.terms

    def of(self, state: State, place: Number, value: Any, reach: int) -> set[tuple[int, int]]:
        """Return how far behind a place the counter is that is a value, and in which layout."""
        self._enter(state)
        if (form := self.terms.try_form(value)) is None or form.quadratic:
            return set()
        found = self._like(place, ("around", reach), lambda: self._around(place, reach)) or {}
        return found.get(_key(form), set())  # type: ignore[no-any-return]

    def has(self, state: State, place: Number, layout: int, value: Any) -> bool:
        """Return whether a value is the counter at a place, in a layout."""
        self._enter(state)
        if (form := self.terms.try_form(value)) is None:
            return False
        found = self._like(place, ("layout", layout), lambda: self._form(place, layout))
        return found is not None and found == form

    def _enter(self, state: State) -> None:
        if self.meaning.names.state is not state:
            self.meaning.entering(state)

    def _like(self, place: Number, what: tuple[object, ...], find: Callable[[], Any]) -> Any:
        """Return what is found at a place, which is the same wherever its counter block is; None:
        that is not known, nor are those of other places."""
        if within(place, BLOCK_BYTES) != 0:
            return find()
        with suppress(Refutation):
            return self.counters.names.always((*what, self.counters.block(place)), find)
        return None

    def _around(self, place: Number, reach: int) -> dict[Any, set[tuple[int, int]]]:
        out: dict[Any, set[tuple[int, int]]] = {}
        for at in range(-4 * BLOCK_BYTES, reach, BLOCK_BYTES):
            for k in range(len(LAYOUTS)):
                form = self._form(combined(place, at), k)
                if form is not None and not form.quadratic:
                    out.setdefault(_key(form), set()).add((at, k))
        return out

    def _form(self, place: Number, layout: int) -> Form | None:
        with suppress(Refutation):
            parts, whitened = LAYOUTS[layout]
            value: Lane = 0
            if whitened:
                if not self.counters.names.algebra.defines(ROUND_KEY, 0):
                    return None
                value = self.terms.entry(ROUND_KEY, 0)
            for ahead, moves in parts:
                block = self.counters.block(combined(place, ahead))
                value = self.terms.xor(self.terms.moves(block, moves), value)
            return self.terms.try_form(value)
        return None


def _key(form: Form) -> Any:
    """Return what is the same of equal forms without products."""
    return form.constant, frozenset(form.linear.items())

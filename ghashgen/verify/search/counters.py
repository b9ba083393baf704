"""Which counter block a value is: its place, and whether its bytes are turned or k_0 is added."""

from contextlib import suppress
from typing import Any

from ghashgen.algebra.field.bitorder import BLOCK_BYTES
from ghashgen.algebra.ops.forms import Form
from ghashgen.verify.core.moves import byte_moves
from ghashgen.verify.core.numbers import Number, combined
from ghashgen.verify.core.refutation import Refutation
from ghashgen.verify.core.term import MASK128
from ghashgen.verify.meaning.algebra import ROUND_KEY
from ghashgen.verify.meaning.counters import BASE, Counters
from ghashgen.verify.meaning.function import Function
from ghashgen.verify.rules.state import State

WHOLE = ((0, MASK128),)
TURNED = byte_moves(tuple(range(15, -1, -1)))
LAYOUTS = ((WHOLE, False), (TURNED, False), (WHOLE, True))
"""A counter block as it is in memory, with its bytes turned, and with k_0 added."""


def said(at: Number, layout: int) -> Any:
    """Return what an assertion says of the counter at a place, in a layout."""
    moves, whitened = LAYOUTS[layout]
    block = ["t", "counter", ["n", str(at)]]
    data = ["t", "moves", block, [[shift, hex(keep)] for shift, keep in moves]]
    return ["t", "xor", data, ["t", "entry", ROUND_KEY, 0]] if whitened else data


class KnownCounters:
    """The counter blocks around a place of a state, by their polynomials."""

    def __init__(self, meaning: Function, counters: Counters) -> None:
        self.meaning, self.counters, self.terms = meaning, counters, counters.names.terms
        self._known: dict[Any, dict[Any, set[tuple[int, int]]]] = {}

    def of(self, state: State, place: Number, value: Any, reach: int) -> set[tuple[int, int]]:
        """Return how far behind a place the counter is that is a value, and in which layout."""
        self.meaning.entering(state)
        if (form := self.terms.try_form(value)) is None or form.quadratic:
            return set()
        at = id(state), state.ghosts.get(BASE), place, reach
        if at not in self._known:
            self._known[at] = self._around(place, reach)
        return self._known[at].get(_key(form), set())

    def has(self, state: State, place: Number, layout: int, value: Any) -> bool:
        """Return whether a value is the counter at a place, in a layout."""
        self.meaning.entering(state)
        form = self.terms.try_form(value)
        return form is not None and self._form(place, layout) == form

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
            moves, whitened = LAYOUTS[layout]
            block = self.terms.moves(self.counters.block(place), moves)
            if whitened:
                if not self.counters.names.algebra.defines(ROUND_KEY, 0):
                    return None
                block = self.terms.xor(block, self.terms.entry(ROUND_KEY, 0))
            return self.terms.try_form(block)
        return None


def _key(form: Form) -> Any:
    """Return what is the same of equal forms without products."""
    return form.constant, frozenset(form.linear.items())

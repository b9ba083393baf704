"""Guesses an assertion where different cases come to one address: what is the same of them all."""

from collections.abc import Sequence
from typing import Any

from ghashgen.verify.core.linear import Fork
from ghashgen.verify.core.numbers import Number, combined, linear, parts, times
from ghashgen.verify.core.refutation import Refutation
from ghashgen.verify.core.term import CALLER, OPAQUE, RAW, Term
from ghashgen.verify.core.values import Linear, UndecidedError
from ghashgen.verify.meaning.answer import Answer
from ghashgen.verify.meaning.hashing import Hashing, size_of
from ghashgen.verify.meaning.records import COUNT, RECORD, RECORD_BYTES
from ghashgen.verify.rules.state import State
from ghashgen.verify.search.generalise import Sample
from ghashgen.verify.search.held import is_mask
from ghashgen.verify.search.values import FEW


class Joint(Sample):
    """States in which different cases come to one address: what is the same of them all.

    A number is one of the function's, or a multiple of it, and a constant.
    """

    def number(self, values: Sequence[Number]) -> Number | None:
        """Return a number as one of the function's, with a constant."""
        if all(v == values[0] for v in values) and not parts(values[0])[1]:
            return values[0]
        sums = [{name: k} for name in self.meaning.numbers for k in (1, 8, -1)]
        if RECORD in self.meaning.numbers:
            sums += [{RECORD: RECORD_BYTES}, {COUNT: 1, RECORD: -1}]
        for one in sums:
            rest = set()
            for v, s in zip(values, self.states, strict=True):
                for name, k in one.items():
                    v = combined(v, times(s.ghosts[name], k), -1)
                rest.add(v)
            if len(rest) == 1 and isinstance(c := rest.pop(), int):
                return linear(c, one)
        return None

    def facts(self) -> tuple[dict[str, list[int]], list[str], str]:
        """Return the ranges of the function's numbers."""
        ranges = {}
        for name in self.meaning.numbers:
            found = self.spread(name)
            ranges[name] = [min(found), max(found)]
        return ranges, [], "0"

    def spread(self, name: str) -> list[int] | tuple[int, int]:
        """Return all values of a number, if they are few, else the least and the greatest."""
        values: set[int] | None = set()
        lows, highs = [], []
        for state in self.states:
            n: Any = state.ghosts[name]
            low, high = state.facts.least(n), state.facts.greatest(n)
            lows.append(low)
            highs.append(high)
            if values is not None:
                u = n.k[0][0] if isinstance(n, Linear) else ""
                known = state.facts.among.get(u) or range(low, min(high, low + FEW) + 1)
                values = None if len(known) > FEW else values | set(known)
        few = values is not None and len(values) < FEW
        return sorted(values) if few else (min(lows), max(highs))  # type: ignore[arg-type]

    def among(self) -> dict[str, list[int]]:
        """Return the numbers that were one of a few in all states."""
        found = {name: self.spread(name) for name in self.meaning.numbers}
        return {name: values for name, values in found.items() if isinstance(values, list)}

    def _lane(self, values: Sequence[Any]) -> Any:
        values = self._settled(values)
        if not all(isinstance(x, int | Term) for x in values):
            return None
        if any(isinstance(x, Term) and x.deps & (OPAQUE | CALLER | RAW) for x in values):
            return None
        first = values[0]
        same = isinstance(first, Term) and all(x is first for x in values)
        if same and (known := self._json(first, 0)) is not None:
            return known
        if self.initial and is_mask(self.meaning, self.initial, self.states, values):
            self.masked = True
            return ["t", "mask"]
        if (found := self._counter(values)) is not None:
            return found
        for power in (0, 1):
            if self._is_state(values, power):
                self.known, self.power = True, power
                return ["v", "x"]
        if self._is_tag(values):
            self.tagged = True
            return ["v", "tag"]
        return None

    known, power = False, 0
    """Whether a value is the state, and by how many powers of H it is behind."""

    tagged = False
    """Whether a value is the right tag."""

    def canonical(self, places: dict[str, Any]) -> bool:
        """Return whether what comes next is known: a counter, the state so far, or the tag."""
        if self._of:
            return self.known or self.tagged
        return any(isinstance(v, list) and "counter" in str(v) for v in places.values())

    def _position(self, state: State) -> tuple[int, Number]:
        """Return the buffer of which the next block is to be hashed, and where; or the end."""
        last = len(self.hashing.order) - 1
        if self._of <= last:
            return self._of, 0
        return last, size_of(state.memory, self.hashing.order[last].buffer)

    def _decided(self, state: State) -> list[State]:
        """Return the cases of a state in which it is known how many blocks are hashed."""
        self.meaning.entering(state)
        try:
            self.hashing.unfolded(state, *self._position(state), 0)
        except Fork as question:
            return [case for one in state.each(question.cases) for case in self._decided(one)]
        except (Refutation, UndecidedError):
            pass
        return [state]

    def _is_state(self, values: Sequence[Any], power: int) -> bool:
        """Return whether a value is X before all of the buffer that comes next, if multiplied."""
        for state, v in zip(self.states, values, strict=True):
            self.meaning.entering(state)
            try:
                wanted = self.hashing.unfolded(state, *self._position(state), 0)
            except (Refutation, UndecidedError):
                return False
            found = self.names.recognised(v)
            if found is None or {(n, m + power) for n, m in found} != wanted:
                return False
        return True

    def _is_tag(self, values: Sequence[Any]) -> bool:
        """Return whether a value is the right tag in every state."""
        if self.answer is None or not all(isinstance(v, Term) for v in values):
            return False
        for state, v in zip(self.states, values, strict=True):
            self.meaning.entering(state)
            try:
                if not self.answer.tag.is_right(state, v):
                    return False
            except (Fork, Refutation, UndecidedError):
                return False
        return True

    _of = 0

    def joined(self, at: int, level: int, sources: Any, of: int) -> Any:
        """Return an assertion before the first block of a buffer."""
        self._of = of
        hashes = [p for p in self.meaning.parts if isinstance(p, Hashing)]
        self.hashing = hashes[-1]
        self.answer = next((p for p in self.meaning.parts if isinstance(p, Answer)), None)
        self.states = [one for state in self.states for one in self._decided(state)]
        return self.assertion(at, level, sources)

    def _ghosts(self) -> Any:
        if self.tagged:
            return self.other_ghosts(
                {self.hashing.name: None, "iv": None, "answer": {"tag": "tag"}}
            )
        order = self.hashing.order
        ended = self._of >= len(order)
        mine = {"of": order[-1 if ended else self._of].buffer,
                "hashed": "length" if ended else "0", "ahead": 0,
                "sum": [["x", self.power]] if self.known else []}  # fmt: skip
        return self.other_ghosts({self.hashing.name: mine, "iv": None})

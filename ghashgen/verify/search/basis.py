"""A basis for the numbers of several states: few unknowns of which all are sums.

The numbers of a function are unknowns already. A place up to which all is done becomes one, in
units of what always divides it; what is near it becomes a small one, as few numbers as there are.
A place in memory is then asked for case by case only where a small one stands in it.
"""

from collections.abc import Iterable, Iterator, Sequence
from functools import reduce
from itertools import combinations, product
from math import gcd

from ghashgen.algebra.field.bitorder import BLOCK_BYTES
from ghashgen.verify.core.linear import MOST_CASES, Facts
from ghashgen.verify.core.numbers import Number, combined, linear, parts, times, unknown
from ghashgen.verify.rules.state import State

NAMES = ("q", "a", "b", "d", "e")
"""Of a place, then of what is near it: of these the rules choose the first for cases."""

FACTORS = (1, -1, 8)
"""What a number is in a sum; the lengths are also counted in bits."""

MOST_SUMMANDS = 3

FEW = 32
"""Values of a number of which no more is told."""

FAR = 1 << 20
"""Numbers that are so far apart are not told by each other."""


class Basis:
    """The unknowns of an assertion, and what each is in every state."""

    def __init__(
        self, states: Sequence[State], numbers: Sequence[str], totals: Sequence[Number] = ()
    ) -> None:
        self.states = states
        self.numbers, self.totals = list(numbers), list(totals)
        """The function's numbers, and sums of them that are told as one."""
        self.values = {name: [s.ghosts[name] for s in states] for name in numbers}
        self.units: dict[str, int] = dict.fromkeys(numbers, 1)
        self.names = [n for n in NAMES if n not in self.values]
        self._known: dict[tuple[Number, ...], Number | None] = {}

    def in_units(self, name: str) -> tuple[Number, list[Number]]:
        """Return an unknown times its unit, and what that is in every state."""
        unit = self.units[name]
        return times(unknown(name), unit), [times(n, unit) for n in self.values[name]]

    def _by_rank(self, place: bool) -> list[tuple[Number, list[Number]]]:
        """Return what numbers are told by, first what a place or a number rather is told by."""
        names = sorted(self.values, key=lambda name: (name in self.numbers) == place)
        return [*map(self.in_units, names), *((n, self.at(n)) for n in self.totals)]

    def _ways(self) -> Iterator[list[Number]]:
        """Yield what sums of few unknowns are, the shortest first."""
        known = [values for _, values in self._by_rank(True)]
        for size in range(MOST_SUMMANDS):
            for some in combinations(known, size):
                for factors in product((1, -1), repeat=size):
                    values: list[Number] = [0] * len(self.states)
                    for mine, k in zip(some, factors, strict=True):
                        values = [
                            combined(a, times(b, k)) for a, b in zip(values, mine, strict=True)
                        ]
                    yield values

    def fitted(self, values: Sequence[Number], place: bool = True) -> Number | None:
        """Return a sum of the unknowns that is each value in its state; None: there is none.

        `place`: they are places, and not numbers as the function was called with.
        """
        key = place, *values
        if key not in self._known:
            self._known[key] = self._fitted(values, place)
        return self._known[key]

    def _fitted(self, values: Sequence[Number], place: bool) -> Number | None:
        known = self._by_rank(place)
        few = range(min(2, len(values)))
        for size in range(MOST_SUMMANDS + 1):
            for some in combinations(known, size):
                for factors in product(FACTORS, repeat=size):
                    if size > 1 and 8 in factors:
                        continue
                    rests: set[Number] = set()
                    for k in (*few, *range(len(few), len(values))):
                        rest = values[k]
                        for (_, mine), n in zip(some, factors, strict=True):
                            rest = combined(rest, times(mine[k], n), -1)
                        rests.add(rest)
                        if len(rests) > 1 or not isinstance(rest, int):
                            break
                    else:
                        out: Number = rests.pop()
                        for (u, _), n in zip(some, factors, strict=True):
                            out = combined(out, times(u, n))
                        return out
        return None

    def based(self, values: Sequence[Number]) -> Number:
        """Return a number for a place: a new unknown, if it is not the same in all states."""
        if isinstance(values[0], int) and all(v == values[0] for v in values):
            return values[0]
        return self._new(values)

    def cover(self, several: Iterable[Sequence[Number]]) -> bool:
        """Make unknowns until all of several numbers are sums of them; return whether they are.

        What is told in whole blocks comes first: a rest is then what is left of it.
        """
        left = [values for values in several if self.fitted(values) is None]
        while left:
            found = [best for values in left if (best := self._best(values)) is not None]
            if not found or not self.names:
                return False
            self._new(min(found, key=lambda best: best[0])[1])
            left = [values for values in left if self.fitted(values) is None]
        return not self._is_rest()

    def _is_rest(self) -> bool:
        """Return whether a small unknown is the rest of a number in blocks, and nothing says so."""
        for name in self.values:
            if name not in self.numbers and self.units[name] % BLOCK_BYTES:
                for n in self.numbers:
                    apart = [
                        combined(v, u, -1)
                        for v, u in zip(self.values[n], self.in_units(name)[1], strict=True)
                    ]
                    if _unit(apart) % BLOCK_BYTES == 0 and self._width_of(apart) >= BLOCK_BYTES:
                        return True
        return False

    def _best(self, values: Sequence[Number]) -> tuple[tuple[bool, int], list[Number]] | None:
        """Return what a number is behind a sum, where that is one of fewest; None: of many."""
        best: tuple[tuple[bool, int], list[Number]] | None = None
        for mine in self._ways():
            rest = [combined(v, m, -1) for v, m in zip(values, mine, strict=True)]
            low, high = self.bounds(rest)
            unit = _unit(rest)
            many = unit % BLOCK_BYTES != 0, (high - low) // unit
            if high - low < MOST_CASES and (best is None or many < best[0]):
                best = many, rest
        return best

    def _new(self, values: Sequence[Number]) -> Number:
        name = self.names.pop(0)
        unit, (first, _) = _unit(values), parts(values[0])
        rest = first % unit
        self.values[name] = [
            linear((c - rest) // unit, {u: n // unit for u, n in k}) for c, k in map(parts, values)
        ]
        self.units[name] = unit
        self._known.clear()
        return combined(times(unknown(name), unit), rest)

    def is_small(self, e: Number) -> bool:
        """Return whether the rules would ask for a number case by case."""
        return 0 < self._width(e) < MOST_CASES

    # What is known of them.

    def bounds(self, values: Sequence[Number]) -> tuple[int, int]:
        """Return the least and the greatest that a number is in any state."""
        pairs = [(s.facts, v) for s, v in zip(self.states, values, strict=True)]
        return min(f.least(v) for f, v in pairs), max(f.greatest(v) for f, v in pairs)

    def at(self, expr: Number) -> list[Number]:
        """Return what a number is in every state."""
        c, k = parts(expr)
        out: list[Number] = [c] * len(self.states)
        for u, n in k:
            out = [combined(a, times(b, n)) for a, b in zip(out, self.values[u], strict=True)]
        return out

    def ranges(self) -> dict[str, list[int]]:
        """Return the range of each unknown."""
        return {name: [*self.bounds(values)] for name, values in self.values.items()}

    def among(self, few: int) -> dict[str, list[int]]:
        """Return all values of the function's numbers that have few."""
        out = {}
        for name in self.numbers:
            values: set[int] = set()
            for s, n in zip(self.states, self.values[name], strict=True):
                own = parts(n)[1]
                low, high = s.facts.least(n), s.facts.greatest(n)
                known = s.facts.among.get(own[0][0]) if own and n == unknown(own[0][0]) else None
                values |= set(known or range(low, min(high, low + few) + 1))
            if len(values) < few:
                out[name] = sorted(values)
        return out

    def facts(self, places: Sequence[Number]) -> list[str]:
        """Return bounds of differences, also with small unknowns, and that no place is negative."""
        known = Facts({name: (low, high) for name, (low, high) in self.ranges().items()})
        told = [n for n in self.values if not self._is_one_of_few(n)]
        small = [self.in_units(n)[0] for n in told if n not in self.numbers and n != NAMES[0]]
        pairs = combinations([*(self.in_units(n)[0] for n in told), *self.totals], 2)
        apart = [e for a, b in pairs for k in (-1, 1) if self._is_near(e := combined(a, b, k))]
        apart += self.totals
        # What ties a small unknown to the others, if it says much: of these the rules choose too.
        near = [combined(e, u, k) for e in apart for u in small for k in (1, -1)]
        out = []
        for e, least in (*((e, 1) for e in apart), *((e, BLOCK_BYTES) for e in near)):
            for one in (e, times(e, -1)):
                low, _ = self.bounds(self.at(one))
                if known.least(one) + least <= low:
                    out.append(combined(one, low, -1))
                    known = known.with_not_negative(out[-1])
        for e in places:
            if known.least(e) < 0 <= self.bounds(self.at(e))[0]:
                out.append(e)
                known = known.with_not_negative(e)
        return [str(e) for e in out]

    def _is_near(self, e: Number) -> bool:
        return self._width(e) < FAR

    def _width(self, e: Number) -> int:
        return self._width_of(self.at(e))

    def _width_of(self, values: Sequence[Number]) -> int:
        low, high = self.bounds(values)
        return high - low

    def _is_one_of_few(self, name: str) -> bool:
        low, high = self.bounds(self.values[name])
        return name in self.numbers and high - low < FEW


def _unit(values: Sequence[Number]) -> int:
    """Return what always divides how far some numbers are apart."""
    first, _ = parts(values[0])
    apart = [abs(parts(v)[0] - first) for v in values]
    factors = [abs(n) for v in values for _, n in parts(v)[1]]
    return reduce(gcd, (*apart, *factors)) or 1

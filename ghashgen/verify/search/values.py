"""What stays in a few turns of a loop, and what goes on by as much: numbers and values.

With t turns behind the first state of the sample, a number is a + b·t if it grows by b each turn,
and a term over blocks has its blocks that much further on. Sums of values times powers of H become
unknown values with an equation. What fits nothing is forgotten.
"""

from collections.abc import Callable, Sequence
from functools import cached_property
from itertools import pairwise
from typing import Any

from ghashgen.algebra.field.bitorder import BLOCK_BYTES
from ghashgen.verify.core.numbers import Number, combined, parse, parts, times, unknown
from ghashgen.verify.core.term import CALLER, OPAQUE, RAW, Term, secret
from ghashgen.verify.core.values import Linear, Pointer
from ghashgen.verify.meaning.counters import Counters
from ghashgen.verify.meaning.function import Function
from ghashgen.verify.meaning.hashing import Blocks, Hashing, size_of
from ghashgen.verify.meaning.initial import Initial
from ghashgen.verify.meaning.letters import COUNTER, IV
from ghashgen.verify.rules.check import Checker
from ghashgen.verify.rules.state import State
from ghashgen.verify.search.counters import KnownCounters, said
from ghashgen.verify.search.held import is_mask
from ghashgen.verify.search.looks import MASK, VECTOR
from ghashgen.verify.search.renaming import replaced
from ghashgen.verify.search.variables import Variables

TURN = "t"
"""The unknown that counts the turns."""

FILES = {"gpr": 0, "vec": VECTOR, "mask": MASK}


FEW = 32
"""So many values of a number may be told one by one."""


class Values:
    """Some consecutive states at one head."""

    loose = False
    """Whether a length may be as short as the loop's own bound lets it be."""

    def __init__(self, checker: Checker, states: Sequence[State], live: frozenset[int]) -> None:
        self.prepare(checker, states, live)
        self.hashing, self.blocks = self._active()
        self.initial = next((p for p in self.meaning.parts if isinstance(p, Initial)), None)
        self.masked = bool(states[0].ghosts.get("mask"))
        self.counters = next((p for p in self.meaning.parts if isinstance(p, Counters)), None)
        ends = [combined(self._written(s), self.base_of(s), -1) for s in states]
        self._reach = max((n for n in ends if isinstance(n, int)), default=0)

    @cached_property
    def _known_counters(self) -> KnownCounters:
        assert self.counters is not None
        return KnownCounters(self.meaning, self.counters)

    def prepare(self, checker: Checker, states: Sequence[State], live: frozenset[int]) -> None:
        """Take the states, whatever the function is."""
        self.checker, self.states, self.live = checker, states, live
        assert isinstance(checker.meaning, Function)
        self.meaning = checker.meaning
        self.names, self.terms = self.meaning.names, checker.terms
        self.variables = Variables(self.terms)
        self.values: dict[Term, str] = {}
        """Values that are unknown from here on, and their names."""
        self.sums: dict[str, tuple[frozenset[tuple[str, int]], ...]] = {}

    def _active(self) -> tuple[Hashing, Blocks]:
        """Return what is hashed in this loop: the buffer whose length falls."""
        hashes = [p for p in self.meaning.parts if isinstance(p, Hashing)]
        first, last = self.states[0], self.states[-1]
        for hashing in hashes:
            for blocks in hashing.order:
                buffer = size_of(first.memory, blocks.buffer)
                names = {u for u, _ in parts(buffer)[1]}
                if any(first.facts.ranges.get(u) != last.facts.ranges.get(u) for u in names):
                    return hashing, blocks
        return hashes[-1], hashes[-1].order[-1]

    def _written(self, state: State) -> Number:
        """Return up to where the output is written."""
        for name, output in self.meaning.outputs.items():
            written = state.memory.written[name]
            if not written:
                done: Number = state.ghosts[output.name]
                return done
            return combined(state.memory.place(max(written)), 1)
        return 0

    def _output(self) -> str | None:
        """Return up to where the output is written, in whole blocks or to its end."""
        ends = [self._written(state) for state in self.states]
        if "length" in self.meaning.numbers and any(end != 0 for end in ends):
            left = [
                combined(s.ghosts["length"], n, -1) for s, n in zip(self.states, ends, strict=True)
            ]
            if all(s.facts.equals(n, 0) for s, n in zip(self.states, left, strict=True)):
                return "length"
        down = [combined(end, parts(end)[0] % BLOCK_BYTES, -1) for end in ends]
        end = self.number(down)
        return None if end is None else str(end)

    def _canonical(self, state: State, value: Any) -> Any:
        if not isinstance(value, Term) or value.deps & (OPAQUE | CALLER):
            return value
        self.meaning.entering(state)
        return self.meaning.canonical(value)

    # Numbers.

    def number(self, values: Sequence[Number]) -> Number | None:
        """Return numbers that grow by as much each turn as one with t."""
        steps = {combined(b, a, -1) for a, b in pairwise(values)}
        if len(steps) != 1:
            return None
        step = steps.pop()
        if isinstance(step, Linear):
            return None
        return combined(values[0], times(unknown(TURN), step)) if step else values[0]

    def bound(self, lows: Sequence[int]) -> Number | None:
        """Return a bound that grows as the last two do and is none too high for those before."""
        step = lows[-1] - lows[-2]
        first = lows[-1] - step * (len(lows) - 1)
        if any(low < first + step * t for t, low in enumerate(lows)):
            return None
        return combined(first, times(unknown(TURN), step))

    def facts(self) -> tuple[dict[str, list[int]], list[str], str] | None:
        """Return ranges, facts, and a number that falls; None: nothing does."""
        first, known = self.states[0].facts, []
        ranges: dict[str, list[int]] = {}
        most = 0
        for u, (low, high) in first.ranges.items():
            ends = [state.facts.ranges.get(u, (0, 0)) for state in self.states]
            lows = self.bound([one for one, _ in ends])
            ranges[u] = [low, high]
            if isinstance(lows, Linear):
                if self.loose:
                    ranges[u][0] = min(low, max(0, lows.c))
                known.append(combined(unknown(u), lows, -1))
                most = max(most, (high - min(ranges[u][0], lows.c)) // dict(lows.k)[TURN])
        for e in first.not_negative:
            same = [[x for x in s.facts.not_negative if x.k == e.k] for s in self.states]
            constants = self.bound([-x[0].c for x in same]) if all(same) else None
            if constants is not None:
                known.append(combined(Linear(0, e.k), constants, -1))
        falling = [e for e in known if isinstance(e, Linear) and dict(e.k).get(TURN, 0) < 0]
        if not falling:
            return None
        ranges[TURN] = [0, most or 1 << 62]
        return ranges, [str(e) for e in known], str(falling[0])

    def among(self) -> dict[str, list[int]]:
        """Return the unknowns of which all values are known."""
        return {u: sorted(values) for u, values in self.states[0].facts.among.items()}

    # Values.

    def value(self, number: int, get: Callable[[State], Any], bits: int) -> Any:
        """Return what an assertion says of one place; `number` is a register's, -1 in memory."""
        values = [get(state) for state in self.states]
        public = not any(secret(x) for x in values)
        if number not in self.live and number >= 0 and number != self.checker.top:
            return "!" if public else "?"
        values = [self._canonical(s, v) for s, v in zip(self.states, values, strict=True)]
        v = values[0]
        if any(isinstance(x, Pointer) for x in values):
            if all(isinstance(x, Pointer) and x.region == v.region for x in values):
                offset = self.number([x.offset for x in values])
                if offset is not None:
                    return ["p", v.region, str(offset)]
            return "!" if public else "?"
        if all(isinstance(x, int | Linear) for x in values):
            n = self.number(values)
            if n is None:
                return "?" if number >= VECTOR and bits > 64 else "!"
            if bits == 64 and number < VECTOR:
                return ["n", str(n)]
            if isinstance(n, int):
                return ["c", hex(n)]
        if isinstance(v, Term) and all(x is v for x in values) and (known := self._entry(v)):
            return known
        lane = self._lane(values)
        return ("!" if public else "?") if lane is None else lane

    def _entry(self, v: Term) -> Any:
        """Return what the caller left in a register or its low part, if that is the value."""
        for name, x in self.checker.left.items():
            if x is v:
                return ["@", name]
            if isinstance(x, Term) and x.op == "xor" and self.terms.keep(x, v.mask) is v:
                return ["t", "moves", ["@", name], [[0, hex(v.mask)]]]
        return None

    def _settled(self, values: Sequence[Any]) -> list[Any]:
        """Return the values with the bytes of partial blocks, as of a short IV, as blocks."""
        found = list(values)
        for k, (state, v) in enumerate(zip(self.states, values, strict=False)):
            if isinstance(v, Term) and v.deps & RAW:
                self.meaning.entering(state)
                found[k] = self.names.named(v)
        return found

    def _lane(self, values: Sequence[Any]) -> Any:
        values = self._settled(values)
        last = values[-1]
        if not all(isinstance(x, int | Term) for x in values) or not isinstance(last, Term):
            return None
        if any(isinstance(x, Term) and x.deps & (OPAQUE | CALLER | RAW) for x in values):
            return None
        if last in self.values:
            name = self.values[last]
            same = self.sums[name] == tuple(map(self._sum, values))
            return ["v", name] if same else None
        if self.initial and is_mask(self.meaning, self.initial, self.states, values):
            self.masked = True
            return ["t", "mask"]
        ivs = {self.initial.iv.letter} if self.initial is not None else set()
        if any(n in (IV, COUNTER) or n[0] in ivs for n in self.variables.of(last)):
            return self._counter(values)
        if not self._hashed(last):
            return self._ahead(values)
        sums = tuple(map(self._sum, values))
        if any(one is None for one in sums):
            return None
        name = f"x{len(self.values)}"
        self.values[last], self.sums[name] = name, sums
        return ["v", name]

    def _counter(self, values: Sequence[Any]) -> Any:
        """Return a counter block of some place."""
        if self.counters is None:
            return None
        reach, known = 3 * self._reach + 64 * BLOCK_BYTES, self._known_counters

        def place(state: State, value: Any, at: int, layout: int) -> int:
            base = self.base_of(state)
            if known.has(state, combined(base, at), layout, value):
                return at
            found = known.of(state, base, value, reach)
            return min((a for a, k in found if k == layout), default=-1)

        first, *others = zip(self.states, values, strict=True)
        for at, k in sorted(known.of(first[0], self.base_of(first[0]), first[1], reach)):
            places = [at]
            for state, value in others:
                places.append(place(state, value, at, k))
                if places[-1] == -1:
                    break
            if -1 in places[1:]:
                continue
            bases = map(self.base_of, self.states)
            n = self.number([combined(b, a) for b, a in zip(bases, places, strict=True)])
            if n is not None:
                return said(n, k)
        return None

    def _sum(self, lane: Any) -> Any:
        return self.names.recognised(lane)

    def _blocks(self, term: Term) -> list[Number]:
        letter = self.blocks.letter
        names = [n for n in self._leaves(term) if n[0] == letter]
        return [parse(n[1:]) for n in names]

    def _leaves(self, term: Term) -> set[str]:
        out: set[str] = set()
        work = list(self.variables.of(term))
        while work:
            name = work.pop()
            if name in self.names.defined:
                work += [v for v, _ in self.names.defined[name]]
            else:
                out.add(name)
        return out

    def settle_blocks(self, lanes: Sequence[Term]) -> None:
        """Find which lanes hold the hash: those of the state, and of all blocks up to its last."""
        open_ = {lane: self._blocks(lane) for lane in lanes}
        self.last: int = -1
        hashed = [lane for lane in lanes if self._begun(lane)]
        while hashed:
            for lane in hashed:
                found = open_.pop(lane, [])
                self.last = max([self.last, *(n for n in map(self._place, found) if n is not None)])
            hashed = [
                lane for lane, found in open_.items()
                if any((p := self._place(n)) is not None and p <= self.last for n in found)
            ]  # fmt: skip

    def _begun(self, lane: Term) -> bool:
        """Return whether a lane has a state in it, or a block times a power of H."""
        if any(n[0] in "Xu" for n in self._leaves(lane)):
            return True
        return any(power for _, power in self.names.recognised(lane) or ())

    def _place(self, at: Number) -> int | None:
        """Return a place in turns of the sample: relative to the state's own beginning."""
        distance = combined(at, self.base_of(self.states[0]), -1)
        return distance if isinstance(distance, int) else None

    def base_of(self, state: State) -> Number:
        """Return from where places are counted in a state."""
        return 0

    def _hashed(self, term: Term) -> bool:
        if self._begun(term):
            return True
        places = [self._place(n) for n in self._blocks(term)]
        return any(p is not None and p <= self.last for p in places)

    def _ahead(self, values: Sequence[Any]) -> Any:
        """Return a function of blocks that are not hashed yet, as a term."""
        first, second = values[0], values[1]
        if not isinstance(first, Term) or not isinstance(second, Term):
            return None
        if first is second:
            return self._json(first, 0) if all(v is first for v in values) else None
        before, after = (
            sorted(map(str, self._blocks(first))),
            sorted(map(str, self._blocks(second))),
        )
        if not before or len(before) != len(after):
            return None
        steps = self._steps(values)
        if steps is None:
            return None
        return self._json(first, steps)

    def _steps(self, values: Sequence[Any]) -> int | None:
        first, second = values[0], values[1]
        low = [
            min((p for n in self._blocks(v) if (p := self._place(n)) is not None), default=None)
            for v in (first, second)
        ]
        if None in low:
            return None
        step = low[1] - low[0]  # type: ignore[operator]
        letter = self.blocks.letter

        def moved(name: str) -> Any:
            if name[0] == letter:
                return self.terms.variable(f"{letter}{combined(parse(name[1:]), step)}")
            return self.terms.variable(name)

        try:
            if replaced(self.terms, first, moved) is not second:
                return None
        except (ValueError, AssertionError):
            return None
        return step

    def _json(self, term: Any, step: int) -> Any:
        """Write a term of blocks and entries as data, its blocks `step` bytes further each turn."""
        if isinstance(term, int):
            return ["c", hex(term)]
        match term.op:
            case "var" if term.args[0][0] == self.blocks.letter:
                at = combined(parse(term.args[0][1:]), times(unknown(TURN), step))
                return ["t", "block", self.blocks.letter, ["n", str(at)]]
            case "entry":
                return ["t", "entry", *term.args]
            case "xor":
                a, b = (self._json(x, step) for x in term.args)
                return None if a is None or b is None else ["t", "xor", a, b]
            case "moves":
                a = self._json(term.args[0], step)
                moves = [[shift, hex(keep)] for shift, keep in term.args[1]]
                return None if a is None else ["t", "moves", a, moves]
        return None

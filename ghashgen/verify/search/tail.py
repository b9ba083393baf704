"""Guesses an assertion behind the loop, where short messages and what is left of long ones meet.

There the state is X after t groups, and what is left of the length is less than a group. It saves
the time to follow every rest once for each way; a certificate needs none.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ghashgen.verify.core.numbers import Number, combined, parts, replaced, times, unknown
from ghashgen.verify.core.refutation import Refutation
from ghashgen.verify.core.term import CALLER, OPAQUE, RAW, Term
from ghashgen.verify.core.values import Pointer, UndecidedError
from ghashgen.verify.meaning.function import Function
from ghashgen.verify.meaning.hashing import Hashing
from ghashgen.verify.rules.assertion import Assertion, read_certificate
from ghashgen.verify.rules.check import Checker
from ghashgen.verify.rules.state import State
from ghashgen.verify.search.flow import Flow
from ghashgen.verify.search.generalise import Sample
from ghashgen.verify.search.graph import reached
from ghashgen.verify.search.looks import VECTOR
from ghashgen.verify.search.loops import cases
from ghashgen.verify.search.values import TURN

LENGTH = "length"

MEETINGS = 3
"""Addresses that are tried, the first ones."""

VECTORS = 32


@dataclass(frozen=True)
class Arrival:
    """A state behind the loop, from where, and up to where it has hashed."""

    state: State
    source: str
    hashed: Number


class Rest(Sample):
    """States that have hashed some groups, and have less than one before them."""

    def __init__(
        self, checker: Checker, arrivals: Sequence[Arrival], live: frozenset[int], group: int
    ) -> None:
        super().__init__(checker, [one.state for one in arrivals], live)
        self.arrivals, self.group = arrivals, group

    def groups(self, arrival: Arrival) -> Number:
        """Return how many groups have been hashed, in the unknowns of a state."""
        c, k = parts(arrival.hashed)
        out: Number = c // self.group
        for u, n in k:
            out = combined(out, times(unknown(u), n // self.group))
        return out

    def number(self, values: Sequence[Number]) -> Number | None:
        """Return a number of the length and of the groups; the first state has any number."""
        first = self.arrivals[0]
        # Here t stands for the groups of this state: one is behind its own last turn.
        shift = combined(unknown(TURN), self.groups(first), -1)
        found = replaced(values[0], {TURN: combined(unknown(TURN), shift)})
        for value, one in zip(values, self.arrivals, strict=True):
            here = {LENGTH: one.state.ghosts[LENGTH], TURN: self.groups(one)}
            if replaced(found, here) != value:
                return None
        return found

    def facts(self) -> tuple[dict[str, list[int]], list[str], str]:
        """Return what is left at least and at most."""
        size = times(unknown(LENGTH), self.meaning.multiple)
        left = combined(size, times(unknown(TURN), self.group), -1)
        lows, highs = [], []
        for one in self.arrivals:
            here = {LENGTH: one.state.ghosts[LENGTH], TURN: self.groups(one)}
            mine = replaced(left, here)
            lows.append(one.state.facts.least(mine))
            highs.append(one.state.facts.greatest(mine))
        most = self.meaning.numbers[LENGTH][1]
        turns = most * self.meaning.multiple // self.group + 1
        known = [combined(left, min(lows), -1), combined(max(highs), left, -1)]
        ranges = {LENGTH: [0, most], TURN: [0, turns]}
        return ranges, [str(e) for e in known], "0"

    def among(self) -> dict[str, list[int]]:
        """Return no unknown of few values."""
        return {}

    def settle_blocks(self, lanes: Sequence[Term]) -> None:
        """Find no lanes that hold blocks."""

    def _lane(self, values: Sequence[Any]) -> Any:
        if not all(isinstance(x, int | Term) for x in values):
            return None
        if any(isinstance(x, Term) and x.deps & (OPAQUE | CALLER | RAW) for x in values):
            return None
        if all(x is values[0] for x in values):
            return self._json(values[0], 0)
        return ["v", "x"] if self._is_state(values) else None

    def _is_state(self, values: Sequence[Any]) -> bool:
        return all(
            holds(self.checker, self.hashing, one.state, v, one.hashed)
            for one, v in zip(self.arrivals, values, strict=True)
        )

    def _ghosts(self) -> Any:
        hashed = str(times(unknown(TURN), self.group))
        return {self.hashing.name: {"of": self.blocks.buffer, "hashed": hashed, "ahead": 0,
                                    "sum": [["x", 0]]}}  # fmt: skip


def holds(checker: Checker, hashing: Hashing, state: State, lane: Any, at: Number) -> bool:
    """Return whether a value is X after so many bytes."""
    checker.meaning.entering(state)
    names = hashing.names
    try:
        wanted = hashing.unfolded(state, 0, at, 0)
    except (Refutation, UndecidedError):
        return False
    return names.recognised(names.named(lane)) == wanted


def _hashed(
    checker: Checker, hashing: Hashing, state: State, live: frozenset[int]
) -> Number | None:
    """Return up to where a state has hashed, by its pointers into the message."""
    of = hashing.order[0].buffer
    lanes = [
        lanes[0] for k, lanes in enumerate(state.machine.vec)
        if VECTOR + k in live and isinstance(lanes[0], Term)
    ]  # fmt: skip
    places = [v.offset for v in state.machine.gpr if isinstance(v, Pointer) and v.region == of]
    for at in dict.fromkeys(places):
        if any(holds(checker, hashing, state, lane, at) for lane in lanes):
            return at
    return None


def behind(flow: Flow, entry: int, head: int) -> list[int]:
    """Return where ways from the entry and from the loop meet, the loop being behind them."""
    after = flow.after
    loop = {at for at in reached(after, head) if head in reached(after, at)} | {head}
    around = reached({at: to for at, to in after.items() if at not in loop}, entry)
    met = (reached(after, head) & around & flow.cuts) - loop
    return sorted(met, key=lambda at: -len(reached(after, at)))


def joined(checker: Checker, flow: Flow, data: dict[str, Any], name: str) -> dict[str, Any] | None:
    """Return a certificate with an assertion more behind the loop of this name, if one is found."""
    assert isinstance(checker.meaning, Function)
    if len(checker.meaning.parts) != 1:
        return None
    one = read_certificate(data)[name]
    head = checker.entry + one.at
    for at in behind(flow, checker.entry, head)[:MEETINGS]:
        try:
            found = _joint(checker, flow, one, at)
        except (Refutation, UndecidedError):
            continue
        if found is not None:
            return {"assertions": {**data["assertions"], "rest": found}}
    return None


def _joint(checker: Checker, flow: Flow, loop: Assertion, at: int) -> Any:
    head = checker.entry + loop.at
    hashing = next(p for p in checker.meaning.parts if isinstance(p, Hashing))  # type: ignore[attr-defined]
    live = flow.live.get(at, frozenset())
    arrivals = []
    begin = checker.begin()
    for source, state, address in (
        (loop.name, checker.state(loop), head), ("entry", begin, checker.entry),
    ):  # fmt: skip
        for to, arrived in cases(checker, state, address, frozenset((head, at))):
            if to == at:
                place = _hashed(checker, hashing, arrived, live)
                if place is None:
                    return None
                arrivals.append(Arrival(arrived, source, place))
    if not arrivals or arrivals[0].source == "entry":
        return None
    _, k = parts(arrivals[0].hashed)
    group = dict(k).get(TURN, 0)
    sources: dict[str, list[dict[str, str]]] = {}
    if not group:
        return None
    sample = Rest(checker, arrivals, live, group)
    for one in arrivals:
        if any(n % group for n in (parts(one.hashed)[0], *dict(parts(one.hashed)[1]).values())):
            return None
        ways = sources.setdefault(one.source, [])
        way = {LENGTH: LENGTH, TURN: str(sample.groups(one))}
        if way not in ways:
            ways.append(way)
    found = sample.assertion(at - checker.entry, loop.level - 1, sources)
    # What is read and not said makes it worth nothing.
    unsaid = (k for k in range(VECTORS) if VECTOR + k in live and f"v{k}.0" not in found["places"])
    return None if next(unsaid, None) is not None else found

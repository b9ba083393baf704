"""Guesses an assertion from a few turns of a loop: its places and ghosts."""

from typing import Any

from ghashgen.verify.core.numbers import combined, parse, times, unknown
from ghashgen.verify.core.refutation import Refutation
from ghashgen.verify.core.term import CALLER, OPAQUE, RAW, Term
from ghashgen.verify.meaning.answer import Answer
from ghashgen.verify.meaning.counters import BASE, Counters
from ghashgen.verify.meaning.hashing import Hashing
from ghashgen.verify.meaning.initial import Initial
from ghashgen.verify.meaning.text import ANSWER, DIFFERS
from ghashgen.verify.rules.state import State
from ghashgen.verify.search.held import records, written_cells
from ghashgen.verify.search.looks import VECTOR
from ghashgen.verify.search.values import FILES, TURN, Values


class Sample(Values):
    """Some consecutive states at one head, and the assertion that they are instances of."""

    def assertion(self, at: int, level: int, sources: dict[str, list[dict[str, str]]]) -> Any:
        """Return an assertion that these states are instances of, as data; None: there is none."""
        facts = self.facts()
        if facts is None:
            return None
        ranges, known, falls = facts
        last = self.states[-1]
        lanes: list[Any] = [
            v for k, vs in enumerate(last.machine.vec) if VECTOR + k in self.live for v in vs
        ]
        lanes += [
            v
            for name, cells in last.memory.written.items()
            if name not in self.meaning.outputs
            for v, _ in cells.values()
        ]
        lanes = [self._canonical(last, v) for v in dict.fromkeys(lanes)]
        self.settle_blocks(
            [
                v
                for v in dict.fromkeys(lanes)
                if isinstance(v, Term) and not v.deps & (OPAQUE | CALLER | RAW)
            ]
        )
        places: dict[str, Any] = {}
        for name, place in self.checker.registers.items():

            def get(state: State, place: Any = place) -> Any:
                return place.of(state.machine)

            said = self.value(FILES[place.file] + place.index, get, place.bits)
            if said != "?":
                places[name] = said
        for region in last.memory.written:
            if region in self.meaning.outputs:
                continue
            for first, size in written_cells(self.states, region):

                def held(state: State, at: Any = (region, first, size)) -> Any:
                    return state.memory._read(*at)

                try:
                    said = self.value(-1, held, 8 * size)
                except Refutation:
                    said = "?"  # A return address.
                places[f"{region}+{first}:{size}"] = said
        ghosts = self._ghosts()
        if ghosts is None:
            return None
        states = self.states
        return records(self.meaning, {
            "at": at, "unknowns": ranges, "among": self.among(), "facts": known,
            "places": places, "ghosts": ghosts,
            "flags": "secret" if any(s.machine.flags.secret for s in states) else "public",
            "dirty": any(s.machine.upper_dirty for s in states), "level": level, "falls": falls,
            "from": sources,
        })  # fmt: skip

    def _ghosts(self) -> Any:
        """Return how far the values are, from the blocks in the first state and their powers."""
        if ANSWER in self.states[-1].ghosts:
            # What has been hashed is of no consequence any more.
            return self.other_ghosts({self.hashing.name: None})
        step = self.blocks.apart
        hashed = -(-(self.last + step) // step) * step if self.last >= 0 else 0
        per = self._per_turn()
        if per is None:
            return None
        # In the last state of the sample, t = its number; everything is moved back to t = 0.
        turns = len(self.states) - 1
        at_last = combined(self.base_of(self.states[0]), hashed)
        at = combined(at_last, times(unknown(TURN), per))
        at = combined(at, per * turns, -1)
        lags = {}
        for name, sums in self.sums.items():
            found = {self._lag(n, m, hashed // step) for n, m in sums[-1]}
            if len(found) != 1:
                return None
            lags[name] = found.pop()
        ahead = max([0, *(-lag for lag in lags.values())])
        mine = {"of": self.blocks.buffer, "hashed": str(at), "ahead": ahead,
                "sum": [[name, lag + ahead] for name, lag in sorted(lags.items())]}  # fmt: skip
        return self.other_ghosts({self.hashing.name: mine})

    def other_ghosts(self, known: dict[str, Any]) -> Any:
        """Return all ghosts, those of parts that stand still as they are in the first state."""
        first = self.states[0]
        for part in self.meaning.parts:
            match part:
                case Hashing() if part.name not in known:
                    known[part.name] = self._still(part, first)
                case Counters():
                    end = self._output()
                    if end is None:
                        return None
                    if self.meaning.outputs:
                        known["output"] = end
                    base = first.ghosts.get(BASE)
                    unknown_ = base is None and not self._known(first)
                    over = end == "length" or first.ghosts.get(ANSWER) == DIFFERS
                    known[part.name] = None if unknown_ or over else end
                case Initial():
                    known[part.name] = self.masked
                case Answer() if part.name not in known:
                    known[part.name] = first.ghosts.get(part.name)
        return known

    def _known(self, state: State) -> bool:
        """Return whether a counter is known."""
        assert self.counters is not None
        self.meaning.entering(state)
        try:
            self.counters.block(0)
        except Refutation:
            return False
        return True

    def _still(self, part: Hashing, state: State) -> Any:
        if part.keys[0] not in state.ghosts or (part.name == "iv" and self._known(state)):
            return None
        of, hashed, ahead, items = part.position(state.ghosts)
        if items not in ((), part.first):
            return None
        return {"of": part.order[of].buffer, "hashed": str(hashed), "ahead": ahead, "sum": []}

    def _lag(self, name: str, power: int, blocks: int) -> int:
        """Return by how many powers of H a part is behind the state after so many blocks."""
        if name[0] == self.blocks.letter:
            place = self._place(parse(name[1:]))
            assert place is not None
            return blocks - place // self.blocks.apart - power
        items = self.states[0].ghosts[self.hashing.keys[-1]]
        begun = dict(items).get(name, 0) if isinstance(items, tuple) else 0
        return blocks + begun - power

    def _per_turn(self) -> int | None:
        """Return the bytes that are hashed in a turn, by the blocks of the last two states."""
        ends = []
        for k in (-2, -1):
            found = [
                self._place(parse(n[1:])) for sums in self.sums.values() for n, _ in sums[k]
                if n[0] == self.blocks.letter
            ]  # fmt: skip
            ends.append(max([p for p in found if p is not None], default=-1))
        if -1 in ends:
            return None
        return ends[1] - ends[0]

"""The assertion of which some states are instances that hold the same in the same words."""

from collections.abc import Sequence
from typing import Any

from ghashgen.algebra.field.bitorder import BLOCK_BYTES
from ghashgen.verify.core.numbers import Number, combined, parse, times, unknown, within
from ghashgen.verify.core.refutation import Refutation
from ghashgen.verify.core.term import CALLER, OPAQUE, RAW, Term, secret
from ghashgen.verify.core.values import Linear, Pointer
from ghashgen.verify.meaning.answer import Answer
from ghashgen.verify.meaning.counters import BASE, Counters
from ghashgen.verify.meaning.function import Function
from ghashgen.verify.meaning.hashing import Hashing
from ghashgen.verify.meaning.initial import Initial
from ghashgen.verify.meaning.letters import LENGTHS, ROUND_KEY_LETTER
from ghashgen.verify.meaning.records import MESSAGES, RECORD, RECORD_BYTES
from ghashgen.verify.meaning.text import Text
from ghashgen.verify.rules.check import Checker
from ghashgen.verify.rules.state import State
from ghashgen.verify.search.basis import Basis
from ghashgen.verify.search.counters import KnownCounters, said
from ghashgen.verify.search.held import is_mask, records, written_cells
from ghashgen.verify.search.looks import VECTOR
from ghashgen.verify.search.seen import Seen
from ghashgen.verify.search.values import FEW, FILES

REACH = 64 * BLOCK_BYTES
"""How far behind a place that is known a counter may be."""


class Unlike(Exception):  # noqa: N818 - what happens is no error
    """States of which no assertion says enough."""


class Together:
    """Some states, and what is the same of them all."""

    def __init__(
        self, checker: Checker, hashing: Hashing, group: Sequence[Seen], live: frozenset[int]
    ) -> None:
        self.checker, self.hashing, self.group, self.live = checker, hashing, group, live
        assert isinstance(checker.meaning, Function)
        self.meaning, self.terms = checker.meaning, checker.terms
        self.states = [one.state for one in group]
        totals = []
        if hashing.start:
            size = self.meaning.buffers[hashing.order[0].buffer].size
            totals.append(combined(unknown(hashing.start), unknown(str(size))))
        self.basis = Basis(self.states, list(self.meaning.numbers), totals)
        self.letters = frozenset(b.letter for b in self.meaning.blocks)
        self.initial = next((p for p in self.meaning.parts if isinstance(p, Initial)), None)
        self.counters = next((p for p in self.meaning.parts if isinstance(p, Counters)), None)
        if self.counters is not None:
            self.known = KnownCounters(self.meaning, self.counters)
        self.masked = all(s.ghosts.get("mask") for s in self.states)
        left = checker.left.items()
        self.entries = {v: name for name, v in left if isinstance(v, Term)}
        """What the caller left, and in which register."""
        self.anchors: list[Number] = []
        """Places from which others are told."""

    def data(self, at: int) -> Any:
        """Return the assertion.

        Raises:
            Unlike: there is none that says all that will be read.
        """
        output, hashed = self._places()
        self._cover()
        places: dict[str, Any] = {}
        for name, place in self.checker.registers.items():
            number = FILES[place.file] + place.index
            if name not in self.group[0].values:
                held = [place.of(s.machine) for s in self.states]
                if (known := self._entry(held)) is not None:
                    places[name] = known
                elif not any(map(secret, held)):
                    places[name] = "!"
                continue
            said = self._value([one.values[name] for one in self.group], name, number)
            if said != "?":
                places[name] = said
        places |= self._memory()
        ghosts = self._ghosts(output, hashed)
        states = self.states
        sources: dict[str, list[dict[str, str]]] = {}
        for k, state in enumerate(states):
            way = {u: u if u in self.meaning.numbers else str(values[k])
                   for u, values in self.basis.values.items()}  # fmt: skip
            ways = sources.setdefault(state.label, [])
            if way not in ways:
                ways.append(way)
        told: list[Number] = [n for n in (*self.anchors, output, hashed) if isinstance(n, Linear)]
        if self.hashing.start:
            told += [combined(n, unknown(self.hashing.start), -1) for n in told]
        return records(self.meaning, {
            "at": at - self.checker.entry, "unknowns": self.basis.ranges(),
            "among": self.basis.among(FEW), "facts": self.basis.facts(told),
            "places": places, "ghosts": ghosts,
            "flags": "secret" if any(s.machine.flags.secret for s in states) else "public",
            "dirty": any(s.machine.upper_dirty for s in states), "level": 0, "falls": "0",
            "from": sources,
        })  # fmt: skip

    # Places in the text.

    def _places(self) -> tuple[Number | str, Number | str | None]:
        """Return up to where the output is written, and up to where is hashed."""
        group = self.group
        written = [one.written for one in group]
        whole = within(written[0], BLOCK_BYTES) == 0
        output: Number | str = 0
        if not whole:
            if any(one.state.ghosts.get("length") != one.written for one in group):
                raise Unlike
            output = "length"
        of = group[0].hashed
        last = of is not None and of[0] == len(self.hashing.order) - 1
        ended = last and all(one.ended for one in group)
        hashed = [one.hashed[1] if one.hashed else 0 for one in group]
        if isinstance(group[0].base, Linear):
            self._anchor([one.base for one in group])  # type: ignore[misc]
            if self.basis.is_small(self.anchors[0]):
                raise Unlike
        elif whole and self.meaning.outputs and last:
            self._anchor(self._foremost(written))
        elif not ended:
            self._anchor(self._foremost(hashed))
        if whole and self.meaning.outputs:
            output = self._near(written)
        if of is None:
            return output, None
        buffer = self.hashing.order[of[0]].buffer
        if ended and any(within(at, BLOCK_BYTES) != 0 for at in hashed):
            if buffer not in self.hashing.ends:
                raise Unlike
            return output, self.hashing.ends[buffer]
        return output, self._near(hashed)

    def _foremost(self, values: Sequence[Number]) -> Sequence[Number]:
        """Return the place of a register in the text that is behind all others, and some place."""
        of = self.group[0].hashed
        buffers = {self.hashing.order[of[0] if of else 0].buffer, *self.meaning.outputs}
        for name in self.group[0].values:
            places = [one.values[name] for one in self.group]
            if all(isinstance(x, Pointer) and x.region in buffers for x in places):
                mine = [x.offset for x in places]
                apart = [combined(a, b, -1) for a, b in zip(mine, values, strict=True)]
                whole = all(within(at, BLOCK_BYTES) == 0 for at in mine)
                if whole and min(self.basis.bounds(apart)) >= 0:
                    values = mine
        return values

    def _anchor(self, values: Sequence[Number]) -> None:
        self.anchors.append(self.basis.based(values))

    def _near(self, values: Sequence[Number]) -> Number:
        self.basis.cover([values])
        found = self.basis.fitted(values)
        if found is None:
            raise Unlike
        if found not in self.anchors:
            self.anchors.append(found)
        return found

    # Values.

    def _value(self, values: Sequence[Any], name: str, number: int) -> Any:
        """Return what is said of a register that will be read, or of a place in memory."""
        v = values[0]
        public = not any(secret(x) for x in values)
        read = number >= 0
        if all(isinstance(x, Pointer) for x in values) and len({x.region for x in values}) == 1:
            offsets = [x.offset for x in values]
            n = self._in_records(offsets) if v.region == MESSAGES else self.basis.fitted(offsets)
            return "!" if n is None else ["p", v.region, str(n)]
        if all(isinstance(x, int | Linear) for x in values):
            if not read and isinstance(v, int) and all(x == v for x in values):
                return ["c", hex(v)]
            if number >= VECTOR:
                return ["c", hex(v)] if all(x == v for x in values) else "!"
            n = self.basis.fitted(values, place=False)
            return "!" if n is None else ["n", str(n)]
        if (known := self._entry(values)) is not None:
            return known
        lane = self._lane(values, name)
        if lane is not None:
            return lane
        if read and any(isinstance(x, Term) and not x.deps & (OPAQUE | CALLER) for x in values):
            raise Unlike
        return "!" if public else "?"

    def _in_records(self, offsets: Sequence[Number]) -> Number | None:
        """Return a place in the array of messages, from that of the record."""
        states = zip(offsets, self.states, strict=True)
        rest = {combined(n, times(s.ghosts[RECORD], RECORD_BYTES), -1) for n, s in states}
        found = rest.pop()
        return None if rest else combined(times(unknown(RECORD), RECORD_BYTES), found)

    def _cover(self) -> None:
        """Let the numbers that will be read be sums of unknowns."""
        several = []
        for name in self.group[0].values:
            values = [one.values[name] for one in self.group]
            if all(isinstance(x, Pointer) for x in values):
                several.append([x.offset for x in values])
            elif (
                all(isinstance(x, int | Linear) for x in values)
                and name in self.checker.target.general
            ):
                several.append(values)
        if not self.basis.cover(several):
            raise Unlike

    def _entry(self, values: Sequence[Any]) -> list[str] | None:
        """Return what the caller left in a register, if that is the value in all states."""
        v = values[0]
        if isinstance(v, Term) and all(x is v for x in values) and v in self.entries:
            return ["@", self.entries[v]]
        return None

    def _lane(self, values: Sequence[Any], name: str) -> Any:
        if not all(isinstance(x, int | Term) for x in values):
            return None
        if any(isinstance(x, Term) and x.deps & (OPAQUE | CALLER | RAW) for x in values):
            return None
        if name in self.group[0].sums:
            return ["v", "x"]
        if self.initial and is_mask(self.meaning, self.initial, self.states, values):
            self.masked = True
            return ["t", "mask"]
        if (found := self._counter(values)) is not None:
            return found
        return self._said(values)

    def _counter(self, values: Sequence[Any]) -> Any:
        """Return a counter block of some place."""
        if self.counters is None or not isinstance(values[0], Term):
            return None
        form = self.terms.try_form(values[0])
        if form is None or any(n[0] not in f"IN+{ROUND_KEY_LETTER}" for n in form.linear):
            return None
        anchors = [(n, self.basis.at(n)) for n in self.anchors] + [(0, [0] * len(values))]
        for anchor, places in anchors:
            several = list(zip(self.states, places, values, strict=True))
            for at, k in sorted(self.known.of(*several[0], REACH)):
                if all(
                    self.known.has(state, combined(place, at), k, v)
                    for state, place, v in several[1:]
                ):
                    return said(combined(anchor, at), k)
        return None

    def _said(self, values: Sequence[Any]) -> Any:
        """Return a term of blocks and entries as data."""
        first = values[0]
        if all(isinstance(x, int) for x in values):
            return ["c", hex(first)] if all(x == first for x in values) else None
        if not all(isinstance(x, Term) and x.op == first.op for x in values):
            return None
        match first.op:
            case "var":
                letters = {x.args[0][0] for x in values}
                if len(letters) != 1:
                    return None
                (letter,) = letters
                if letter == LENGTHS and all(x is first for x in values):
                    return ["t", "lengths"]
                if letter not in self.letters:
                    return None
                n = self.basis.fitted([parse(x.args[0][1:]) for x in values])
                return None if n is None else ["t", "block", letter, ["n", str(n)]]
            case "entry":
                return ["t", "entry", *first.args] if all(x is first for x in values) else None
            case "xor":
                for other in ((0, 1), (1, 0)):
                    turned = [x.args if k == 0 else (x.args[other[0]], x.args[other[1]])
                              for k, x in enumerate(values)]  # fmt: skip
                    a = self._said([one[0] for one in turned])
                    b = None if a is None else self._said([one[1] for one in turned])
                    if b is not None:
                        return ["t", "xor", a, b]
            case "moves":
                if all(x.args[1] == first.args[1] for x in values):
                    a = self._said([x.args[0] for x in values])
                    moves = [[shift, hex(keep)] for shift, keep in first.args[1]]
                    return None if a is None else ["t", "moves", a, moves]
        return None

    # Memory.

    def _memory(self) -> dict[str, Any]:
        out: dict[str, Any] = {}
        for region in self.states[0].memory.written:
            if region in self.meaning.outputs:
                continue
            cells = written_cells(self.states, region)
            held: list[list[Any]] = []
            for state in self.states:
                self.meaning.entering(state)
                held.append([self._read(state, region, *cell) for cell in cells])
            for k, (first, size) in enumerate(cells):
                values = [one[k] for one in held]
                said = "?" if None in values else self._value(values, "", -1)
                out[f"{region}+{first}:{size}"] = said
        return out

    def _read(self, state: State, region: str, first: int, size: int) -> Any:
        try:
            v = state.memory._read(region, first, size)
        except Refutation:
            return None  # A return address.
        if isinstance(v, Term) and not v.deps & (OPAQUE | CALLER):
            return self.meaning.canonical(v)
        return v

    # Ghosts.

    def _ghosts(self, output: Number | str, hashed: Number | str | None) -> dict[str, Any]:
        out: dict[str, Any] = {}
        first = self.states[0]
        for part in self.meaning.parts:
            match part:
                case Hashing() if part is self.hashing:
                    out[part.name] = self._hash(hashed)
                case Hashing():
                    out[part.name] = self._still(part)
                case Counters():
                    base = first.ghosts.get(BASE)
                    self.meaning.entering(first)
                    # From where the output is, or from a place near its end.
                    place = output
                    if output == "length":
                        place = next((n for n in self.anchors if within(n, BLOCK_BYTES) == 0), 0)
                    out[part.name] = str(place) if base is not None else None
                case Initial():
                    out[part.name] = self.masked
                case Text():
                    out[part.name] = str(output)
                case Answer():
                    out[part.name] = None
                case _:
                    raise Unlike
        return out

    def _hash(self, hashed: Number | str | None) -> Any:
        group = self.group
        if hashed is not None:
            powers = set(group[0].sums.values())
            if len(powers) != 1 or group[0].hashed is None:
                raise Unlike
            of = self.hashing.order[group[0].hashed[0]].buffer
            return {"of": of, "hashed": str(hashed), "ahead": 0, "sum": [["x", powers.pop()]]}
        places = {self.hashing.position(s.ghosts) for s in self.states}
        if len(places) != 1:
            raise Unlike
        now, at, ahead, items = places.pop()
        if items != () or not isinstance(at, int):
            raise Unlike
        return {"of": self.hashing.order[now].buffer, "hashed": str(at), "ahead": ahead, "sum": []}

    def _still(self, part: Hashing) -> Any:
        """Return what is known of a hash that no case goes on with; None: some know nothing."""
        first = self.states[0]
        if any(part.keys[0] not in s.ghosts or s.ghosts.get(BASE) is not None for s in self.states):
            return None
        of, hashed, ahead, items = part.position(first.ghosts)
        if items not in ((), part.first) or isinstance(hashed, Linear):
            return None
        return {"of": part.order[of].buffer, "hashed": str(hashed), "ahead": ahead, "sum": []}

"""Finds certificates of functions that take many messages one after the other.

At the head of the loop over records a message begins: what is there in the first turn tells what
is there in every one. From there on the search is that of a single message. One number falls from
cut to cut: the records that are left, far more than whatever falls within a message.
"""

from dataclasses import replace
from typing import Any

from ghashgen.algebra.field.bitorder import BLOCK_BYTES
from ghashgen.verify.core.linear import Case
from ghashgen.verify.core.numbers import Number, combined, parse, times, unknown
from ghashgen.verify.core.refutation import unsupported
from ghashgen.verify.core.term import Term
from ghashgen.verify.core.values import Linear, Pointer
from ghashgen.verify.machine.machine import END
from ghashgen.verify.machine.memory import STACK
from ghashgen.verify.meaning.records import COUNT, MESSAGES, PLACE, RECORD, WINDOW, Records
from ghashgen.verify.rules.assertion import registers
from ghashgen.verify.rules.check import Checker
from ghashgen.verify.rules.state import State
from ghashgen.verify.search.graph import reached
from ghashgen.verify.search.held import records, written_cells
from ghashgen.verify.search.looks import look_at
from ghashgen.verify.search.message import Search
from ghashgen.verify.search.places import Places
from ghashgen.verify.search.values import FILES

TURN_OF_MESSAGE, TURN_OF_RECORD = 1 << 70, 1 << 140
"""More than falls within a level, and within all levels of a message."""

NEXT = "next"
LEFT = combined(unknown(COUNT), unknown(RECORD), -1)


class Many(Search):
    """A certificate of such a function as far as it is found."""

    def __init__(self, checker: Checker, abi: str, together: bool) -> None:
        super().__init__(checker, abi, together)
        assert isinstance(self.meaning, Records)
        head = min(self.heads, default=0)
        if not head:
            raise unsupported("search: no loop over records")
        # Without the ways back to its head, what is in the loop is a function of one message.
        self.after = {
            at: tuple(to for to in ways if to != head or at < head)
            for at, ways in self.after.items()
        }
        self.flow = replace(self.flow, after=self.after)
        self.heads = frozenset(at for at in self.flow.cuts if at in reached(self.after, at))
        self.where = Places(checker.image, self.flow, checker.entry)
        self.data["assertions"][NEXT] = self.begins(head)
        self.latest, self.sources = NEXT, [NEXT]

    def begins(self, head: int) -> dict[str, Any]:
        """Return the assertion at the head of the loop over records."""
        assert isinstance(self.meaning, Records)
        (first,) = self.checker.entries()
        address = self.checker.entry
        while address != head:
            address = self.checker.step(first, address)
        live = self.flow.live.get(head, frozenset())
        left = {v: n for n, v in self.checker.left.items() if isinstance(v, Term)}

        def said(value: Any) -> Any:
            if isinstance(value, Pointer):
                n = times(unknown(RECORD), 80) if value.region == MESSAGES else value.offset
                return ["p", value.region, str(n)]
            if isinstance(value, Linear):
                return ["n", str(LEFT if value == unknown(COUNT) else value)]
            return ["@", left[value]] if value in left else "!"

        # A message may leave anything in a place, but what nobody wipes has to be public.
        wiped, cleared = self.written_behind(first, head) if self.meaning.wipe else (None, None)
        places = dict[str, Any]()
        for name, place in registers(self.checker.target).items():
            if place.file == "gpr" and FILES["gpr"] + place.index in live:
                places[name] = said(place.of(first.machine))
            elif wiped is not None and name not in wiped:
                places[name] = "!"
        top: Any = first.machine.gpr[self.checker.top]
        free = {*range(top.offset - first.machine.red_zone, 0)}
        for at, size in written_cells([first], STACK):
            places[f"{STACK}+{at}:{size}"] = said(first.memory._read(STACK, at, size))
            free -= {*range(at, at + size)}
        secret = free if cleared is None else free & cleared
        for some, what in ((secret, "?"), (free - secret, "!")):
            for start in {at - at % BLOCK_BYTES for at in some}:
                block = {*range(start, start + BLOCK_BYTES)}
                size = BLOCK_BYTES if block <= some else 1
                places |= {f"{STACK}+{at}:{size}": what for at in sorted(block & some)[::size]}
        lengths = self.meaning.lengths
        one: dict[str, Any] = {
            "at": head - self.checker.entry,
            "unknowns": {n: [*ends] for n, ends in lengths.items()},
            "among": {}, "facts": [str(LEFT)], "places": places,
            "ghosts": {part.name: None for part in self.meaning.parts} | {
                "iv": {"of": "iv", "hashed": "0", "ahead": 0, "sum": []},
                "x": {"of": "aad", "hashed": "0", "ahead": 0, "sum": []},
                "output": "0", "mask": False,
            },
            "flags": "secret", "dirty": False, "level": 0, "falls": str(LEFT),
            "from": {"entry": [{n: n for n in lengths} | {COUNT: COUNT, RECORD: "0", PLACE: "0", WINDOW: "1"}]},
        }  # fmt: skip
        done: dict[str, Any] = records(self.meaning, one, [])
        return done

    def written_behind(self, first: State, head: int) -> tuple[set[str], set[int]]:
        """Return the registers and the bytes of the frame that are written behind the last record.

        Of a vector register the lanes above the first only if they change.
        """
        (state,) = first.each((Case(values=((COUNT, 0),)),))
        m, cells = state.machine, {**state.memory.written[STACK]}
        places = registers(self.checker.target).items()
        before = {name: place.of(m) for name, place in places}
        names, bytes_ = set[str](), set[int]()
        while head != END:
            writes = look_at(self.checker.image, head).writes
            head = self.checker.step(state, head)
            names |= {
                name for name, place in places
                if place.of(m) is not before[name]
                or (not place.lane and FILES[place.file] + place.index in writes)
            }  # fmt: skip
            bytes_ |= {k for k, v in state.memory.written[STACK].items() if cells.get(k) != v}
        return names, bytes_

    def run(self) -> dict[str, Any]:
        """Return the certificate."""
        assert isinstance(self.meaning, Records)
        found: dict[str, Any] = super().run()["assertions"]
        way = {n: f"{n}_0" for n in self.meaning.lengths} | {
            COUNT: COUNT, RECORD: f"{RECORD}+1", PLACE: "0", WINDOW: "1",
        }  # fmt: skip
        outer = times(LEFT, TURN_OF_RECORD)
        dirty = any(one["dirty"] for one in found.values())
        for name, one in found.items():
            found[NEXT]["from"].setdefault(name, []).append(way)
            inner: Number = combined(parse(one["falls"]), (one["level"] + 1) * TURN_OF_MESSAGE)
            inner = combined(inner, -TURN_OF_RECORD)
            one["falls"] = str(outer if name == NEXT else combined(outer, inner))
            one["level"], one["dirty"] = 0, dirty
        return {"assertions": found}

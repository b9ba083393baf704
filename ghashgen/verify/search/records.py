"""Finds certificates of functions that take many messages one after the other.

At the head of the loop over records a message begins: what is there in the first turn tells what
is there in every one. From there on the search is that of a single message. One number falls from
cut to cut: the records that are left, far more than whatever falls within a message.
"""

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from types import MappingProxyType
from typing import Any

from ghashgen.algebra.field.bitorder import BLOCK_BYTES
from ghashgen.verify.core.linear import Case
from ghashgen.verify.core.numbers import Number, combined, parse, replaced, times, unknown
from ghashgen.verify.core.refutation import Refutation, unsupported
from ghashgen.verify.core.term import Term
from ghashgen.verify.core.values import Linear, Pointer, UndecidedError
from ghashgen.verify.machine.machine import END
from ghashgen.verify.machine.memory import STACK
from ghashgen.verify.meaning.records import (
    COUNT,
    MESSAGES,
    MOST_RECORDS,
    PLACE,
    RECORD,
    WINDOW,
    Records,
)
from ghashgen.verify.rules.assertion import registers
from ghashgen.verify.rules.check import Checker
from ghashgen.verify.rules.state import State
from ghashgen.verify.search.graph import reached
from ghashgen.verify.search.groups import ABOVE, NEXT, ONE, SIZE
from ghashgen.verify.search.held import records, written_cells
from ghashgen.verify.search.looks import look_at
from ghashgen.verify.search.merge import finer
from ghashgen.verify.search.message import Search, _held
from ghashgen.verify.search.mixed import Mixed
from ghashgen.verify.search.neighbours import Neighbours
from ghashgen.verify.search.places import Places
from ghashgen.verify.search.unlike import Unlike
from ghashgen.verify.search.values import FILES
from ghashgen.verify.search.ways import alone
from ghashgen.verify.search.woven import Woven

TURN_OF_MESSAGE, TURN_OF_RECORD = 1 << 70, 1 << 140
"""More than falls within a level, and within all levels of a message."""


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
        (first,) = self.checker.entries()
        address = checker.entry
        while address != head:
            address = checker.step(first, address)
        (last,) = first.copy().each((Case(values=((COUNT, 1),)),))
        one = alone(self, last, head)
        self.wiped, self.cleared = set[str](), set[int]()
        if self.meaning.wipe:
            self.wiped, self.cleared = self.written_behind(first, head)
        for kind in (Woven, Neighbours, None) if one else (None,):
            self.window, self.latest = SIZE if kind else 1, NEXT
            self.data["assertions"] = {}
            self.data["assertions"][NEXT] = self.begins(first, head)
            if kind is None:
                break
            with suppress(Refutation, UndecidedError):
                kind(self, one).add()
                (Unlike if kind is Neighbours else Mixed)(self, one).add()
                self.latest, self.heads = ONE, self.heads & reached(self.after, one)
                break
        self.first, self.sources = self.latest, [self.latest]

    def way(self, done: int, window: int, now: int = 0) -> dict[str, str]:
        """Return what the numbers are at a window that begins so many records behind one."""
        assert isinstance(self.meaning, Records)
        place = f"{PLACE}_0" if window > 1 else "0"
        record = f"{first_of(now or self.window)}+{done}+{place}".removesuffix("+0")
        numbers = {COUNT: COUNT, RECORD: record, PLACE: place, WINDOW: str(window)}
        return {n: f"{n}_0" for n in self.meaning.lengths} | numbers

    def begins(
        self, state: State, at: int, done: int = 0,
        alike: Mapping[str, str] = MappingProxyType({}), window: int = 0,
    ) -> dict[str, Any]:  # fmt: skip
        """Return the assertion where a state comes to the window behind so many records.

        `alike`: the lengths that a group has in common, and their names.
        """
        assert isinstance(self.meaning, Records)
        window = window or self.window
        live = self.flow.live.get(at, frozenset())
        left = {v: n for n, v in self.checker.left.items() if isinstance(v, Term)}
        ghosts, lengths = state.ghosts, self.meaning.lengths
        was = combined(combined(ghosts[RECORD], ghosts[PLACE], -1), done)
        first = parse(first_of(window))
        remaining = combined(unknown(COUNT), first, -1)
        shape = {ghosts[of]: name for of, name in alike.items()}

        def text(value: Any) -> Any:
            """Return a value of the context, None for any other."""
            if not isinstance(value, Term):
                return ["c", hex(value)] if isinstance(value, int) else None
            args: Any = value.args
            match value.op:
                case "entry":
                    return ["t", "entry", *args]
                case "xor":
                    parts = [text(a) for a in args]
                    return None if None in parts else ["t", "xor", *parts]
            return None

        def said(value: Any) -> Any:
            if isinstance(value, Pointer):
                n = value.offset
                if value.region == MESSAGES:
                    n = combined(times(first, 80), combined(n, times(was, 80), -1))
                return ["p", value.region, str(n)]
            if isinstance(value, Term):
                return ["@", left[value]] if value in left else "!"
            if value in shape:
                return ["n", shape[value]]
            if isinstance(value, int | Linear):
                more = combined(value, combined(ghosts[COUNT], was, -1), -1)
                if isinstance(more, int) and not isinstance(ghosts[COUNT], int):
                    return ["n", str(combined(remaining, more))]
            if isinstance(value, Linear):
                return ["n", str(value)]
            return ["n", str(value)] if alike else "!"

        # A message may leave anything in a place, but what nobody wipes has to be public.
        places = dict[str, Any]()
        for name, place in registers(self.checker.target).items():
            kept = "!" if self.meaning.wipe and name not in self.wiped else "?"
            if place.file == "gpr" and FILES["gpr"] + place.index in live:
                places[name] = said(place.of(state.machine))
            elif self.window > 1 and FILES[place.file] + place.index in live:
                places[name] = text(place.of(state.machine)) or kept
            elif kept == "!":
                places[name] = kept
        if known := self.data["assertions"].get(NEXT):
            # In the frame there is the same, of another window.
            places |= {
                p: said(_held(state, p)) if v[0] == "n" and window > self.window else v
                for p, v in known["places"].items()
                if p.startswith(f"{STACK}+")
            }
            if window == 1:
                places = {
                    p: [v[0], str(replaced(parse(v[1]), {PLACE: 0}))] if v[0] == "n" else v
                    for p, v in places.items()
                }
        else:
            places |= self.frame(state, said)
        one: dict[str, Any] = {
            "at": at - self.checker.entry,
            "unknowns": {n: [*ends] for n, ends in lengths.items()}
            | {PLACE: [0, window - 1], WINDOW: [window, window]}
            | {RECORD: [0, MOST_RECORDS + window - 1]},
            "among": {}, "facts": [str(remaining), *([str(first)] if window > 1 else [])],
            "places": places,
            "ghosts": {part.name: None for part in self.meaning.parts} | {
                "iv": {"of": "iv", "hashed": "0", "ahead": 0, "sum": []},
                "x": {"of": "aad", "hashed": "0", "ahead": 0, "sum": []},
                "output": "0", "mask": False,
            },
            "flags": "secret", "dirty": False, "level": 0, "falls": str(remaining),
            "from": {"entry": [self.entered()]},
        }  # fmt: skip
        done_: dict[str, Any] = records(self.meaning, one, [])
        return done_

    def entered(self) -> dict[str, str]:
        """Return what the numbers are in the first window."""
        assert isinstance(self.meaning, Records)
        if self.window > 1:
            return self.way(0, self.window)
        return {n: n for n in self.meaning.lengths} | {
            COUNT: COUNT, RECORD: "0", PLACE: "0", WINDOW: "1",
        }  # fmt: skip

    def frame(self, state: State, said: Callable[[Any], Any]) -> dict[str, Any]:
        """Return what is in the frame."""
        places = dict[str, Any]()
        top: Any = state.machine.gpr[self.checker.top]
        free = {*range(top.offset - state.machine.red_zone, 0)}
        for at, size in written_cells([state], STACK):
            places[f"{STACK}+{at}:{size}"] = said(state.memory._read(STACK, at, size))
            free -= {*range(at, at + size)}
        secret = free & self.cleared if self.meaning.wipe else free
        for some, what in ((secret, "?"), (free - secret, "!")):
            # As its slots lie, which may hold values that have names.
            for start in {at - (at - top.offset) % BLOCK_BYTES for at in some}:
                block = {*range(start, start + BLOCK_BYTES)}
                size = BLOCK_BYTES if block <= some else 1
                places |= {f"{STACK}+{at}:{size}": what for at in sorted(block & some)[::size]}
        return places

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

    def certificates(self) -> Iterator[dict[str, Any]]:
        """Yield certificates: one with more assertions first, which takes less time to check."""
        data = super().run()
        plain = json.loads(json.dumps(data))
        found = data["assertions"]
        many = [n for n, one in found.items() if n == NEXT or one["unknowns"][WINDOW] != [1, 1]]
        with suppress(Refutation, UndecidedError):
            if (more := finer(self.checker, self.where, data, many)) is not None:
                yield self.counted(more)
        yield self.counted(plain)

    def run(self) -> dict[str, Any]:
        """Return the certificate without them."""
        return self.counted(super().run())

    def counted(self, data: dict[str, Any]) -> dict[str, Any]:
        """Let one number fall from cut to cut, whatever the levels were; return the certificate."""
        found: dict[str, Any] = data["assertions"]
        dirty = any(one["dirty"] for one in found.values())
        lowest = min(one["level"] for one in found.values()) - 1
        back = self.way(1, self.window, 1)
        for name, one in found.items():
            _, window = one["unknowns"][WINDOW]
            left = combined(unknown(COUNT), parse(first_of(window)), -1)
            above: Number | None = next((n for of, n in ABOVE.items() if name.startswith(of)), None)
            if above is None:
                inner = combined(parse(one["falls"]), (one["level"] - lowest) * TURN_OF_MESSAGE)
                above = combined(inner, -TURN_OF_RECORD)
            if window == 1:
                found[NEXT]["from"].setdefault(name, []).append(back)
            one["falls"] = str(combined(times(left, TURN_OF_RECORD), above))
            one["level"], one["dirty"] = 0, dirty
        return {"assertions": found}


def first_of(window: int) -> str:
    """Return the first record of a window."""
    return f"{RECORD}-{PLACE}" if window > 1 else RECORD

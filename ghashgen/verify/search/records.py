"""Finds certificates of functions that take many messages one after the other.

At the head of the loop over records a message begins: what is there in the first turn tells what
is there in every one. From there on the search is that of a single message. One number falls from
cut to cut: the records that are left, far more than whatever falls within a message.
"""

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from ghashgen.algebra.field.bitorder import BLOCK_BYTES
from ghashgen.verify.core.linear import Case, Fork
from ghashgen.verify.core.numbers import Number, combined, parse, replaced, times, unknown
from ghashgen.verify.core.refutation import Refutation, unsupported
from ghashgen.verify.core.term import MASK64, Term
from ghashgen.verify.core.values import Linear, Pointer
from ghashgen.verify.machine.flags import SecretCondition
from ghashgen.verify.machine.machine import END
from ghashgen.verify.machine.memory import STACK
from ghashgen.verify.meaning.letters import GIVEN
from ghashgen.verify.meaning.records import COUNT, MESSAGES, MOST_RECORDS, PLACE, RECORD, WINDOW, Records
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

NEXT, ONE, GROUP, CHECKS, JUDGE = "next", "one", "group", "checks", "judge"

MANY_WAYS = 8
"""So many ways lead to where a message is processed by itself, at least."""

MOST_BLOCKS_ALIKE = 4
"""Blocks of the longest message in a group."""


ABOVE: dict[str, Number] = {CHECKS: 1, NEXT: 0, GROUP: -1, JUDGE: -2, ONE: -1}
"""What falls, beside the messages that are left."""

WINDOW_OF = re.compile(f"{NEXT}|{GROUP}|{CHECKS}|{JUDGE}")


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
        one = self.alone()
        self.window = 4 if one else 1
        (first,) = self.checker.entries()
        address = checker.entry
        while address != head:
            address = checker.step(first, address)
        self.data["assertions"][NEXT] = self.begins(first, head)
        self.latest = NEXT
        if one:
            self.groups(one)
            self.latest = ONE
            (few,) = self.source(NEXT)[0].each((Case(values=((PLACE, 0), (COUNT, 1), (RECORD, 0))),))
            at, arrived = self.follow(few, head, frozenset({one}), END)
            alone = self.begins(arrived, one, window=1)
            alone["facts"] = [f"{COUNT}-{RECORD}-1"]
            alone["from"] = {NEXT: [self.way(0, 1)]}
            self.data["assertions"][ONE] = alone
            self.heads &= reached(self.after, one)
        self.sources = [self.latest]

    def alone(self) -> int | None:
        """Return where a message is processed by itself, if others are in groups."""
        ways = Counter(to for after in self.after.values() for to in after)
        at, most = max(ways.items(), key=lambda item: item[1])
        return at if most >= MANY_WAYS and self.heads - reached(self.after, at) else None

    def way(self, done: int, window: int) -> dict[str, str]:
        """Return what the numbers are at a window that begins so many records behind this one."""
        assert isinstance(self.meaning, Records)
        place = f"{PLACE}_0" if window > 1 else "0"
        first = f"{RECORD}-{PLACE}" if self.window > 1 else RECORD
        record = f"{first}+{done}" + (f"+{place}" if window > 1 else "")
        numbers = {COUNT: COUNT, RECORD: record, PLACE: place, WINDOW: str(window)}
        return {n: f"{n}_0" for n in self.meaning.lengths} | numbers

    def groups(self, alone: int) -> None:
        """Add assertions of groups of messages alike: before one, and behind it."""
        heads = self.heads - reached(self.after, alone)
        loops = {
            head: max(at for at, ways in self.after.items() if head in ways) for head in heads
        }
        heads = frozenset(
            h for h in heads if not any(o < h <= last for o, last in loops.items())
        )
        inside = frozenset(
            at for at in self.after for head, last in loops.items() if head <= at <= last
        )
        next_, same = self.data["assertions"][NEXT], {n: n for n in self.meaning.numbers}
        for blocks in range(1, MOST_BLOCKS_ALIKE + 1):
            name, checks = (f"{what}{'abcd'[blocks - 1]}" for what in (GROUP, CHECKS))
            state, address = self.source(NEXT)
            known = {PLACE: 0, "length": 16 * blocks - 1}
            at, state = self.follow(state.within(Case(values=tuple(known.items()))), address,
                                    inside, alone)
            one = self.begins(state, at, alike={"length": "length", "aad_length": "aad_length"})
            lengths = [16 * blocks - 15, 16 * blocks]
            one["unknowns"] |= {"length": lengths, "aad_length": [1, 16], "iv_length": [12, 12]}
            if "tag_length" in one["unknowns"]:
                one["unknowns"]["tag_length"] = [16, 16]
            one["facts"] = [f"{COUNT}-{RECORD}+{PLACE}-4", f"{RECORD}-{PLACE}"]
            one["from"] = {NEXT: [same], checks: [same]}
            self.data["assertions"][name] = one
            state, address = self.source(name)
            known |= {"aad_length": 5}
            state = state.within(Case(values=tuple(known.items())))
            sources = [name]
            if self.answers:
                sources = self.judges(name, lengths, alone)
                state, address = self.source(sources[0])
                state = state.within(Case(values=tuple({**known}.items())[1:]))
            at, state = self.follow(state, address, heads, alone)
            one = self.begins(state, at, 4, {"length": "text", "aad_length": "more"})
            one["unknowns"] |= {"text": lengths, "more": [1, 16]}
            way = self.way(4, 4) | {"text": "length", "more": "aad_length"}
            one["from"] = {source: [way] for source in sources}
            next_["from"][checks] = [self.way(0, 4)]
            self.data["assertions"][checks] = one

    def judges(self, group: str, lengths: list[int], alone: int) -> list[str]:
        """Add assertions before the tags of a group are compared; return their names."""
        assert isinstance(self.meaning, Records)
        answer = self.meaning.answer
        assert answer is not None
        same, names, where = {n: n for n in self.meaning.numbers}, [], 0
        for index in range(4):
            state, address = self.source(group)
            known = {PLACE: index, "length": lengths[1] - 1, "aad_length": 5}
            (state,) = state.each((Case(values=tuple(known.items())),))
            where = where or self.compared(state.copy(), address)
            _, state = self.follow(state, address, frozenset({where}), alone)
            alike = {"length": "length", "aad_length": "aad_length"}
            one = self.begins(state, where, alike=alike)
            for name, place in registers(self.checker.target).items():
                if place.file == "vec" and answer.tag.is_right(state, place.of(state.machine)):
                    tags = {f"v{place.index}.{k}": ["t", "other", k] for k in range(4)}
                    one["places"] |= tags | {name: ["v", "tag"]}
            one["unknowns"] |= {n: self.data["assertions"][group]["unknowns"][n]
                                for n in ("length", "aad_length", "iv_length", "tag_length")}
            one["unknowns"][PLACE] = [index, index]
            one["facts"] = self.data["assertions"][group]["facts"]
            one["ghosts"] |= {"iv": None, "x": None, "output": "length", "answer": {"tag": "tag"}}
            one["from"] = {group: [same]}
            names.append(f"{JUDGE}{group[-1]}{'abcd'[index]}")
            self.data["assertions"][names[-1]] = one
        return names

    def compared(self, state: State, address: int) -> int:
        """Return from where on a run, of the first message of a group, reads its given tag."""
        before = address
        self.meaning.entering(state)
        while True:
            writes, was = [*state.machine.vec], address
            try:
                address = self.checker.step(state, address)
            except Fork as question:
                state, address = state.each(question.cases)[-1], was
                self.meaning.entering(state)
                continue
            for new, old in zip(state.machine.vec, writes, strict=True):
                if new is not old and isinstance(new[0], Term) and self.meaning.text is not None:
                    if GIVEN in self.meaning.text.variables.of(new[0]):
                        return before
            before = was

    def follow(
        self, state: State | None, address: int, to: frozenset[int], alone: int
    ) -> tuple[int, State]:
        """Return where a run comes first of some places, and its state there."""
        assert state is not None
        work = [(state, address, True)]
        while work:
            state, at, begun = work.pop()
            self.meaning.entering(state)
            try:
                while begun or at not in (END, alone, *to):
                    at, begun = self.checker.step(state, at), False
            except Fork as question:
                work += [(case, at, begun) for case in state.each(question.cases)]
                continue
            except SecretCondition as asked:
                work += [(case, at, True) for case in self.checker.answers(state, asked)[:1]]
                continue
            if at in to:
                return at, state
        raise unsupported("search: no loop over groups")

    def begins(
        self, state: State, at: int, done: int = 0, alike: Mapping[str, str] = {},
        window: int = 0,
    ) -> dict[str, Any]:
        """Return the assertion where a state comes to the window behind so many records."""
        assert isinstance(self.meaning, Records)
        window = window or self.window
        live = self.flow.live.get(at, frozenset())
        left = {v: n for n, v in self.checker.left.items() if isinstance(v, Term)}
        ghosts, lengths = state.ghosts, self.meaning.lengths
        was = combined(combined(ghosts[RECORD], ghosts[PLACE], -1), done)
        first = unknown(RECORD)
        if window > 1:
            first = combined(first, unknown(PLACE), -1)
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
            if isinstance(value, Linear):
                is_left = value == combined(ghosts[COUNT], was, -1)
                return ["n", str(remaining if is_left else value)]
            return ["n", str(value)] if alike else "!"

        # A message may leave anything in a place, but what nobody wipes has to be public.
        wiped, cleared = self.written_behind(state, at) if self.meaning.wipe else (None, None)
        places = dict[str, Any]()
        for name, place in registers(self.checker.target).items():
            if place.file == "gpr" and FILES["gpr"] + place.index in live:
                places[name] = said(place.of(state.machine))
            elif FILES[place.file] + place.index in live and self.window > 1:
                places[name] = text(place.of(state.machine)) or "?"
            elif wiped is not None and name not in wiped:
                places[name] = "!"
        if known := self.data["assertions"].get(NEXT):
            # In the frame there is the same, of another window.
            places |= {p: v for p, v in known["places"].items() if p.startswith(f"{STACK}+")}
            if window == 1:
                places = {
                    p: [v[0], str(replaced(parse(v[1]), {PLACE: 0}))] if v[0] == "n" else v
                    for p, v in places.items()
                }
        else:
            places |= self.frame(state, said, cleared)
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

    def frame(self, state: State, said: Any, cleared: set[int] | None) -> dict[str, Any]:
        """Return what is in the frame."""
        places = dict[str, Any]()
        top: Any = state.machine.gpr[self.checker.top]
        free = {*range(top.offset - state.machine.red_zone, 0)}
        for at, size in written_cells([state], STACK):
            places[f"{STACK}+{at}:{size}"] = said(state.memory._read(STACK, at, size))
            free -= {*range(at, at + size)}
        secret = free if cleared is None else free & cleared
        for some, what in ((secret, "?"), (free - secret, "!")):
            for start in {at - at % BLOCK_BYTES for at in some}:
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

    def run(self) -> dict[str, Any]:
        """Return the certificate."""
        assert isinstance(self.meaning, Records)
        found: dict[str, Any] = super().run()["assertions"]
        dirty = any(one["dirty"] for one in found.values())
        lowest = min(one["level"] for one in found.values()) - 1
        for name, one in found.items():
            left = f"{COUNT}-{RECORD}+{PLACE}" if WINDOW_OF.match(name) else f"{COUNT}-{RECORD}"
            outer = times(parse(left), TURN_OF_RECORD)
            above = next((n for what, n in ABOVE.items() if name.startswith(what)), None)
            if above is None:
                above = combined(parse(one["falls"]), (one["level"] - lowest) * TURN_OF_MESSAGE)
                above = combined(above, -TURN_OF_RECORD)
                found[NEXT]["from"].setdefault(name, []).append(self.back())
            elif name == ONE:
                found[NEXT]["from"].setdefault(name, []).append(self.back())
            one["falls"] = str(combined(outer, above))
            one["level"], one["dirty"] = 0, dirty
        if self.window == 1:  # Of no length at all.
            found[NEXT]["from"].setdefault(NEXT, []).append(self.back())
        return {"assertions": found}

    def back(self) -> dict[str, str]:
        """Return what the numbers are when a message by itself is done."""
        out = self.way(1, self.window)
        return {n: v.replace(f"-{PLACE}", "") for n, v in out.items()}

"""Finds certificates of messages: an assertion at the head of each loop, and where its ways meet.

From the entry to the first loop; then to the next one, before which all cases of the one behind are
brought together at the first instruction that all of them pass.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from functools import partial
from typing import Any

from ghashgen.verify.core.numbers import parse, parts
from ghashgen.verify.core.refutation import Refutation, unsupported
from ghashgen.verify.core.term import secret
from ghashgen.verify.core.values import Linear
from ghashgen.verify.meaning.answer import Answer
from ghashgen.verify.meaning.counters import BASE, IV_BYTES
from ghashgen.verify.meaning.function import Function
from ghashgen.verify.meaning.hashing import Hashing
from ghashgen.verify.meaning.text import ANSWER
from ghashgen.verify.rules.assertion import read_certificate, registers
from ghashgen.verify.rules.check import Checker
from ghashgen.verify.rules.state import State
from ghashgen.verify.search.flow import Flow, flow_of
from ghashgen.verify.search.generalise import Sample
from ghashgen.verify.search.graph import dominators, leading, reached
from ghashgen.verify.search.joint import Joint
from ghashgen.verify.search.loops import ENOUGH, TURNS, cases, turns
from ghashgen.verify.search.merge import Merging, begun, levelled
from ghashgen.verify.search.places import Places
from ghashgen.verify.search.residues import divided, plain
from ghashgen.verify.search.values import TURN

MOST_LOOPS = 12

FEW = 8
"""States of which it is tried whether anything is the same of all."""

Start = tuple[State, int]
"""A state, and where it stands."""


class Search:
    """A certificate as far as it is found."""

    def __init__(self, checker: Checker, abi: str, together: bool) -> None:
        self.checker, self.meaning = checker, checker.meaning
        self.together = together
        """Whether cases that are alike are brought together on the way to a joint."""
        image, meaning = checker.image, checker.meaning
        self.data: dict[str, Any] = {"assertions": {}}
        self.flow: Flow = flow_of(checker, abi)
        self.after = self.flow.after
        self.heads = frozenset(at for at in self.flow.cuts if at in reached(self.after, at))
        self.where = Places(image, self.flow, self.checker.entry)
        self.same = {n: n for n in meaning.numbers}
        self.begin = self.checker.begin()
        assert isinstance(meaning, Function)
        self.buffers = sum(len(p.order) for p in meaning.parts if isinstance(p, Hashing))
        self.answers = any(isinstance(p, Answer) and p.text for p in meaning.parts)
        self.first = self.latest = "entry"
        """Where a message begins, and the assertion that was followed last."""
        self.sources: list[str] = [self.first]
        """From where runs come to the next joint."""
        self.last_tried: tuple[list[str], list[State], int] = [], [], -1
        """The same, the states in which they came to the last place that was tried, and it."""

    def source(self, name: str) -> Start:
        """Return the state of an assertion, or at the entry, and where it is."""
        if name == "entry":
            return self.checker.begin(), self.checker.entry
        one = read_certificate({"assertions": {name: self.data["assertions"][name]}})[name]
        return begun(self.checker, one), self.checker.entry + one.at

    def stops(self) -> frozenset[int]:
        """Return where there are assertions."""
        entry = self.checker.entry
        return frozenset(entry + a["at"] for a in self.data["assertions"].values())

    def loop(self, head: int, states: list[State]) -> str:
        """Add the assertion of a loop."""
        name = f"loop{len(self.data['assertions'])}"
        sample = Sample(self.checker, states[-TURNS:], self.flow.live.get(head, frozenset()))
        sources = {self.latest: [self.same | {TURN: "0"}], name: [self.same | {TURN: f"{TURN}+1"}]}
        one = sample.assertion(head - self.checker.entry, 0, sources)
        for number in self.meaning.numbers:
            ghost = states[-TURNS].ghosts[number]
            if one is not None and isinstance(ghost, Linear) and number not in one["unknowns"]:
                # The run that was followed is of one remainder of this number.
                one = plain(one, number, ghost) or self.divided(one, head, number, ghost)
        if one is None:
            raise unsupported(f"search: no invariant of the loop at {head:#x}")
        self.widen(one, head, sample)
        self.data["assertions"][name] = _read_later(one, states)
        return name

    def divided(
        self, one: dict[str, Any], head: int, number: str, ghost: Linear
    ) -> dict[str, Any] | None:
        """Return the assertion of a loop over whole blocks, of every remainder of a length."""
        arrived = self.arrived(*self.source(self.latest), head)
        ghosts: Any = [ghost, *(s.ghosts[number] for s in arrived)]
        return divided(one, number, ghosts, lambda place: [_held(s, place) for s in arrived])

    def widen(self, one: dict[str, Any], head: int, sample: Sample) -> None:
        """Let the numbers that a loop is not about be what they are in all ways to its head."""
        state, address = self.source(self.latest)
        arrived = self.arrived(state, address, head)
        if not arrived:
            return
        joint = Joint(self.checker, arrived, frozenset())
        self.loosened(one, arrived)
        for place, said in one["places"].items():
            if said[0] == "n" and isinstance(parse(said[1]), int):
                held = [_held(s, place) for s in arrived]
                number = (
                    joint.number(held) if all(isinstance(n, int | Linear) for n in held) else None
                )
                one["places"][place] = "!" if number is None else ["n", str(number)]
        size = self.begin.memory.regions[sample.blocks.buffer].size
        about = {u for u, _ in parts(size)[1]}
        for name in self.meaning.numbers:
            if name in about:
                continue
            known = joint.spread(name)
            one["unknowns"][name] = (
                [min(known), max(known)] if isinstance(known, list) else [*known]
            )
            one["among"].pop(name, None)
            if isinstance(known, list):
                one["among"][name] = known

    def loosened(self, one: dict[str, Any], arrived: list[State]) -> None:
        """Let registers that are secret in one of the ways to an assertion hold anything."""
        for place, said in list(one["places"].items()):
            if said == "!" and "+" not in place and any(secret(_held(s, place)) for s in arrived):
                del one["places"][place]

    def arrived(self, state: State, address: int, to: int) -> list[State]:
        """Return the states in which a run comes to an address, in all its cases."""
        elsewhere = frozenset(self.after) - leading(self.after, to)
        stops = self.stops() | elsewhere | {to}
        found = cases(self.checker, state, address, stops, self.heads)
        return [s for at, s in found if at == to]

    def joint(self, meetings: Iterable[int], of: int, passed: bool = True) -> str | None:
        """Add an assertion at the first place where it says what comes next of all cases.

        `passed`: every way to one of the meetings passes those before.
        """
        name = f"joint{len(self.data['assertions'])}"
        states, found, before = list[State](), dict[str, Any](), -1
        first: list[Start] = []
        if self.together and not passed:
            meetings = [*meetings]
            first, found = self.coming(meetings, self.onward_from(), {})
        for at in meetings:
            moved = [one for one in first if one[1] == at]
            if states and (passed or first) and at in reached(self.after, before):
                more, found = self.coming([at], partial(_copied, states, before), found)
                moved += more
            elif not first:
                moved, found = self.coming([at], self.onward_from(at), {})
            states, before = [state for state, _ in moved], at
            if states and not found:
                self.last_tried = [*self.sources], states, at
            few = states[:: -(-len(states) // FEW) or 1]
            if few and self.guessed(at, few, of) and (one := self.guessed(at, states, of)):
                self.data["assertions"] |= found | {name: _read_later(one, states)}
                return name
        return None

    def onward_from(self, at: int | None = None) -> Callable[[], Iterable[Start]]:
        """Return from where runs come to a place: from the last one, if all of them pass it."""
        sources, states, before = self.last_tried
        if (
            sources == self.sources
            and at
            and before in dominators(self.after, self.checker.entry, at)
        ):
            return partial(_copied, states, before)
        return partial(map, self.source, self.sources)

    def guessed(self, at: int, states: list[State], of: int) -> dict[str, Any] | None:
        """Return an assertion of some states, if it says what comes next of them all."""
        live = self.flow.live.get(at, frozenset())
        sources = {state.label: [self.same] for state in states}
        sample = Joint(self.checker, states, live)
        one: dict[str, Any] | None = sample.joined(at - self.checker.entry, 0, sources, of)
        return one if one is not None and sample.canonical(one["places"]) else None

    def coming(
        self, to: list[int], starts: Callable[[], Iterable[Start]], found: dict[str, Any]
    ) -> tuple[list[Start], dict[str, Any]]:
        """Return the states in which runs come to some places, and the assertions between."""
        if not self.together:
            found_ = [(self.arrived(*source, at), at) for source in starts() for at in to]
            return [(state, at) for some, at in found_ for state in some], {}
        merging = Merging(self.checker, self.where, found)
        # None is before a loop, which may have no assertion yet.
        for at in to:
            merging.places -= self.where.leading(self.heads & leading(self.after, at))
        arrived = merging.run(starts, self.stops() | {*to}, to)
        return [(state, at) for at, state in arrived if at in to], merging.found

    def run(self) -> dict[str, Any]:
        """Return the certificate."""
        heads = sorted(self.heads)
        before: int | None = None
        joints = 0
        for _ in range(MOST_LOOPS):
            if before is not None and (name := self.ended(before, joints)) is not None:
                joints += 1
                self.sources, self.latest, before = [name], name, None
            found = self.next(heads)
            if found is None:
                asked = [a["ghosts"].get(ANSWER) for a in self.data["assertions"].values()]
                if self.answers and not any(asked):
                    raise unsupported("search: no loop behind the answer")
                made = self.data["assertions"]
                return {"assertions": levelled(made, made, len(made))}
            head, states = found
            name = None
            behind = before if joints < self.buffers else None
            if behind is not None:
                name = self.joint(self.meetings(behind, head, parting=not joints), joints)
            if name is not None:
                joints += 1
                self.sources, self.latest, before = [name], name, None
                continue
            if behind is not None and self.together:
                raise unsupported("search: no joint behind a loop, with cases brought together")
            self.latest = self.loop(head, states)
            self.sources.append(self.latest)
            before = head
            if 0 < joints == self.buffers - 1:
                self.apart(heads, joints)
        raise unsupported("search: more loops than any kernel has")

    def next(self, heads: list[int]) -> tuple[int, list[State]] | None:
        """Return the next loop, in the way that was followed last or in another from there."""
        others = self.sources if self.answers else []
        for source in (self.latest, *others):
            state, address = self.source(source)
            stops = self.stops()
            on = {at: to for at, to in self.after.items() if at == address or at not in stops}
            if reached(on, address).isdisjoint(set(heads) - stops):
                continue
            found = turns(self.checker, state, address, heads, stops, ENOUGH)
            if found is not None:
                self.latest = source
                return found
        return None

    def apart(self, heads: list[int], joints: int) -> None:
        """Take in another way to the joint before the text, if it has a loop of its own.

        That of an IV of 12 bytes, which is not hashed, may have.
        """
        found = turns(self.checker, *self.source(self.first), heads, self.stops())
        if found is None:
            return
        head, states = found
        known, joint = self.sources, self.data["assertions"][self.sources[0]]
        self.sources, self.latest = [self.first], self.first
        self.sources.append(self.loop(head, states))
        meetings = self.meetings(head, self.checker.entry + joint["at"], head)
        if (name := self.joint(meetings, joints - 1, passed=False)) is not None:
            self.sources = [name]
        joint["from"] |= {source: [self.same] for source in self.sources}
        to, begun = self.checker.entry + joint["at"], map(self.source, self.sources)
        self.loosened(joint, [one for source in begun for one in self.arrived(*source, to)])
        self.sources, self.latest = known + self.sources, known[-1]

    def ended(self, before: int, of: int) -> str | None:
        """Add an assertion where the text has come to its end, if a loop over it follows."""
        if of != self.buffers - 1 or not self.answers:
            return None
        behind, known, tried = reached(self.after, before), self.stops(), set[int]()
        for head in sorted(self.heads - known):
            if head in behind:
                met = list(self.meetings(before, head))
                partings = list(self.meetings(before, head, parting=True))[len(met) :]
                for places in (met, *([at] for at in partings)):
                    places = [at for at in places if at not in tried]
                    tried |= {*places}
                    # Behind one place the ways may be too many, and before another they are not.
                    with suppress(Refutation):
                        if (name := self.joint(places, of)) is not None:
                            return name
        return None

    def meetings(
        self, before: int, head: int, begin: int | None = None, parting: bool = False
    ) -> Iterator[int]:
        """Yield where ways meet behind a loop that every way to the next one passes.

        Every way from the entry, or from `begin`. `parting`: also where they part, an instruction
        before the branch.
        """
        behind = reached(self.after, before)
        ways = Counter(to for after in self.after.values() for to in after)
        passed = [
            at
            for at in dominators(self.after, begin or self.checker.entry, head)
            if at in behind and before not in reached(self.after, at)
        ]
        yield from (at for at in passed if ways[at] > 1)
        for at in passed if parting else ():
            following = self.after[at]
            if len(following) == 1 and len(self.after[following[0]]) > 1:
                yield at


def _read_later(one: dict[str, Any], states: list[State]) -> dict[str, Any]:
    """Leave out the name of the counter where it can be made of the IV: it is, or will be, read."""
    if any(BASE in state.ghosts for state in states):
        return one
    made = one["unknowns"].get("iv_length") == [IV_BYTES, IV_BYTES]
    if made or not any("counter" in str(v) for v in one["places"].values()):
        one["ghosts"][BASE] = None
    return one


def _copied(states: list[State], at: int) -> list[Start]:
    """Return states where they are, to be run on."""
    return [(state.copy(), at) for state in states]


def _held(state: State, place: str) -> Any:
    """Return what a state holds where a certificate says something."""
    if "+" not in place:
        return registers(state.machine.target)[place].of(state.machine)
    region, _, rest = place.partition("+")
    offset, _, size = rest.rpartition(":")
    return state.memory._read(region, state.memory.key(parse(offset)), int(size))


def certificate(checker: Checker, abi: str, together: bool = False) -> dict[str, Any]:
    """Return a certificate of a message's function, which may or may not be right.

    With all cases that are alike brought `together` it is found and checked in less time.

    Raises:
        Refutation: none was found.
    """
    return Search(checker, abi, together).run()

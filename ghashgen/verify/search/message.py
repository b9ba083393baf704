"""Finds certificates of messages: an assertion at the head of each loop, and where its ways meet.

From the entry to the first loop; then to the next one, before which all cases of the one behind are
brought together at the first instruction that all of them pass.
"""

from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

from ghashgen.verify.core.numbers import parse, parts
from ghashgen.verify.core.refutation import unsupported
from ghashgen.verify.core.term import secret
from ghashgen.verify.core.values import Linear
from ghashgen.verify.meaning.answer import Answer
from ghashgen.verify.meaning.function import Function
from ghashgen.verify.meaning.hashing import Hashing
from ghashgen.verify.meaning.text import ANSWER
from ghashgen.verify.rules.assertion import REGISTERS, read_certificate
from ghashgen.verify.rules.check import Checker
from ghashgen.verify.rules.state import State
from ghashgen.verify.search.generalise import Sample
from ghashgen.verify.search.graph import dominators, leading, reached, successors
from ghashgen.verify.search.joint import Joint
from ghashgen.verify.search.loops import TURNS, cases, turns
from ghashgen.verify.search.merge import Merging
from ghashgen.verify.search.places import Places
from ghashgen.verify.search.residues import divided, plain
from ghashgen.verify.search.values import TURN
from ghashgen.verify.x86_64.abi import ABIS
from ghashgen.verify.x86_64.flow import Flow, flow_of

MOST_LOOPS = 12


class Search:
    """A certificate as far as it is found."""

    def __init__(
        self, checker: Checker, abi: str, together: bool, say: Callable[..., None]
    ) -> None:
        self.checker, self.meaning, self.say = checker, checker.meaning, say
        self.together = together
        """Whether cases that are alike are brought together on the way to a joint."""
        image, meaning = checker.image, checker.meaning
        self.data: dict[str, Any] = {"assertions": {}}
        self.flow: Flow = flow_of(image, self.checker.entry, ABIS[abi].saved_numbers)
        self.after = successors(self.flow)
        self.heads = frozenset(at for at in self.flow.cuts if at in reached(self.after, at))
        self.where = Places(self.flow, self.checker.entry)
        self.same = {n: n for n in meaning.numbers}
        self.begin = self.checker.begin()
        assert isinstance(meaning, Function)
        self.buffers = sum(len(p.order) for p in meaning.parts if isinstance(p, Hashing))
        self.answers = any(isinstance(p, Answer) and p.text for p in meaning.parts)
        self.latest = "entry"
        self.sources: list[str] = ["entry"]
        """From where runs come to the next joint."""

    def source(self, name: str) -> tuple[State, int]:
        """Return the state of an assertion, or at the entry, and where it is."""
        if name == "entry":
            return self.checker.begin(), self.checker.entry
        one = read_certificate({"assertions": {name: self.data["assertions"][name]}})[name]
        return self.checker.state(one), self.checker.entry + one.at

    def stops(self) -> frozenset[int]:
        """Return where there are assertions."""
        entry = self.checker.entry
        return frozenset(entry + a["at"] for a in self.data["assertions"].values())

    def levels(self) -> dict[str, int]:
        """Return the levels of the assertions."""
        return {name: one["level"] for name, one in self.data["assertions"].items()}

    def level(self) -> int:
        """Return the level of the next assertion: each is below those before."""
        return 100 - len(self.data["assertions"])

    def loop(self, head: int, states: list[State]) -> str:
        """Add the assertion of a loop."""
        name = f"loop{len(self.data['assertions'])}"
        sample = Sample(self.checker, states[-TURNS:], self.flow.live.get(head, frozenset()))
        sources = {self.latest: [self.same | {TURN: "0"}], name: [self.same | {TURN: f"{TURN}+1"}]}
        one = sample.assertion(head - self.checker.entry, self.level(), sources)
        for number in self.meaning.numbers:
            ghost = states[-TURNS].ghosts[number]
            if one is not None and isinstance(ghost, Linear) and number not in one["unknowns"]:
                # The run that was followed is of one remainder of this number.
                one = plain(one, number, ghost) or self.divided(one, head, number, ghost)
        if one is None:
            raise unsupported(f"search: no invariant of the loop at {head:#x}")
        self.widen(one, head, sample)
        self.data["assertions"][name] = one
        self.say("loop", hex(head), sample.blocks.buffer)
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
        for place, said in list(one["places"].items()):
            held = [_held(s, place) for s in arrived]
            if said == "!" and place in REGISTERS and any(map(secret, held)):
                del one["places"][place]
            elif said[0] == "n" and isinstance(parse(said[1]), int):
                number = (
                    joint.number(held) if all(isinstance(n, int | Linear) for n in held) else None
                )
                one["places"][place] = "!" if number is None else ["n", str(number)]
        size = self.begin.memory.regions[sample.blocks.buffer].size
        about = {u for u, _ in parts(size)[1]}  # type: ignore[arg-type]
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

    def arrived(self, state: State, address: int, to: int) -> list[State]:
        """Return the states in which a run comes to an address, in all its cases."""
        elsewhere = frozenset(self.after) - leading(self.after, to)
        stops = self.stops() | elsewhere | {to}
        found = cases(self.checker, state, address, stops, self.heads)
        return [s for at, s in found if at == to]

    def joint(self, at: int, of: int) -> str | None:
        """Add an assertion where all cases meet, if it says what comes next."""
        name = f"joint{len(self.data['assertions'])}"
        merging = Merging(self.checker, self.where, self.levels())
        if not self.together:
            merging.places.clear()
        stops = self.stops() | {at}
        arrived = merging.run(lambda: list(map(self.source, self.sources)), stops, to=[at])
        states = [state for to, state in arrived if to == at]
        if not states:
            return None
        live = self.flow.live.get(at, frozenset())
        sources = {state.label: [self.same] for state in states}
        sample = Joint(self.checker, states, live)
        level = self.level() - len(merging.found)
        one = sample.joined(at - self.checker.entry, level, sources, of)
        if one is None or not sample.canonical(one["places"]):
            self.say("no joint", hex(at), len(states))
            return None
        self.data["assertions"] |= merging.found | {name: one}
        self.say("joint", hex(at), len(states))
        return name

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
                return self.data
            head, states = found
            name = None
            behind = before if joints < self.buffers else None
            for at in () if behind is None else self.meetings(behind, head):
                if (name := self.joint(at, joints)) is not None:
                    break
            if name is not None:
                joints += 1
                self.sources, self.latest, before = [name], name, None
                continue
            self.latest = self.loop(head, states)
            self.sources.append(self.latest)
            before = head
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
            found = turns(self.checker, state, address, heads, stops)
            if found is not None:
                self.latest = source
                return found
        return None

    def ended(self, before: int, of: int) -> str | None:
        """Add an assertion where the text has come to its end, if a loop over it follows."""
        if of != self.buffers - 1 or not self.answers:
            return None
        behind, known = reached(self.after, before), self.stops()
        for head in sorted(self.heads - known):
            if head in behind:
                for at in self.meetings(before, head):
                    if (name := self.joint(at, of)) is not None:
                        return name
        return None

    def meetings(self, before: int, head: int) -> Iterator[int]:
        """Yield where ways meet behind a loop that every way to the next one passes."""
        behind = reached(self.after, before)
        ways = Counter(to for after in self.after.values() for to in after)
        for at in dominators(self.after, self.checker.entry, head):
            if at in behind and ways[at] > 1 and before not in reached(self.after, at):
                yield at


def _held(state: State, place: str) -> Any:
    """Return what a state holds where a certificate says something."""
    if place in REGISTERS:
        return REGISTERS[place].of(state.machine)
    region, _, rest = place.partition("+")
    offset, _, size = rest.rpartition(":")
    return state.memory._read(region, state.memory.key(parse(offset)), int(size))


def certificate(
    checker: Checker,
    abi: str,
    say: Callable[..., None] = lambda *words: None,
    together: bool = False,
) -> dict[str, Any]:
    """Return a certificate of a message's function, which may or may not be right.

    With all cases that are alike brought `together` it is found and checked in less time.

    Raises:
        Refutation: none was found.
    """
    return Search(checker, abi, together, say).run()

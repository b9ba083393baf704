"""Brings cases of a run together where they come to one address alike, and goes on with one.

So what is behind an address is run once, and not for every length of a message again. Cases are
alike where every register that will be read holds the same in the same words: the state after so
many bytes, a block at such a place, a counter. Their numbers become sums of unknowns (`basis`).
"""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any

from ghashgen.verify.core.linear import Case, Fork
from ghashgen.verify.core.numbers import Number, combined, linear, parse, parts, times, unknown
from ghashgen.verify.core.refutation import Refutation, unsupported
from ghashgen.verify.core.values import Linear, Pointer, UndecidedError
from ghashgen.verify.meaning.function import Function
from ghashgen.verify.meaning.hashing import Hashing
from ghashgen.verify.meaning.text import ANSWER
from ghashgen.verify.rules.assertion import Assertion, read_certificate
from ghashgen.verify.rules.check import Checker
from ghashgen.verify.rules.state import State
from ghashgen.verify.search.loops import onward
from ghashgen.verify.search.places import Places
from ghashgen.verify.search.seen import Seen, Sight
from ghashgen.verify.search.together import Together, Unlike

MOST_WAYS, MOST_IN_ALL = 3000, 400_000
"""Cases at once, and instructions of all of them, before this gives up."""

LEAST_CASES = 2
"""So many cases for each assertion that stands for some."""

ROUNDS = 4
"""Times that all is run: once more where an assertion turned out to say too little."""

TRIED = 3
"""Cases of which it is tried whether they are instances of what has been guessed of them all."""

APART = 1000
"""Levels between two that there were, for those of the assertions that come between them."""

TOP = 1 << 20


class TooLittle(Exception):  # noqa: N818 - what happens is no error
    """An assertion of which a case is refused, where it is."""

    def __init__(self, at: int) -> None:
        super().__init__()
        self.at = at


class Merging:
    """Runs a function's cases from some states to some addresses."""

    def __init__(
        self, checker: Checker, where: Places, known: Mapping[str, Any] | None = None,
        zeros: bool = False,
    ) -> None:  # fmt: skip
        self.checker, self.where, self.known = checker, where, known or {}
        assert isinstance(checker.meaning, Function)
        hashes = [p for p in checker.meaning.parts if isinstance(p, Hashing)]
        self.hashing = hashes[-1]
        self.sight = Sight(checker.meaning, self.hashing, zeros)
        self.places = set(where.all)
        self.found: dict[str, Any] = {}
        """The assertions that it made, and those that were `known`."""
        self.steps = 0

    def run(
        self,
        starts: Callable[[], Iterable[tuple[State, int]]],
        ends: frozenset[int],
        to: Iterable[int] = (),
    ) -> list[tuple[int, State]]:
        """Return the states in which runs from some states come to some addresses.

        `to` are those addresses from which on they matter, if not all of them do.

        Raises:
            Refutation: of a case, if none comes there; or there are too many.
        """
        # From where a run comes to a place or to an end; behind the last of them nothing is asked.
        to = frozenset(to)
        ahead = self.where.leading(to or {*self.places, *ends})
        if to:
            self.places &= ahead
        for _ in range(ROUNDS):
            self.found, self.refused, self.steps = {**self.known}, list[Refutation](), 0
            try:
                return self._run(starts(), ends, ahead)
            except TooLittle as error:
                if error.at not in self.places:
                    raise unsupported("search: too little is known", error.at) from None
                self.places.discard(error.at)
        self.places, self.found, self.steps = set(), {**self.known}, 0
        # Without an end that matters it is the assertions that do, and there are none.
        return self._run(starts(), ends, ahead) if to else []

    def _run(
        self, starts: Iterable[tuple[State, int]], ends: frozenset[int], ahead: set[int]
    ) -> list[tuple[int, State]]:
        waiting: dict[int, list[State]] = {}
        out: list[tuple[int, State]] = []
        for state, at in starts:
            self._on(state, at, ends, ahead, waiting)
        while waiting:
            at = min(waiting, key=lambda place: self.where.order.get(place, -1))
            states = waiting.pop(at)
            if at in ends:
                out += [(at, state) for state in states]
                continue
            for state in self._together(at, states):
                self._on(state, at, ends, ahead, waiting)
        if not out and self.refused:
            raise self.refused[0]
        return out

    def _on(
        self, state: State, address: int, ends: frozenset[int], ahead: set[int],
        waiting: dict[int, list[State]],
    ) -> None:  # fmt: skip
        """Run one state to the next places, in all its cases."""
        checker, stops = self.checker, ends | self.places
        work = [(state, address, True, Counter[int]())]
        while work:
            ways = len(work) + sum(map(len, waiting.values()))
            if ways > MOST_WAYS or self.steps > MOST_IN_ALL:
                raise unsupported("search: too many ways", address)
            now, at, begun, met = work.pop()
            met = met.copy()
            before = checker.steps
            try:
                at, begun, more = onward(
                    *(checker, now, at, begun, self.where.heads, met),
                    lambda at, begun: at in ahead and (begun or at not in stops),
                )
            except (Refutation, UndecidedError) as error:
                self._refuse(now, error)
                continue
            finally:
                self.steps += checker.steps - before
            if more is not None:
                work += [(case, at, True, met) for case in more]
            elif not begun and at in stops:
                waiting.setdefault(at, []).append(now)

    def _refuse(self, state: State, error: Exception) -> None:
        """Leave out a case that the rules refuse, if it is none of a state that stands for some."""
        if state.label in self.found:
            raise TooLittle(self.checker.entry + self.found[state.label]["at"])
        if isinstance(error, Refutation):
            self.refused.append(error.with_traceback(None))  # It would keep all states.

    def _together(self, at: int, states: list[State]) -> list[State]:
        """Return states that stand for some: those that are alike are one, as an assertion.

        All that come to an address with assertions have to be instances of one. So it is all or
        none.
        """
        if len(states) < LEAST_CASES:
            return states
        live, alike = self.where.flow.live[at], dict[Any, list[Seen]]()
        for state in states:
            known = ANSWER not in state.ghosts and self.hashing.keys[0] in state.ghosts
            seen = self.sight.seen(state, live) if known else None
            if seen is None:
                return states
            alike.setdefault(tuple(seen.kinds), []).append(seen)
        if LEAST_CASES * len(alike) > len(states):
            return states
        made = []
        for number, group in enumerate(alike.values()):
            name = f"at_{at - self.checker.entry:x}_{number}"
            one = self._joined(name, at, group, live)
            if one is None:
                return states
            made.append(one)
        self.found |= {name: data for name, data, _ in made}
        return [stand for _, _, stand in made]

    def _joined(
        self, name: str, at: int, group: list[Seen], live: frozenset[int]
    ) -> tuple[str, Any, State] | None:
        """Return the assertion of states that are alike, and the state that it is."""
        states = [one.state for one in group]
        try:
            data = Together(self.checker, self.hashing, group, live).data(at)
            assertion = read_certificate({"assertions": {name: data}})[name]
            stand = begun(self.checker, assertion)
        except (Unlike, Refutation):
            return None
        tried = states[:: -(-len(states) // TRIED)]
        if not all(self._is_instance(state, at, assertion) for state in tried):
            return None
        return name, data, stand

    def _is_instance(self, state: State, at: int, assertion: Any) -> bool:
        checker = self.checker
        before, checker.at = checker.at, {at: [assertion]}
        checker.meaning.entering(state)
        try:
            checker.arrive(state, at, None)
        except Fork:
            return True
        except (Refutation, UndecidedError):
            return False
        finally:
            checker.at = before
        return True


def finer(
    checker: Checker, where: Places, data: dict[str, Any], but: Collection[str] = (),
    zeros: bool = False,
) -> dict[str, Any] | None:  # fmt: skip
    """Return a certificate with more assertions between those that there are; None: there are none.

    `but`: the names of those behind which, and before which, there are to be no more. `zeros`:
    cases in which a number is 0 are apart, as where nothing is left of a text.

    Raises:
        Refutation: there are too many cases.
    """
    meaning = checker.meaning
    assert isinstance(meaning, Function)
    hashes = [p for p in meaning.parts if isinstance(p, Hashing)]
    if not data["assertions"] or not hashes:
        return None
    spread = {
        name: one | {"level": one["level"] * APART} for name, one in data["assertions"].items()
    }
    assertions = read_certificate({"assertions": spread})
    ends: dict[int, list[str]] = {}
    for name, a in assertions.items():
        ends.setdefault(checker.entry + a.at, []).append(name)
    merging = Merging(checker, where, zeros=zeros)

    def starts() -> list[tuple[State, int]]:
        begins = [(state, checker.entry) for state in checker.entries()]
        own = [a for name, a in assertions.items() if name not in but]
        return begins + [(begun(checker, a), checker.entry + a.at) for a in own]

    arrived = merging.run(starts, frozenset(ends))
    for at, state in arrived:
        for name in ends[at] if state.label in merging.found else ():
            if name not in but:
                lead(checker, state, spread[name])
    if not merging.found:
        return None
    return {"assertions": levelled(spread | merging.found, merging.found, TOP)}


def begun(checker: Checker, assertion: Assertion) -> State:
    """Return the state that an assertion is; as the rules do, with unknowns of one value known.

    Raises:
        Refutation: there is none.
    """
    for state in checker.state(assertion).each((Case(),)):
        return state
    raise unsupported(f"search: no state is as {assertion.name} says", checker.entry + assertion.at)


def lead(checker: Checker, state: State, to: dict[str, Any]) -> None:
    """Let a run that begins at an assertion, and is in a state, come to another assertion."""
    ways = [way for some in to["from"].values() for way in some if _of(checker, way)]
    if (told := _told(checker, state, to)) is not None:
        ways = [told]
    ways = to["from"].get(state.label, []) + ways
    to["from"] = to["from"] | {state.label: [w for k, w in enumerate(ways) if w not in ways[:k]]}


def _told(checker: Checker, state: State, to: dict[str, Any]) -> dict[str, str] | None:
    """Return what the unknowns of an assertion are in a state, as its places tell; None: they do
    not."""
    assert isinstance(checker.meaning, Function)
    of = {u: unknown(u) for u in to["unknowns"] if u in checker.meaning.numbers}
    known: dict[str, Number] = {**of}
    said = [(checker.registers[name].of(state.machine), one) for name, one in to["places"].items()
            if name in checker.registers and one[0] in ("n", "p")]  # fmt: skip
    for value, one in 2 * said:
        number = value.offset if isinstance(value, Pointer) else value
        c, k = parts(parse(one[-1]))
        left = [u for u, _ in k if u not in known]
        if isinstance(number, int | Linear) and len(left) == 1:
            rest = combined(number, c, -1)
            for u, n in k:
                rest = rest if u in left else combined(rest, times(known[u], n), -1)
            unit, (c, own) = dict(k)[left[0]], parts(rest)
            if all(n % unit == 0 for n in (c, *(n for _, n in own))):
                known[left[0]] = linear(c // unit, {u: n // unit for u, n in own})
    return {u: str(known[u]) for u in to["unknowns"]} if known.keys() >= {*to["unknowns"]} else None


def levelled(assertions: dict[str, Any], names: Iterable[str], top: int) -> dict[str, Any]:
    """Give some assertions levels below those from which runs come to them; return them all."""
    for name in [name for _ in assertions for name in names]:
        sources = [s for s in assertions[name]["from"] if s not in ("entry", name)]
        above = min((assertions[s]["level"] for s in sources), default=top)
        assertions[name]["level"] = above - 1
    return assertions


def _of(checker: Checker, way: Mapping[str, str]) -> bool:
    """Return whether numbers are told in those of the function alone."""
    return all(u in checker.meaning.numbers for n in way.values() for u, _ in parts(parse(n))[1])

"""Brings cases of a run together where they come to one address alike, and goes on with one.

So what is behind an address is run once, and not for every length of a message again. Cases are
alike where every register that will be read holds the same in the same words: the state after so
many bytes, a block at such a place, a counter. Their numbers become sums of unknowns (`basis`).
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from iced_x86 import FlowControl, Instruction, Mnemonic, Register

from ghashgen.algebra.field.bitorder import BLOCK_BYTES
from ghashgen.verify.core.linear import Fork
from ghashgen.verify.core.numbers import Number, combined, parse, parts, within
from ghashgen.verify.core.refutation import Refutation, unsupported
from ghashgen.verify.core.term import CALLER, OPAQUE, RAW, Term
from ghashgen.verify.core.values import Linear, Pointer, UndecidedError
from ghashgen.verify.core.variables import Variables
from ghashgen.verify.gcm.table import COUNTER, IV
from ghashgen.verify.meaning.counters import BASE
from ghashgen.verify.meaning.function import Function
from ghashgen.verify.meaning.hashing import Hashing, size_of
from ghashgen.verify.meaning.text import ANSWER
from ghashgen.verify.rules.assertion import REGISTERS, read_certificate
from ghashgen.verify.rules.check import Checker
from ghashgen.verify.rules.state import State
from ghashgen.verify.search.graph import successors, turned
from ghashgen.verify.search.together import Seen, Together, Unlike
from ghashgen.verify.search.values import FILES
from ghashgen.verify.x86_64.flags import SecretCondition
from ghashgen.verify.x86_64.flow import FLAGS, Flow
from ghashgen.verify.x86_64.machine import END, RSP

MOST_WAYS, MOST_STEPS = 4000, 50_000
"""Cases at once, and instructions of one of them, before this gives up."""

LEAST_CASES, LEAST_LEFT = 2, 30
"""So many cases are brought together, where so many instructions are left to run."""

ROUNDS = 4
"""Times that all is run: once more where an assertion turned out to say too little."""

SOON = 40
"""Instructions to the next place for which cases go on apart."""

TRIED = 3
"""Cases of which it is tried whether they are instances of what has been guessed of them all."""

APART = 1000
"""Levels between two that there were, for those of the assertions that come between them."""

TOP = 1 << 20

GHOSTS = (BASE, "mask")
"""Ghosts that are there in all states that are alike, or in none."""


class TooLittle(Exception):  # noqa: N818 - what happens is no error
    """An assertion of which a case is refused, where it is."""

    def __init__(self, at: int) -> None:
        super().__init__()
        self.at = at


class Merging:
    """Runs a function's cases from some states to some addresses."""

    def __init__(self, checker: Checker, flow: Flow, levels: Mapping[str, int]) -> None:
        self.checker, self.flow, self.levels = checker, flow, dict(levels)
        assert isinstance(checker.meaning, Function)
        self.meaning = checker.meaning
        self.after = successors(flow)
        self.found: dict[str, Any] = {}
        """The assertions that it made."""
        self.before = turned(self.after)
        loops = [(to, at) for at, some in self.after.items() for to in some if to <= at]
        self.inside = {at for at in self.after for head, last in loops if head <= at <= last}
        self.order = {at: k for k, at in enumerate(_order(self.after, checker.entry))}
        self.left = _distances(self.after, self.order)
        ways: dict[int, int] = {}
        for following in self.after.values():
            for to in following:
                ways[to] = ways.get(to, 0) + 1
        self.places = {at for at, n in ways.items() if n > 1 and self._may_be_cut(at)}
        self.places |= {at for i in flow.instructions.values() if (at := self._behind(i))}
        self.places = {at for at in self.places if self.left.get(at, 0) >= LEAST_LEFT}
        self.places -= {at for at in self.places if self._is_soon_followed(at)}
        hashes = [p for p in self.meaning.parts if isinstance(p, Hashing)]
        self.hashing = hashes[-1]
        self.variables = Variables(checker.terms)
        self.letters = frozenset(b.letter for b in self.meaning.blocks)

    def leading(self, to: Iterable[int]) -> set[int]:
        """Return the instructions from which control may come to some."""
        found: set[int] = set()
        work = [one for at in to for one in self.before.get(at, ())]
        while work:
            at = work.pop()
            if at not in found:
                found.add(at)
                work += self.before.get(at, ())
        return found

    def _may_be_cut(self, at: int) -> bool:
        live = self.flow.live.get(at)
        return live is not None and FLAGS not in live and at not in self.inside

    def run(
        self, starts: Iterable[tuple[State, int]], ends: frozenset[int]
    ) -> list[tuple[int, State]]:
        """Return the states in which runs from some states come to some addresses."""
        waiting: dict[int, list[State]] = {}
        out: list[tuple[int, State]] = []
        # From where a run comes to a place or to an end; behind the last of them nothing is asked.
        self.ahead = set(self.after) if END in ends else self.leading({*self.places, *ends})
        self.refused: Refutation | None = None
        for state, at in starts:
            self._on(state, at, ends, waiting)
        while waiting:
            at = min(waiting, key=lambda place: self.order.get(place, -1))
            states = waiting.pop(at)
            if at in ends:
                out += [(at, state) for state in states]
                continue
            for state in self._together(at, states):
                self._on(state, at, ends, waiting)
        if not out and self.refused is not None and END not in ends:
            raise self.refused
        return out

    def _on(
        self, state: State, address: int, ends: frozenset[int], waiting: dict[int, list[State]]
    ) -> None:
        """Run one state to the next places, in all its cases."""
        checker, work = self.checker, [(state, address, True)]
        while work:
            if len(work) + sum(map(len, waiting.values())) > MOST_WAYS:
                raise unsupported("search: too many ways", address)
            now, at, begun = work.pop()
            checker.meaning.entering(now)
            steps = 0
            try:
                while at in self.ahead and (begun or (at not in ends and at not in self.places)):
                    steps += 1
                    if steps > MOST_STEPS:
                        raise unsupported(f"search: no end within {MOST_STEPS} instructions", at)
                    at = checker.step(now, at)
                    begun = False
            except Fork as question:
                work += [(case, at, True) for case in now.each(question.cases)]
            except SecretCondition as asked:
                try:
                    work += [(s, at, True) for s in checker.answers(now, asked)]
                except (Refutation, UndecidedError) as error:
                    self._refuse(now, error)
            except (Refutation, UndecidedError) as error:
                self._refuse(now, error)
            else:
                if not begun and (at in ends or at in self.places):
                    waiting.setdefault(at, []).append(now)

    def _refuse(self, state: State, error: Exception) -> None:
        """Take note of a case that the rules refuse: what stands for some says too little."""
        if state.label in self.found:
            raise TooLittle(self.checker.entry + self.found[state.label]["at"])
        if isinstance(error, Refutation):
            self.refused = self.refused or error

    def _behind(self, i: Instruction) -> int | None:
        """Return a place behind an instruction that may take a number's low bits.

        It is the last one before memory is used or ways part: what is made of them is there by
        then.
        """
        if i.mnemonic not in (Mnemonic.AND, Mnemonic.SHR):
            return None
        found = None
        while i.flow_control == FlowControl.NEXT and i.next_ip in self.flow.instructions:
            i = self.flow.instructions[int(i.next_ip)]
            if self._may_be_cut(int(i.ip)):
                found = int(i.ip)
            if i.mnemonic != Mnemonic.LEA and i.memory_base not in (Register.NONE, Register.RIP):
                break
        return found

    def _is_soon_followed(self, at: int) -> bool:
        """Return whether a run comes from a place to another one soon, without a choice."""
        for _ in range(SOON):
            following = self.after.get(at, ())
            if len(following) != 1:
                return False
            (at,) = following
            if at in self.places:
                return True
        return False

    def _together(self, at: int, states: list[State]) -> list[State]:
        """Return states that stand for some: those that are alike are one, as an assertion.

        All that come to an address with assertions have to be instances of one. So it is all or
        none.
        """
        if len(states) < LEAST_CASES:
            return states
        live, alike = self.flow.live[at], dict[Any, list[Seen]]()
        for state in states:
            known = ANSWER not in state.ghosts and self.hashing.keys[0] in state.ghosts
            seen = self._look(state, live) if known else None
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
        for name, data, _ in made:
            self.found[name], self.levels[name] = data, data["level"]
        return [stand for _, _, stand in made]

    def _joined(
        self, name: str, at: int, group: list[Seen], live: frozenset[int]
    ) -> tuple[str, Any, State] | None:
        """Return the assertion of states that are alike, and the state that it is."""
        states = [one.state for one in group]
        level = min(self.levels.get(state.label, TOP) for state in states) - 1
        try:
            data = Together(self.checker, self.hashing, group, live).data(at, level)
            assertion = read_certificate({"assertions": {name: data}})[name]
            stand = self.checker.state(assertion)
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

    # What a state holds.

    def _look(self, state: State, live: frozenset[int]) -> Seen | None:
        """Return what a state holds; None: it cannot be said."""
        meaning, seen = self.meaning, Seen(state)
        meaning.entering(state)
        begun: list[str] = []
        blocks: list[tuple[str, Number]] = []
        for name, place in REGISTERS.items():
            number = FILES[place.file] + place.index
            if number not in live and number != RSP:
                continue
            v = place.of(state.machine)
            if isinstance(v, Term) and not v.deps & (OPAQUE | CALLER):
                v = meaning.canonical(v)
            seen.values[name] = v
            if isinstance(v, Term) and not v.deps & (OPAQUE | CALLER | RAW):
                found = self._leaves(v)
                if any(n[0] in "XuZ" for n in found):
                    begun.append(name)
                else:
                    blocks += [(name, parse(n[1:])) for n in found if n[0] in self.letters]
        places = [at for _, at in blocks]
        if any(u not in state.facts.ranges for at in places for u, _ in parts(at)[1]):
            return None
        seen.base = _first(places)
        seen.written = self._written(state)
        if begun and not self._find_hashed(seen, begun):
            return None
        for name, v in seen.values.items():
            seen.kinds.append(self._kind(seen, name, v))
        of = seen.hashed[0] if seen.hashed else None
        # A block at a place that is one of a few would keep its name where the place becomes known.
        seen.kinds.append(seen.base if isinstance(seen.base, int) else None)
        seen.kinds += [of, within(seen.written, BLOCK_BYTES) == 0]
        seen.kinds += [g for name in GHOSTS for g in [state.ghosts.get(name) is None]]
        return seen

    def _leaves(self, term: Term) -> set[str]:
        """Return the names of the variables that a term is made of, in the end."""
        out: set[str] = set()
        work = list(self.variables.of(term))
        while work:
            name = work.pop()
            if name in self.meaning.names.defined:
                work += self.meaning.names.defined[name]
            else:
                out.add(name)
        return out

    def _written(self, state: State) -> Number:
        """Return up to where the output is written."""
        for name, output in self.meaning.outputs.items():
            written = state.memory.written[name]
            if written:
                return combined(state.memory.place(max(written)), 1)
            return output.done(state.ghosts)
        return 0

    def _find_hashed(self, seen: Seen, begun: list[str]) -> bool:
        """Find up to where the registers that hold a state have hashed."""
        state, hashing, names = seen.state, self.hashing, self.meaning.names
        sums = {}
        for name in begun:
            found = names.recognised(names.named(seen.values[name]))
            if found is None:
                return False
            sums[name] = dict(found)
        last = len(hashing.order) - 1
        end = last, size_of(state.memory, hashing.order[last].buffer)
        for of, at in (end, *self._candidates(seen)):
            try:
                wanted = hashing.unfolded(state, of, at, 0)
            except (Refutation, UndecidedError):
                continue
            behind = {
                name: power
                for name, found in sums.items()
                for power in (0, 1)
                if {(n, m + power): 1 for n, m in found} == wanted
            }
            if len(behind) == len(sums):
                seen.hashed, seen.sums = (of, at), behind
                seen.ended = seen.ended or (of, at) == end
                if (of, at) != end:
                    break
        return seen.hashed is not None

    def _candidates(self, seen: Seen) -> list[tuple[int, Number]]:
        state, order = seen.state, self.hashing.order
        now = self.hashing.position(state.ghosts)
        out: list[tuple[int, Number]] = [(now[0], now[1])]
        for of in range(now[0], len(order)):
            if of > now[0]:
                out.append((of, 0))
            regions = {order[of].buffer, *(self.meaning.outputs if of == len(order) - 1 else ())}
            for v in seen.values.values():
                if isinstance(v, Pointer) and v.region in regions:
                    at: Any = v.offset
                    if within(at, order[of].apart) == 0:
                        out.append((of, at))
        last = len(order) - 1
        if within(seen.written, order[last].apart) == 0:
            out.append((last, seen.written))
        return list(dict.fromkeys(out))

    def _kind(self, seen: Seen, name: str, v: Any) -> Any:
        """Return what values have to have in common to be said in the same words."""
        if name in seen.sums:
            return "state", seen.sums[name]
        match v:
            case Pointer():
                return v.region
            case Linear():
                return "number"
            case int():
                return v if REGISTERS[name].bits == 128 else "number"
            case Term() if v.deps & (OPAQUE | CALLER | RAW):
                return "?" if v.op == "opaque" else v
        return self._shape(seen, v)

    def _shape(self, seen: Seen, v: Any) -> Any:
        """Return how a term is made, its blocks relative to the first one."""
        if not isinstance(v, Term):
            return v
        names = self.variables.of(v)
        if not any(n[0] in self.letters for n in names):
            return "counter" if not names.isdisjoint((IV, COUNTER)) else v
        if v.op == "var":
            at = parse(v.args[0][1:])  # type: ignore[index]
            return v.args[0][0], str(combined(at, seen.base or 0, -1))  # type: ignore[index]
        if v.op == "xor":
            return frozenset(self._shape(seen, a) for a in v.args)
        return (v.op, *(self._shape(seen, a) if isinstance(a, Term) else a for a in v.args))


def _first(places: Sequence[Number]) -> Number | None:
    out: Number | None = None
    for at in places:
        distance = 1 if out is None else combined(out, at, -1)
        if not isinstance(distance, int):
            return out
        if distance > 0:
            out = at
    return out


def _order(after: Any, entry: int) -> list[int]:
    """Return the instructions so that each stands behind those that lead to it, but for loops."""
    done, out, stack = {entry}, [], [(entry, iter(after.get(entry, ())))]
    while stack:
        at, following = stack[-1]
        for to in following:
            if to in after and to not in done:
                done.add(to)
                stack.append((to, iter(after[to])))
                break
        else:
            stack.pop()
            out.append(at)
    return out[::-1]


def _distances(after: Any, order: Mapping[int, int]) -> dict[int, int]:
    """Return how many instructions are left on the longest way from each on, turns aside."""
    out: dict[int, int] = {}
    for at in sorted(order, key=lambda one: -order[one]):
        ahead = [out[to] for to in after[at] if to in out]
        out[at] = 1 + max(ahead, default=0)
    return out


def finer(checker: Checker, flow: Flow, data: dict[str, Any]) -> dict[str, Any] | None:
    """Return a certificate with more assertions between those that there are; None: there are none.

    Raises:
        Refutation: there are too many cases.
    """
    if not data["assertions"]:
        return None
    spread = {
        name: one | {"level": one["level"] * APART} for name, one in data["assertions"].items()
    }
    assertions = read_certificate({"assertions": spread})
    ends = {checker.entry + a.at: name for name, a in assertions.items()}
    levels = {name: a.level for name, a in assertions.items()}
    merging = Merging(checker, flow, levels)
    for at, name in ends.items():
        ways = [way for some in spread[name]["from"].values() for way in some]
        if not any(_of(checker, way) for way in ways):
            # No other assertion can say what its unknowns are.
            merging.places -= merging.leading([at])
    for _ in range(ROUNDS):
        starts = [(state, checker.entry) for state in checker.entries()]
        starts += [(checker.state(a), checker.entry + a.at) for a in assertions.values()]
        try:
            arrived = merging.run(starts, frozenset(ends))
        except TooLittle as error:
            merging.places.discard(error.at)
            merging.found, merging.levels = {}, dict(levels)
        else:
            break
    else:
        return None
    for at, state in arrived:
        if state.label in merging.found:
            to = spread[ends[at]]
            ways = [way for some in to["from"].values() for way in some if _of(checker, way)]
            to["from"] = to["from"] | {
                state.label: [w for k, w in enumerate(ways) if w not in ways[:k]]
            }
    return {"assertions": spread | merging.found} if merging.found else None


def _of(checker: Checker, way: Mapping[str, str]) -> bool:
    """Return whether numbers are told in those of the function alone."""
    return all(u in checker.meaning.numbers for n in way.values() for u, _ in parts(parse(n))[1])

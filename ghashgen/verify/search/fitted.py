"""Finds in which registers a function holds what the certificate of one like it speaks of.

    fitted(image, spec, function, certificate)

Code for a longer key has fewer registers for all else: the same holds at the same instructions, of
other registers. One way to an address tells which, for all of its assertions. Whatever else is read
there is a constant, a round key, or what the caller left.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from ghashgen.verify.core.linear import Fork
from ghashgen.verify.core.numbers import Number, combined, parts, replaced
from ghashgen.verify.core.refutation import Refutation, unsupported
from ghashgen.verify.core.term import CALLER, OPAQUE, RAW, Term, secret
from ghashgen.verify.core.values import Pointer, UndecidedError
from ghashgen.verify.machine.image import Image
from ghashgen.verify.machine.machine import END
from ghashgen.verify.machine.memory import STACK
from ghashgen.verify.rules.assertion import Assertion, read_certificate
from ghashgen.verify.rules.check import Checker
from ghashgen.verify.rules.state import State, own
from ghashgen.verify.rules.values import value_of
from ghashgen.verify.search.flow import flow_of
from ghashgen.verify.search.held import written_cells
from ghashgen.verify.search.loops import onward
from ghashgen.verify.search.merge import begun
from ghashgen.verify.search.values import FILES
from ghashgen.verify.statements.core import Function, Statement

MOST_STEPS = 40_000
"""Instructions in all, after which nothing more fits."""

MOST_UNFIT = 300
"""States that come to an assertion and fit none, after which no more are tried."""

MOST_SEEN = 16
"""States that come to one address, after which those registers are taken that fit."""

Said = tuple[Any, ...]
"""What an assertion says of a register, lane by lane; None: nothing."""

OWN = "@"
"""What is said of a lane that holds what the caller left in it."""

Found = dict[int, set[int] | Said]
"""Of each register which one it may be in the other function, or what it holds."""


class Fitting:
    """A certificate, in as much as it is known where its values are."""

    def __init__(self, checker: Checker, abi: str, certificate: Any) -> None:
        self.checker, self.live = checker, flow_of(checker, abi).live
        self.left: dict[str, Any] = certificate["assertions"]
        """The assertions as they are of the other function."""
        self.read = read_certificate(certificate)
        self.out: dict[str, Any] = {}
        """Those that are fitted."""
        self.at: dict[int, list[str]] = {}
        for name, one in self.read.items():
            self.at.setdefault(checker.entry + one.at, []).append(name)
        self.lanes: dict[int, list[str]] = {}
        """The names of a register's lanes, by its number."""
        for place in checker.registers.values():
            self.lanes.setdefault(FILES[place.file] + place.index, []).append(place.name)
        self.seen: dict[int, list[tuple[State, Found]]] = {}
        """The states that came to an address, and what they tell."""
        self.unfit = 0

    def run(self) -> Any:
        """Return the certificate; None: it does not fit."""
        work = ["entry"]
        for source in work:
            wanted = self._wanted(source)
            for state, at in self._arrivals(source) if wanted else ():
                if at not in wanted:
                    continue
                if not self._fit(state, at) and self.unfit > MOST_UNFIT:
                    return None
                if self._is_settled(at):
                    work += self._taken(at)
                    if not (wanted := self._wanted(source)):
                        break
            for at in wanted & self.seen.keys():
                work += self._taken(at)
        return {"assertions": self.out} if len(self.out) == len(self.left) else None

    def _is_settled(self, at: int) -> bool:
        """Return whether it is known which registers are which at an address."""
        seen = self.seen.get(at, [])
        return len(seen) == MOST_SEEN or bool(seen and all(
            len({str(self._said(k, name)) for k in which}) == 1
            for name in self.at[at]
            for which in self._which(at).values()
            if isinstance(which, set)
        ))  # fmt: skip

    def _which(self, at: int) -> Found:
        """Return which registers are which, by all states that came to an address."""
        (_, out), *others = self.seen[at]
        for _, one in others:
            for number, which in one.items():
                known = out[number]
                if isinstance(which, set) and (not isinstance(known, set) or known & which):
                    out[number] = known & which if isinstance(known, set) else which
        return out

    def _said(self, number: int, name: str) -> Said:
        """Return what an assertion says of a register."""
        said = [(lane, self.read[name].registers.get(lane)) for lane in self.lanes[number]]
        return tuple(OWN if v == ["@", lane] else v for lane, v in said)

    def _taken(self, at: int) -> list[str]:
        """Fit all assertions of an address, and return their names."""
        which, state = self._which(at), self.seen[at][-1][0]
        for name in self.at[at]:
            self.out[name] = self._with(name, state, which)
        return self.at[at]

    def _wanted(self, source: str) -> set[int]:
        """Return where assertions are that runs from a source come to, and that are not fitted."""
        left = [one for name, one in self.read.items() if name not in self.out]
        return {self.checker.entry + one.at for one in left if source in one.sources}

    def _arrivals(self, source: str) -> Iterator[tuple[State, int]]:
        """Yield states as they come from the entry, or an assertion, to others."""
        checker = self.checker
        if source == "entry":
            work = [(state, checker.entry, True) for state in checker.entries()]
        else:
            one = read_certificate({"assertions": {source: self.out[source]}})[source]
            work = [(begun(checker, one), checker.entry + one.at, True)]
        while work and checker.steps < MOST_STEPS:
            state, at, begins = work.pop()
            try:
                at, begins, more = onward(
                    *(checker, state, at, begins, (), Counter()),
                    lambda at, begins: at != END and (begins or at not in self.at),
                )
                if more is None and at != END:
                    there = [self.read[name].unknowns for name in self.at[at]]
                    for arrived in checker.meaning.arrivals(state, there):
                        yield arrived, at
            except Fork as question:
                more = state.each(question.cases)
            except (Refutation, UndecidedError):
                continue
            work += [(case, at, begins) for case in more or ()]

    def _fit(self, state: State, at: int) -> bool:
        """Find which registers are which by a state that comes to one of the assertions there."""
        self.checker.meaning.entering(state)
        for name in self.at[at]:
            for way in self.read[name].sources.get(state.label, ()):
                found = self._found(state, at, name, way)
                if found is not None:
                    self.seen.setdefault(at, []).append((state, found))
                    return True
        self.unfit += 1
        return False

    def _found(self, state: State, at: int, name: str, way: Mapping[str, Number]) -> Found | None:
        """Return which registers each that will be read may be; None: it is no instance."""
        to = _numbers(state, self.read[name], way)
        if to is None:
            return None
        values = Values(self.checker, to)
        several = {number: self._said(number, name) for number in self.lanes}
        out: Found = {}
        begun: dict[int, tuple[bool, bool, int]] = {}
        for number, held in self._held(state).items():
            if number not in self.live[at]:
                continue
            fits = {
                k: values.fit(held, said) for k, said in several.items() if len(said) == len(held)
            }
            exact = max(fits.values())
            if exact > 0:
                out[number] = {k for k, score in fits.items() if score == exact}
                continue
            out[number] = said = tuple(map(self._literal, held))
            # A state that is none yet is a constant.
            for k, score in fits.items():
                if score < 0:
                    last = begun.get(k, (False, False, number))
                    begun[k] = max(last, (None in said, k == number, number))
        for k, (_, _, number) in begun.items():
            out[number] = {k}
        if any(isinstance(said, tuple) and None in said for said in out.values()):
            return None
        return out

    def _held(self, state: State) -> dict[int, Said]:
        """Return what each register holds, lane by lane."""
        places = self.checker.registers
        return {
            number: tuple(places[lane].of(state.machine) for lane in lanes)
            for number, lanes in self.lanes.items()
        }

    def _literal(self, held: Any) -> Any:
        """Return a lane as data with no unknowns in it; None: it is something else."""
        match held:
            case int():
                return ["n", str(held)] if held >> 64 == 0 else ["c", hex(held)]
            case Pointer(region, int(offset)):
                return ["p", region, str(offset)]
            case Term(op="entry"):
                return ["t", "entry", *held.args]
        for name, one in self.checker.left.items():
            if one is held:
                return ["@", name]
        return None if secret(held) else "!"

    def _unread(self, said: Said, held: Said, still: bool) -> Said:
        """Return what is still so of a register that is not read: that it is public, or left.

        `still`: upper lanes are never written.
        """
        wipe, left = self.checker.meaning.wipe, self.checker.left.values()

        def is_so(k: int, v: Any, x: Any) -> bool:
            if v == OWN:
                return any(x is one for one in left)
            # What the function has put there may be secret in another case.
            return v == "!" and not secret(x) and (wipe or (still and k > 0))

        pairs = enumerate(zip(said, held, strict=True))
        return tuple(v if is_so(k, v, x) else None for k, (v, x) in pairs)

    def _with(self, name: str, state: State, found: Found) -> Any:
        """Return an assertion with its values in other registers."""
        old, checker = self.left[name]["places"], self.checker
        several = {number: self._said(number, name) for number in self.lanes}
        still = all(v in ("!", OWN) for said in several.values() for v in said[1:])
        places: dict[str, Any] = {}
        for number, held in self._held(state).items():
            where = found.get(number)
            if isinstance(where, set):
                where = several[number if number in where else min(where)]
            else:
                where = where or self._unread(several[number], held, still)
            places |= {
                lane: ["@", lane] if v == OWN else v
                for lane, v in zip(self.lanes[number], where, strict=True)
                if v is not None
            }
        top = checker.target.general[checker.top]
        memory = {p: v for p, v in old.items() if "+" in p}
        if places[top] != old[top]:
            memory = _framed(state, memory, int(old[top][2]), int(places[top][2]), self._literal)
        return self.left[name] | {"places": places | memory}


def _framed(
    state: State, memory: Mapping[str, Any], old: int, top: int, saved: Callable[[Any], Any]
) -> dict[str, Any]:
    """Return what an assertion says of memory where the stack pointer is not where it was.

    What the function has for itself lies as far from the stack pointer as it did.
    """
    out: dict[str, Any] = {}
    for place, v in memory.items():
        region, _, rest = place.partition("+")
        at, _, size = rest.rpartition(":")
        if region == STACK and int(at) < 0:
            if v[0] == "@":
                continue
            place = f"{STACK}+{int(at) + top - old}:{size}"
        out[place] = v
    for first, count in written_cells([state], STACK):
        known = saved(state.memory._read(STACK, first, count)) if first < 0 else None
        if known is not None and known[0] == "@":
            out[f"{STACK}+{first}:{count}"] = known
    told = [p.removeprefix(f"{STACK}+").split(":") for p in out if p.startswith(STACK)]
    named = {int(at) + k for at, size in told for k in range(int(size))}
    return out | {f"{STACK}+{k}:1": "?" for k in range(top, 0) if k not in named}


def _numbers(state: State, one: Assertion, way: Mapping[str, Number]) -> dict[str, Number] | None:
    """Return what the unknowns of an assertion are in a state; None: what it knows is not so."""
    facts, named = state.facts, own(state.facts) | state.origin
    if any(u not in named for n in way.values() for u, _ in parts(n)[1]):
        return None
    to = {u: replaced(n, named) for u, n in way.items()}
    known = [replaced(n, to) for n in one.known]
    for u, (low, high) in one.unknowns.items():
        known += [combined(to[u], low, -1), combined(high, to[u], -1)]
    return to if all(map(facts.shows, known)) else None


class Values:
    """The values of assertions where their unknowns are these numbers."""

    def __init__(self, checker: Checker, numbers: Mapping[str, Number]) -> None:
        self.checker, self.numbers = checker, numbers
        self.known: dict[str, Any] = {}

    def fit(self, held: Said, said: Said) -> int:
        """Return of how many lanes it is said what they hold, if that is so.

        Negative: one of them may hold any state; 0: it is not so, or nothing is said.
        """
        told = [one[0] for one in said if isinstance(one, list)]
        if not told or not all(map(self._fits, held, said)):
            return 0
        return -len(told) if "v" in told else len(told)

    def _fits(self, held: Any, said: Any) -> bool:
        if said in (None, "?"):
            return True
        if said == "!":
            return not secret(held)
        if said == OWN:
            return any(held is one for one in self.checker.left.values())
        if said[0] == "v":
            return (isinstance(held, Term) and not held.deps & (OPAQUE | CALLER | RAW)) or held == 0
        key, checker = str(said), self.checker
        named = checker.meaning.canonical(held) if isinstance(held, Term) else held
        if self.known.get(key) is None:
            # What has no name yet, as the first counter block, has one behind the lane that it is.
            self.known[key] = self._value(said)
        wanted = self.known[key]
        return wanted is not None and (
            checker._equal(held, wanted) or checker._equal(named, wanted)
        )

    def _value(self, said: Any) -> Any:
        checker = self.checker
        try:
            return value_of(said, self.numbers, 128, _none, checker.meaning, checker.left)
        except (Refutation, UndecidedError):
            return None


def _none(name: str, bits: int) -> Any:
    raise unsupported(f"search: {name} may be anything")


def fitted(image: Image, spec: Statement, function: Function, certificate: Any) -> Any:
    """Return a certificate of a function by that of one like it; None: it does not fit."""
    if "assertions" not in certificate:
        return None
    meaning = spec.meaning(function)
    try:
        return Fitting(Checker(image, meaning, {}), spec.abi, certificate).run()
    except (Refutation, UndecidedError):
        return None
    finally:
        meaning.terms.clear()

"""Finds in which registers a function holds what the certificate of one like it speaks of.

    fitted(image, spec, function, certificate)

Code for a longer key has fewer registers for all else: the same holds at the same instructions, of
other registers. One way to an address tells which, for all of its assertions. Whatever else is read
there is a constant, a round key, or what the caller left.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from ghashgen.verify.core.linear import Fork
from ghashgen.verify.core.numbers import Number, combined, parts, replaced
from ghashgen.verify.core.refutation import Refutation, unsupported
from ghashgen.verify.core.term import CALLER, OPAQUE, RAW, Term, secret
from ghashgen.verify.core.values import Pointer, UndecidedError
from ghashgen.verify.machine.image import Image
from ghashgen.verify.machine.machine import END
from ghashgen.verify.rules.assertion import Assertion, read_certificate
from ghashgen.verify.rules.check import Checker
from ghashgen.verify.rules.state import State, own
from ghashgen.verify.rules.values import value_of
from ghashgen.verify.search.flow import flow_of
from ghashgen.verify.search.loops import onward
from ghashgen.verify.search.merge import begun
from ghashgen.verify.search.slots import Said as SaidOf
from ghashgen.verify.search.slots import placed, said_of, slots
from ghashgen.verify.search.values import FILES
from ghashgen.verify.statements.core import Function, Statement

MOST_STEPS = 100_000
"""Instructions in all, after which nothing more fits."""

MOST_UNFIT = 1000
"""States that come to an assertion and fit none, after which no more are tried."""

MOST_SEEN, LEAST_SEEN = 16, 1
"""States that come to one address, after which those registers are taken that fit: so many in all,
but so many of each assertion there, from each other one."""

MOST_IDLE = 3000
"""Instructions that tell nothing more of where an assertion leads, after which it is left."""

Said = tuple[Any, ...]
"""What an assertion says of a register, lane by lane; None: nothing."""

OWN = "@"
"""What is said of a lane that holds what the caller left in it."""

Found = dict[int | str, Any]
"""Of each register which ones it may be in the other function, or what it holds, lane by lane; of
each piece of the frame likewise (`slots`)."""


class Fitting:
    """A certificate, in as much as it is known where its values are."""

    def __init__(self, checker: Checker, abi: str, certificate: Any) -> None:
        self.checker, self.live = checker, flow_of(checker, abi).live
        self.left: dict[str, Any] = certificate["assertions"]
        """The assertions as they are of the other function."""
        self.read = read_certificate(certificate)
        self.done: set[str] = set()
        """Those from which runs have been followed."""
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
        self.times = Counter[tuple[str, str]]()
        """How many of them were those of an assertion, from another."""
        self.top = checker.target.general[checker.top]
        """The stack pointer."""
        self.slots: dict[str, SaidOf] = {}
        """What assertions say of registers and of the frame."""
        self.spare: dict[int, tuple[State, Found]] = {}
        """Likewise the first where a register that is read holds what cannot be followed: so it is
        written over, if only in part each time."""
        self.unfit, self.news = 0, MOST_STEPS

    def run(self) -> Any:
        """Return the certificate; None: it does not fit."""
        work = ["entry"]
        for source in work:
            self.done.add(source)
            wanted, self.news = self._wanted(source), MOST_STEPS
            for state, at in self._arrivals(source) if wanted else ():
                if at not in wanted:
                    continue
                if not self._fit(state, at) and self.unfit > MOST_UNFIT:
                    return None
                if self._is_settled(at, source) and not (wanted := wanted - {at}):
                    break
            left = self._left(self.seen)
            ready = [at for at in left if not self._missing(at)]
            if not ready and source == work[-1]:
                # As long as nothing more is fitted, nothing else comes there.
                ready = sorted(left or self._left(self.spare), key=self._missing)[:1]
            for at in ready:
                if at not in self.seen:
                    self.seen[at] = [self.spare[at]]
                work += self._taken(at)
        return {"assertions": self.out} if len(self.out) == len(self.left) else None

    def _is_settled(self, at: int, source: str) -> bool:
        """Return whether enough is known of an address by the states that come from a source."""
        most, which = self._enough(at), self._which(at) if at in self.seen else {}
        several = [one for k, one in which.items() if isinstance(k, int) and isinstance(one, set)]
        names = (name for name in self.at[at] if source in self.read[name].sources)
        enough = all(self.times[name, source] >= most for name in names)
        return enough or bool(which and all(
            len(one) == 1 or len({str(self._said(k, name)) for k in one}) == 1
            for name in self.at[at]
            for one in several
        ))  # fmt: skip

    def _left(self, seen: Iterable[int]) -> list[int]:
        """Return where, of these addresses, assertions are not fitted yet, in their order."""
        return sorted(at for at in seen if not self.out.keys() >= {*self.at[at]})

    def _missing(self, at: int) -> int:
        """Return from how many assertions, other than those there, no runs have come to an
        address."""
        sources = set().union(*(self.read[name].sources for name in self.at[at]))
        return len(sources - self.done - {*self.at[at]})

    def _enough(self, at: int) -> int:
        return max(MOST_SEEN // sum(len(self.read[n].sources) for n in self.at[at]), LEAST_SEEN)

    def _which(self, at: int) -> Found:
        """Return which registers are which, by all states that came to an address."""
        (_, first), *others = self.seen[at]
        out = {**first}
        for _, one in others:
            for number, which in one.items():
                known = out.setdefault(number, which)
                if isinstance(which, set) and (not isinstance(known, set) or known & which):
                    out[number] = known & which if isinstance(known, set) else which
                elif isinstance(number, str) and known != which:
                    # Of a place the first state may tell what is so only by chance.
                    out[number] = which if isinstance(which, set) else None
        return out

    def _said(self, number: int | str, name: str) -> Said:
        """Return what an assertion says of a register, or of a place."""
        if isinstance(number, str):
            return (self.left[name]["places"].get(number),)
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
        while work and checker.steps < min(MOST_STEPS, self.news + MOST_IDLE):
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
                if (to := _numbers(state, self.read[name], way)) is None:
                    continue
                if self.times[name, state.label] >= self._enough(at):
                    return True
                if (found := self._found(state, at, name, to)) is not None:
                    self.seen.setdefault(at, []).append((state, found))
                    self.times[name, state.label] += 1
                    self.news = self.checker.steps
                    return True
        self.unfit += 1
        return False

    def _found(self, state: State, at: int, name: str, to: Mapping[str, Number]) -> Found | None:
        """Return which registers each that will be read may be, where the assertion's unknowns are
        these numbers; None: it is no instance."""
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
        places = self.left[name]["places"]
        if name not in self.slots:
            self.slots[name] = said_of(places)
        old, now = places[self.top], self._literal(state.machine.gpr[self.checker.top])
        moved = int(now[2]) - int(old[2])

        one: Any = slots(
            *(state, places, self.slots[name], moved),
            lambda held, v: values.fit((held,), (v,)) > 0, self._literal,
        )  # fmt: skip
        out |= one
        none = [n for n in self.lanes if isinstance(v := out.get(n), tuple) and None in v]
        pairs = [one for n in none for one in zip(out[n], self._held(state)[n], strict=True)]
        if none and all(v is not None or x.deps & OPAQUE for v, x in pairs):
            self.spare.setdefault(at, (state, out))
        return None if none else out

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
        old = self.left[name]["places"]
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
        memory = placed(old, found, int(places[self.top][2]))
        return self.left[name] | {"places": places | memory}


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
        # A constant is itself, even where it might be taken for any value.
        constant = "t" in told and all(isinstance(x, int) for x in held)
        if not told or constant or not all(map(self._fits, held, said)):
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

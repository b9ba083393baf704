"""The rules: run, divide, cut, descend, end.

1. Step. One decoded instruction on one state, by its row.
2. Divide. What depends on the unknowns is asked again in each of its cases (`Fork`): all that there
   are. A condition on anything else is refused.
3. Cut. At an address with assertions a state must be an instance of one: its numbers and values,
   put in the place of the assertion's unknowns, make every component equal and every fact true.
   Each assertion is run once, with its unknowns as they are, to the next cuts and returns.
4. Descend. From an assertion to one of its own level, a number falls that is never negative.
5. End. At a return, convention, results, memory and wipe are compared with the specification.

Nothing is changed in place at a cut. What no rule covers is refused.
"""

from collections.abc import Mapping
from dataclasses import replace

from ghashgen.verify.core.linear import Case, Facts, Fork
from ghashgen.verify.core.numbers import Number, combined, replaced
from ghashgen.verify.core.refutation import Refutation, unsupported
from ghashgen.verify.core.term import Lane, Term, same_value, secret
from ghashgen.verify.core.values import Linear, Pointer, UndecidedError, Value
from ghashgen.verify.machine.convention import check_frame, check_return
from ghashgen.verify.machine.flags import Open, SecretCondition, Why, alike
from ghashgen.verify.machine.image import Image
from ghashgen.verify.machine.machine import END, Machine
from ghashgen.verify.machine.memory import STACK
from ghashgen.verify.machine.regions import Access
from ghashgen.verify.machine.target import Decoded
from ghashgen.verify.machine.wipe import check_wiped
from ghashgen.verify.rules.assertion import Assertion, Place, registers, require_known
from ghashgen.verify.rules.entry import blank, entered
from ghashgen.verify.rules.meaning import Meaning
from ghashgen.verify.rules.state import Arrival, State, own
from ghashgen.verify.rules.values import value_of

MOST_STEPS, MOST_RUNS = 50_000, 50_000
"""Instructions between two cuts, and cases: more than any kernel needs."""


class Checker:
    """Checks one function's certificate against its specification."""

    most = MOST_STEPS
    """Instructions between two cuts."""

    def __init__(
        self, image: Image, meaning: Meaning, assertions: Mapping[str, Assertion],
        align: tuple[int, int] | None = None,
    ) -> None:  # fmt: skip
        self.image, self.meaning, self.terms = image, meaning, meaning.terms
        self.target, self.align = image.target, align or image.target.stack_align
        self.registers, self.top = registers(image.target), image.target.stack_pointer
        self.entry = image.symbol(meaning.symbol)
        self.assertions = dict(assertions)
        self.at: dict[int, list[Assertion]] = {}
        for assertion in assertions.values():
            self.at.setdefault(self.entry + assertion.at, []).append(assertion)
        self._decoded: dict[int, Decoded] = {}
        self.steps = self.runs = self.returns = 0
        self.gpr: list[Value] = []
        self.vec: list[tuple[Lane, ...]] = []
        self.left: dict[str, Value] = {}
        self._of: dict[int, tuple[Assertion, list[tuple[Place, object]]]] = {}

    def check(self) -> None:
        """Check it all: the entry and each assertion, run to the next cuts and returns.

        Raises:
            Refutation: something is not shown.
        """
        self.target.check_entry(self.image, self.meaning.symbol)
        try:
            for state in self.entries():
                self.run(state, self.entry, None)
            for assertion in self.assertions.values():
                # An unknown that has one value is that number from here on.
                for state in self.state(assertion).each((Case(),)):
                    self.run(state, self.entry + assertion.at, assertion)
        except UndecidedError as error:
            raise unsupported(f"not decided: {error}", self.terms.at) from None

    def begin(self) -> State:
        """Return the state at the entry."""
        facts = Facts(dict(self.meaning.numbers))
        call = self.meaning.call(own(facts), self.align)
        state = entered(self.image, self.terms, call, facts)
        state.ghosts = self.meaning.begin() | own(facts)
        m = state.machine
        self.gpr, self.vec = list(m.gpr), list(m.vec)
        self.left = {n: p.of(m) for n, p in self.registers.items() if p.file != "mask"}
        return state

    def entries(self) -> list[State]:
        """Return the states at the entry, one for each case of what the caller promises."""
        return self.begin().each(self.meaning.promised)

    # Rules 1 and 2.

    def run(self, state: State, address: int, source: Assertion | None) -> None:
        """Run a state to the next cuts and returns, in all its cases."""
        work = [(state, address, True)]
        while work:
            self.runs += 1
            if self.runs > MOST_RUNS:
                raise unsupported("more cases than any kernel needs", self.terms.at)
            work += self._advance(*work.pop(), source)

    def _advance(
        self, state: State, address: int, begun: bool, source: Assertion | None
    ) -> list[tuple[State, int, bool]]:
        """Run one case to a cut or a return; return the cases in which it goes on from before.

        `begun`: it is not to be cut where it stands.
        """
        self.meaning.entering(state)
        for _ in range(self.most):
            cut = not begun and address in self.at
            try:
                if address == END:
                    self._end(state)
                    return []
                if cut:
                    self.arrive(state, address, source)
                    return []
                address = self.step(state, address)
            except Fork as question:
                return [(case, address, not cut) for case in state.each(question.cases)]
            except SecretCondition as asked:
                return [(case, address, True) for case in self.answers(state, asked)]
            begun = False
        raise unsupported(f"no cut within {self.most} instructions", address)

    def answers(self, state: State, asked: SecretCondition) -> list[State]:
        """Return the two states behind a condition that depends on a secret.

        Raises:
            Refutation: it is not the one question whose answer the specification gives away.
        """
        if asked.value is None or not self.meaning.may_be_known(state, asked.value):
            raise asked
        out = []
        for zero in (True, False):
            case = state.copy()
            case.machine.flags = replace(case.machine.flags, zero=zero)
            self.meaning.answered(case, asked.value, zero)
            out.append(case)
        return out

    def step(self, state: State, address: int) -> int:
        """Execute one instruction; return the address of the next.

        Raises:
            Fork: what it does depends on the unknowns; nothing has been done.
            Refutation: it may not be executed.
        """
        m, meaning = state.machine, self.meaning
        if (now := self._decoded.get(address)) is None:
            now = self._decoded[address] = self.target.decode(self.image, address)
        self.terms.at = address
        pointer, before, flags = m.gpr[self.top], _written(m), m.flags
        accesses = m.memory.accesses
        vectors = [*m.vec] if meaning.vectors_named else []
        try:
            for check in now.guards:
                check(m)
            following = now.step(m)
        except (Fork, SecretCondition):
            if _written(m) != before or m.flags is not flags:
                raise unsupported("cases of an instruction that has begun", address) from None
            raise
        self.steps += 1
        if now.accesses and m.memory.accesses == accesses:
            raise unsupported("a row that leaves out the access to memory", address)
        if m.gpr[self.top] is not pointer:
            top = m.gpr[self.top]
            if not isinstance(top, Pointer) or top.region != STACK:
                raise unsupported("the stack pointer leaves the stack", address)
            check_frame(m)
            if following != END:
                m.memory.release()
        for k, lanes in enumerate(vectors if m.vec.writes != before[1] else ()):
            if m.vec[k] is not lanes:
                m.vec[k] = tuple(meaning.named(lane) for lane in m.vec[k])
        return now.following if following is None else following

    # Rule 3.

    def state(self, a: Assertion) -> State:
        """Return the state that an assertion is, with its unknowns as they are."""
        facts, meaning, terms = a.facts(), self.meaning, self.terms
        if missing := [n for n in meaning.numbers if n not in a.unknowns]:
            raise unsupported(f"{a.name}: no unknown {missing[0]}")
        if odd := a.registers.keys() - self.registers.keys():
            raise unsupported(f"{a.name}: no place: {min(odd)}")
        call = meaning.call({n: own(facts)[n] for n in meaning.numbers}, self.align)
        state = blank(self.image, terms, call, facts, a.name)
        numbers, m = own(facts), state.machine
        state.ghosts = meaning.ghosts(a.ghosts, a.unknowns) | {
            n: numbers[n] for n in meaning.numbers
        }
        terms.at = self.entry + a.at
        meaning.entering(state)

        def value(v: object, bits: int) -> Value:
            if v in ("?", "!"):
                return terms.lost("an unknown of a cut", v == "?", bits)
            return value_of(v, numbers, bits, self._fresh, meaning, self.left)

        for name, place in self.registers.items():
            found = value(a.registers.get(name, "?"), place.bits)
            file, k, lane = getattr(m, place.file), place.index, place.lane
            is_vector = place.file == "vec"
            file[k] = (*file[k][:lane], found, *file[k][lane + 1 :]) if is_vector else found
        for place, v in a.memory:
            if place.region not in state.memory.written:
                raise unsupported(f"{a.name}: no buffer {place.region}")
            region = state.memory.regions[place.region]
            if region.access is Access.READ:
                # What was read there may be written over since: the input may be the output.
                raise unsupported(f"{a.name}: {place.name}, which is only read")
            if isinstance(place.offset, Linear) and isinstance(region.size, int):
                # No access finds such bytes: what is there would be taken for what was at first.
                raise unsupported(f"{a.name}: {place.name}, in a buffer of known size")
            first = state.memory.key(place.offset)
            state.memory.put(place.region, first, value(v, place.bits), place.bits // 8)
        m.flags = alike(Open(Why.UNDEFINED, not a.public_flags))
        m.upper_dirty = a.dirty
        pointer = m.gpr[self.top]
        if not isinstance(pointer, Pointer) or pointer.region != STACK:
            raise unsupported(f"{a.name}: a stack pointer that is none")
        check_frame(m)
        state.memory.release()
        return state

    def _fresh(self, name: str, bits: int) -> Value:
        variable = self.terms.variable(f"u{name}")
        return variable if bits == 128 else self.terms.keep(variable, (1 << bits) - 1)

    def arrive(self, state: State, address: int, source: Assertion | None) -> None:
        """Check that a state is an instance of an assertion there, and nearer to the end.

        Raises:
            Refutation: of the last way that was tried.
        """
        refused: Refutation | None = None
        there = [a for a in self.at[address] if state.label in a.sources]
        for one in self.meaning.arrivals(state, [a.unknowns for a in there]):
            for a in there:
                for numbers in a.sources[state.label]:
                    try:
                        self._instance(one, a, source, numbers)
                    except Refutation as error:
                        refused = error.with_traceback(None)  # It would keep all that is here.
                    else:
                        return
        raise refused or unsupported(f"{state.label}: no way to any assertion at {address:#x}")

    def _instance(
        self, state: State, a: Assertion, source: Assertion | None, numbers: Mapping[str, Number]
    ) -> None:
        where = f"{state.label} -> {a.name}: "
        m, facts, memory, meaning = state.machine, state.facts, state.memory, self.meaning
        if numbers.keys() != a.unknowns.keys():
            raise unsupported(where + "no numbers for its unknowns")
        named = own(facts) | state.origin  # What it began with, then what cases have brought.
        for number in numbers.values():
            require_known(number, named, where)
        to = {u: replaced(number, named) for u, number in numbers.items()}
        for u, (low, high) in a.unknowns.items():
            if not all(map(facts.shows, (combined(to[u], low, -1), combined(high, to[u], -1)))):
                raise unsupported(where + f"{u} = {to[u]} is not in its range")
        for u, values in a.among.items():
            if not facts.one_of(to[u], values):
                raise unsupported(where + f"{u} = {to[u]} may be none of its values")
        for known in a.known:
            if not facts.shows(found := replaced(known, to)):
                raise unsupported(where + f"{known} may be negative, where it is {found}")
        for n in meaning.numbers:
            if to.get(n) != state.ghosts[n]:
                raise unsupported(where + f"{n} is {state.ghosts[n]}, not {to.get(n)}")
        bound: dict[str, Value] = {}

        def unknown_value(name: str, bits: int) -> Value:
            if name not in bound:
                raise unsupported(where + f"{name} is in no place of its own before")
            return bound[name]

        def compare(place: Place, is_: Value, v: object) -> None:
            if v == "!":
                if secret(is_):
                    raise unsupported(where + f"{place.name} is a secret")
                return
            match v:
                case ["v", str(name)] if name not in bound:
                    if not isinstance(is_, int | Term):
                        raise unsupported(where + f"{place.name} is an address or a length")
                    bound[name] = is_
                    return
            # First by the names that it has here: an assertion may speak of what they are names of.
            named = meaning.canonical(is_) if isinstance(is_, Term) else is_
            wanted = value_of(v, to, place.bits, unknown_value, meaning, self.left)
            if not self._equal(is_, wanted) and not self._equal(named, wanted):
                raise unsupported(where + f"{place.name} is not as the assertion has it")

        for place, v in self._said(a):
            compare(place, place.of(m), v)
        said: dict[str, set[int]] = {region: set() for region in memory.written}
        for place, v in a.memory:
            if place.region not in said:
                raise unsupported(where + f"no buffer {place.region}")
            first = memory.key(replaced(place.offset, to))
            said[place.region].update(range(first, first + place.bits // 8))
            if v != "?":  # Where an old return address lies, nobody has to read it.
                compare(place, memory._read(place.region, first, place.bits // 8), v)
        ghosts = meaning.ghosts(a.ghosts, a.unknowns)
        moved = {
            name: replaced(ghost, to) if isinstance(ghost, int | Linear) else ghost
            for name, ghost in ghosts.items()
        }
        arrival = Arrival(state, moved, bound, where)
        for region, written in memory.written.items():
            left = written.keys() - said[region]
            if left and (left := left - meaning.settled(arrival, region)):
                at = memory.place(min(left))
                raise unsupported(where + f"byte {at} of {region} is written and left out")
        if a.public_flags and m.flags.secret:
            raise unsupported(where + "flags may hold a secret")
        if m.upper_dirty and not a.dirty:
            raise unsupported(where + "upper halves are in use")
        if len(memory.returns) != bool(self.target.return_bytes):
            raise unsupported(where + "inside a call")
        meaning.instance(arrival)
        self._descend(state, a, source, to)

    def _said(self, a: Assertion) -> list[tuple[Place, object]]:
        """Return the registers of which an assertion says something, in their order, and what."""
        if id(a) not in self._of:  # Held there, it keeps its identity.
            said = [(p, a.registers.get(name, "?")) for name, p in self.registers.items()]
            self._of[id(a)] = a, [(place, v) for place, v in said if v != "?"]
        return self._of[id(a)][1]

    def _equal(self, a: Value, b: Value) -> bool:
        if isinstance(a, int | Term) and isinstance(b, int | Term):
            if same_value(a, b):
                return True
            if any(isinstance(x, int) and x >> 128 for x in (a, b)):
                return False  # Such as a negative number in an assertion.
            form = self.terms.try_form(a)
            return form is not None and form == self.terms.try_form(b)
        return a == b

    # Rule 4.

    def _descend(
        self, state: State, a: Assertion, source: Assertion | None, to: Mapping[str, Number]
    ) -> None:
        if source is None or a.level < source.level:
            return
        now, then = replaced(source.falls, state.origin), replaced(a.falls, to)
        falls, where = combined(combined(now, then, -1), 1, -1), f"{state.label} -> {a.name}: "
        if a.level > source.level or not state.facts.shows(falls):
            raise unsupported(where + f"{now} does not fall to {then}")
        if not a.facts().shows(a.falls):
            raise unsupported(where + f"{a.falls} has no bound below")

    # Rule 5.

    def _end(self, state: State) -> None:
        """Compare what is left with the convention and the specification."""
        m = state.machine
        check_return(self.target.convention(self.meaning.abi), m, self.gpr, self.vec)
        at, self.terms.at = self.terms.at, 0
        self.meaning.end(state)
        self.terms.at = at
        if self.meaning.wipe:
            check_wiped(m, self.meaning.result_bits)
        self.returns += 1


def _written(m: Machine) -> tuple[int, int, int, int]:
    """Return a number that grows with every write to registers and memory."""
    return m.gpr.writes, m.vec.writes, m.mask.writes, m.memory.stores

"""Instructions on numbers with unknowns, and the same on each number that they may be.

Facts are drawn: a range for each of one to three unknowns, and numbers that are not negative. A row
runs on the unknowns, in all the cases that it asks for (`Fork`), and on the numbers of every
assignment that the facts allow. In each case every register and condition must be right for each
assignment of that case, or be refused, and every assignment must be in a case. The part `rows`
compares rows on numbers with the CPU.
"""

import random
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import product
from typing import Any

from iced_x86 import Instruction

from ghashgen.algebra.ops.monomials import evaluate
from ghashgen.check.attack.forms import RAX, RCX, RDX, edge, instruction, width
from ghashgen.verify.core.kinds import BESIDE, NUMBER_LETTER, as_lane
from ghashgen.verify.core.linear import Facts, Fork
from ghashgen.verify.core.numbers import Number, combined, linear
from ghashgen.verify.core.refutation import Refutation
from ghashgen.verify.core.term import Lane, Term, parts_first
from ghashgen.verify.core.terms import Terms
from ghashgen.verify.core.values import Linear, Pointer, UndecidedError, Value
from ghashgen.verify.machine.flags import of_difference
from ghashgen.verify.machine.image import Image
from ghashgen.verify.machine.machine import Machine
from ghashgen.verify.machine.memory import Memory
from ghashgen.verify.machine.regions import Access, Region
from ghashgen.verify.rules.state import State, own
from ghashgen.verify.x86_64.conditions import CONDITIONS, PAIRS
from ghashgen.verify.x86_64.machine import LANES
from ghashgen.verify.x86_64.rows.table import code_name, step_of
from ghashgen.verify.x86_64.target import X86_64

Assignment = Mapping[str, int]

MOST = 4000
"""Cases of one instruction, at most: a row that asks for more asks without end."""


def value_at(a: Number, numbers: Assignment) -> int:
    """Return a number where its unknowns are these."""
    return a if isinstance(a, int) else a.c + sum(n * numbers[u] for u, n in a.k)


def allowed(facts: Facts) -> Iterator[dict[str, int]]:
    """Yield the assignments that the facts allow."""
    names = sorted(facts.ranges)
    spans = (range(low, high + 1) for low, high in (facts.ranges[u] for u in names))
    for values in product(*spans):
        numbers = dict(zip(names, values, strict=True))
        if all(value_at(known, numbers) >= 0 for known in facts.not_negative):
            yield numbers


def random_facts(rng: random.Random, possible: bool = True) -> Facts:
    """Return facts of one to three unknowns with few values, and up to two constraints."""
    while True:
        count = rng.choice((1, 2, 2, 3))
        most = (20, rng.choice((6, 6, 16)), 4)[count - 1]
        facts = Facts()
        for u in "abc"[:count]:
            low = rng.choice((0, 0, 1, rng.randrange(40), rng.getrandbits(20), rng.getrandbits(62)))
            facts = facts.with_range(u, low, low + rng.randrange(1, most))
        for _ in range(rng.randrange(3)):
            k = {u: rng.choice((0, 1, 1, -1, -1, 16, -16)) for u in facts.ranges}
            middle = sum(n * sum(facts.ranges[u]) // 2 for u, n in k.items())
            facts = facts.with_not_negative(linear(rng.randrange(-9, 10) - middle, k))
        if not possible or next(allowed(facts), None):
            return facts


def random_number(rng: random.Random, facts: Facts, bits: int) -> Number:
    """Return a number of some of the unknowns that fits in so many bits, often close to a bound."""
    for _ in range(50):
        scale = rng.choice((1, 1, 1, 16, 16, 64, 96, 1 << rng.randrange(bits)))
        k = {u: scale * rng.choice((0, 1, 1, -1, 2, 16)) for u in facts.ranges}
        rest = linear(0, k)
        value = linear(edge(rng, bits) - facts.least(rest), k)
        if facts.fits(value, bits):
            return value
    return edge(rng, bits)


def near(rng: random.Random, facts: Facts, a: Number) -> Number:
    """Return the same number, or one that is a little more or less."""
    u, (low, high) = rng.choice(sorted(facts.ranges.items()))
    n = rng.choice((0, 0, 1, -1, 16))
    more = rng.choice((0, 0, 1, -1, 16, -16)) - n * rng.randrange(low, high + 1)
    return combined(a, linear(more, {u: n}))


@dataclass(frozen=True)
class Case:
    """An instruction on numbers with unknowns: the registers, what was compared before it."""

    instruction: Instruction
    facts: Facts
    gpr: Mapping[int, Value]
    before: tuple[int, int]


def drawn(code: int, rng: random.Random) -> Case:
    """Return a case of a form."""
    i, bits, facts = instruction(code, rng), width(code), random_facts(rng)
    name = code_name(code)
    first = random_number(rng, facts, bits)
    gpr: dict[int, Value] = {RAX: first}
    gpr[RDX] = random_number(rng, facts, bits) if rng.randrange(3) else edge(rng, bits)
    if rng.randrange(2):
        # Comparisons that are close.
        close = near(rng, facts, first)
        if facts.fits(close, bits):
            gpr[RDX] = close
    if rng.randrange(4) == 0:
        gpr[RAX], gpr[RDX] = gpr[RDX], gpr[RAX]
    if bits == 64 and rng.randrange(8) == 0:
        gpr[RAX] = Pointer("buffer", random_number(rng, facts, 8))
        if rng.randrange(2):
            gpr[RDX] = Pointer("buffer", random_number(rng, facts, 8))
    counts = name.startswith("VEX") or name.endswith("CL")
    count: Value = rng.randrange(70)
    if counts and rng.randrange(2):
        count = random_number(rng, facts, 6)
    gpr[RDX if name.startswith("VEX") else RCX] = count
    return Case(i, facts, gpr, (rng.getrandbits(64), rng.getrandbits(64)))


NOTHING = Facts()
"""What is known where there are no unknowns."""


def machine(
    gpr: Mapping[int, Value], before: tuple[int, int] = (0, 0), facts: Facts = NOTHING
) -> Machine:
    """Return a machine with these registers, and flags from a comparison of two numbers."""
    terms = Terms(lambda kind, power: NotImplemented)
    region = Region("buffer", 0, 64, Access.UPDATE, lambda memory, at: 0, 64)
    memory = Memory(terms, Image(X86_64, (), {}), [region])
    memory.facts = facts
    registers = [gpr.get(k, 0) for k in range(16)]
    m = Machine(terms, memory, registers, [(0,) * LANES] * 32, [0] * 8)
    m.flags = of_difference(memory.facts, *before, 64, memory.inside)
    return m


def _exact(value: Value, numbers: Assignment) -> Value:
    """Return a value where its unknowns are these."""
    if isinstance(value, Linear):
        return value_at(value, numbers)
    if isinstance(value, Pointer):
        return Pointer(value.region, value_at(value.offset, numbers))
    return value


def is_said(terms: Terms, value: Value, numbers: Assignment, number: Value) -> bool:
    """Return whether a value is this number, as far as anything is said."""
    if not isinstance(value, Term):
        return _exact(value, numbers) == number
    assert isinstance(number, int)
    said: Lane = value
    if value.op == BESIDE:
        rest, known = value.args
        assert isinstance(rest, Term)
        said, number = as_lane(known), number & ~rest.mask
    if isinstance(said, int) or said.op == "opaque":
        return said == number or not isinstance(said, int)
    bits = {
        f"{NUMBER_LETTER}{part.serial}": value_at(part.args[0], numbers)
        for part in parts_first(said, ())
        if isinstance(part.args[0], Linear)
    }
    return evaluate(terms.form(said), bits) == number


def condition(m: Machine, name: str) -> bool | None:
    """Return a condition, None if it is refused."""
    try:
        return CONDITIONS[name](m)
    except (Refutation, UndecidedError):
        return None


def conditions(m: Machine) -> dict[str, bool | None]:
    """Return all conditions by what they are of single flags (Intel SDM vol. 1, table B-1)."""
    b, e, s, o = (condition(m, name) for name in ("b", "e", "s", "o"))
    less = None if s is None or o is None else s != o
    found = {
        "o": o, "b": b, "e": e, "be": _either(b, e), "s": s, "l": less, "le": _either(e, less),
    }  # fmt: skip
    opposite = {no: found[name] for name, no, _ in PAIRS}
    return found | {no: None if said is None else not said for no, said in opposite.items()}


def _either(a: bool | None, b: bool | None) -> bool | None:
    return None if a is None or b is None else a or b


def _in_all_cases(state: State, do: Callable[[State], Any]) -> Iterator[tuple[State, Any]]:
    """Do something to a state in all its cases; yield each with what came of it.

    None came of it where it is refused.
    """
    work = [state]
    for _ in range(MOST):
        if not work:
            return
        before = work.pop()
        after = before.copy()
        try:
            found = do(after)
        except Fork as fork:
            work += [case for case in map(before.within, fork.cases) if case is not None]
        except (Refutation, UndecidedError):
            yield before, None
        else:
            yield after, found
    raise AssertionError(f"more than {MOST} cases")


Key = tuple[tuple[str, int], ...]


def _assignments(state: State) -> Iterator[tuple[Key, Assignment]]:
    """Yield the assignments of a state: of what its unknowns were at first, and of all of them."""
    for numbers in allowed(state.facts):
        first = {u: value_at(a, numbers) for u, a in state.origin.items()}
        yield tuple(sorted(first.items())), {**first, **numbers}


def differences(case: Case, seen: Counter[str]) -> list[str]:
    """Return where the row on unknowns is wrong for one assignment, or leaves one out."""
    i, step = case.instruction, step_of(case.instruction)
    exact: dict[Key, tuple[Machine, dict[str, bool | None]]] = {}
    for numbers in allowed(case.facts):
        m = machine({k: _exact(v, numbers) for k, v in case.gpr.items()}, case.before)
        try:
            step(m)
        except (Refutation, UndecidedError):
            seen["refused on numbers"] += 1
            return []
        exact[tuple(sorted(numbers.items()))] = m, conditions(m)
    first = machine(case.gpr, case.before, case.facts)
    wrong: list[str] = []
    covered: set[Key] = set()
    count = 0
    for state, result in _in_all_cases(
        State(first, {}, "", own(case.facts)), lambda one: step(one.machine) or True
    ):
        count += 1
        inside = [(key, numbers) for key, numbers in _assignments(state) if key in exact]
        covered |= {key for key, _ in inside}
        seen["run" if result else "refused"] += 1
        if result:
            wrong += _registers(case, state, exact)
            wrong += _conditions(case, state, dict(inside), exact, seen)
    seen["divided"] += count > 1
    if missing := exact.keys() - covered:
        wrong.append(f"{i}: no case is {dict(min(missing))}")
    return wrong


Exact = Mapping[Key, tuple[Machine, Mapping[str, bool | None]]]
"""Per assignment the machine that ran on numbers, and the conditions there."""


def _registers(case: Case, state: State, exact: Exact) -> list[str]:
    m, out = state.machine, []
    for key, numbers in _assignments(state):
        if key not in exact:
            continue
        right = exact[key][0]
        pairs = [(f"gpr {k}", m.gpr[k], right.gpr[k]) for k in range(16)]
        pairs += [(f"lane {k}", m.vec[0][k], right.vec[0][k]) for k in range(LANES)]
        out += [
            f"{case.instruction} at {dict(key)}: {name} is {said!r}, not {number!r}"
            for name, said, number in pairs
            if not is_said(m.terms, said, numbers, number)
        ]
    return out


def _conditions(
    case: Case, state: State, inside: Mapping[Key, Assignment], exact: Exact, seen: Counter[str]
) -> list[str]:
    out = []
    for name, test in CONDITIONS.items():
        covered: set[Key] = set()
        for part, said in _in_all_cases(state, lambda one: test(one.machine)):  # noqa: B023
            keys = [key for key, _ in _assignments(part) if key in inside]
            covered.update(keys)
            truths = {exact[key][1][name] for key in keys}
            if said is None:
                alike = len(truths) == 1 and None not in truths
                seen["open although all agree" if alike else "open"] += 1
            else:
                seen["decided"] += 1
                if truths - {said, None}:
                    where = f"{case.instruction} with {part.facts}"
                    out.append(f"{where}: {name} is said to be {said}")
            if name == "be":
                # What is asked later divides the registers, too.
                out += _registers(case, part, exact)
        if missing := inside.keys() - covered:
            out.append(f"{case.instruction}: {name} has no case for {dict(min(missing))}")
    return out


def questions(rng: random.Random, seen: Counter[str]) -> list[str]:
    """Ask random facts of random numbers, and return the answers that are wrong."""
    facts = random_facts(rng, possible=False)
    every = list(allowed(facts))
    if not facts.possible():
        seen["impossible"] += 1
        return ["facts that are possible are said not to be"] if every else []
    k = {u: rng.choice((0, 1, -1, 2, 16, -48)) for u in facts.ranges}
    a = linear(rng.randrange(-50, 50), k)
    values = [value_at(a, numbers) for numbers in every]
    bound, bit = rng.choice((0, facts.least(a), facts.greatest(a), *values)), rng.randrange(10)
    answers = {
        f"least of {a}": all(facts.least(a) <= v for v in values),
        f"greatest of {a}": all(facts.greatest(a) >= v for v in values),
        f"{a} below {bound}": _agree(facts.below(a, bound), [v < bound for v in values]),
        f"{a} is {bound}": _agree(facts.equals(a, bound), [v == bound for v in values]),
        f"bit {bit} of {a}": _agree(facts.bit(a, bit), [bool(v >> bit & 1) for v in values]),
    }
    more = linear(rng.randrange(-50, 50), {u: rng.choice((0, 1, -1, 3)) for u in facts.ranges})
    narrowed = facts.with_not_negative(more)
    kept = [numbers for numbers in every if value_at(more, numbers) >= 0]
    if kept:
        left = list(allowed(narrowed)) if narrowed.possible() else []
        answers[f"{more} is not negative"] = all(numbers in left for numbers in kept)
    seen["asked"] += len(answers)
    return [f"{what}, with {facts}" for what, right in answers.items() if not right]


def _agree(said: bool | None, truths: list[bool]) -> bool:
    return said is None or all(truth == said for truth in truths)

"""Draws certificates for a small program: nearly right ones, with lies in them.

An assertion at the head of each loop is read off the states that arrive there first and after a
turn. Then some of it is changed: what is there, where, how far, and what is left out.
"""

import copy
import random
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any

from ghashgen.verify.core.numbers import Number, combined, linear, times, unknown
from ghashgen.verify.core.refutation import Refutation, unsupported
from ghashgen.verify.core.term import Term
from ghashgen.verify.core.values import Linear, Pointer, UndecidedError, Value
from ghashgen.verify.machine.image import Image
from ghashgen.verify.meaning.function import Function
from ghashgen.verify.rules.assertion import Assertion, read_certificate, registers
from ghashgen.verify.rules.check import Checker
from ghashgen.verify.rules.state import State
from ghashgen.verify.x86_64.target import X86_64

REGISTERS = registers(X86_64)
GENERAL = X86_64.general
VECTORS = tuple(f"v{k}.0" for k in range(4))
TURN, TURNS = "tuvw", 1 << 40
"""Names for the turns of loops, and how many there may be."""

Data = dict[str, Any]


class _Scout(Checker):
    """Follows runs to the cuts, and keeps the states that arrive."""

    def __init__(self, image: Image, meaning: Function, cuts: Sequence[int]) -> None:
        super().__init__(image, meaning, {})
        self.at = {at: [] for at in cuts}
        self.arrived: list[tuple[int, State]] = []

    def arrive(self, state: State, address: int, source: Assertion | None) -> None:
        """Keep a state."""
        self.arrived.append((address, state))
        if len(self.arrived) > 20:
            raise unsupported("enough")

    def _end(self, state: State) -> None:
        pass

    def behind(self, state: State, address: int) -> list[tuple[int, State]]:
        """Return the states that arrive at cuts next."""
        self.arrived = []
        with suppress(Refutation, UndecidedError):
            self.run(state, address, None)
        return self.arrived


def _number(values: Sequence[Number], other: str) -> str | None:
    step = combined(values[-1], values[0], -1)
    if not isinstance(step, int):
        return None
    return str(combined(values[0], times(unknown(other), step)) if step else values[0])


def _term(v: Value) -> Any:
    """Return a sum of blocks as a certificate has it, None for anything else."""
    if isinstance(v, int):
        return ["c", hex(v)]
    if not isinstance(v, Term):
        return None
    if v.op == "var":
        name = str(v.args[0])
        return ["t", "block", name[0], ["n", name[1:]]] if name[1:].isdecimal() else None
    if v.op == "xor":
        parts = [_term(x) for x in v.args]  # type: ignore[arg-type]
        return None if None in parts else ["t", "xor", *parts]
    return None


def _value(checker: Checker, name: str, values: Sequence[Value], wide: bool, turn: str) -> Any:
    first = values[0]
    if all(isinstance(x, int | Linear) for x in values):
        if wide:
            same = all(x == first for x in values)
            return ["c", hex(first)] if same and isinstance(first, int) else "?"
        n = _number(values, turn)  # type: ignore[arg-type]
        return "!" if n is None else ["n", n]
    if isinstance(first, Pointer):
        offsets = [x.offset for x in values if isinstance(x, Pointer) and x.region == first.region]
        n = _number(offsets, turn) if len(offsets) == len(values) else None
        return "!" if n is None else ["p", first.region, n]
    if any(x is not first for x in values):
        return "?"
    for register, place in REGISTERS.items():
        of = checker.gpr if place.file == "gpr" else [lanes[0] for lanes in checker.vec]
        if place.file in ("gpr", "vec") and not place.lane and of[place.index] is first:
            return ["@", register]
    found = _term(first)
    return "?" if found is None or (not wide and found[0] == "t") else found


def _plain(state: State) -> bool:
    """Return whether the length is still an unknown of its own."""
    return "length" in state.facts.ranges and state.origin["length"] == unknown("length")


def _assertion(
    scout: _Scout, name: str, states: Sequence[State], at: int, index: int
) -> Data | None:
    first, turn = states[0], TURN[index]
    here = set(first.facts.ranges)
    if not here <= {"length", *TURN}:
        return None
    places: Data = {}
    for register in (*GENERAL, *VECTORS):
        place = REGISTERS[register]
        values = [place.of(state.machine) for state in states]
        places[register] = _value(scout, register, values, place.file == "vec", turn)
    for region, size in (("state", 16), ("stack", 8), ("area", 16)):
        keys = sorted({k - k % size for state in states for k in state.memory.written[region]})
        for key in keys:
            offset = first.memory.place(key)
            cells = []
            for state in states:
                try:
                    cells.append(state.memory._read(region, state.memory.key(offset), size))
                except (Refutation, UndecidedError):
                    break
            said = "?"
            if len(cells) == len(states):
                said = _value(scout, region, cells, size == 16, turn)
            places[f"{region}+{offset}:{size}"] = said
    lows = [state.facts.ranges["length"][0] for state in states]
    ranges = {u: list(ends) for u, ends in first.facts.ranges.items()}
    known = [linear(e.c, dict(e.k)) for e in first.facts.not_negative]
    ways = {u: u for u in here}
    falls: Number = 0
    if len(states) > 1:
        falls = combined(unknown("length"), linear(lows[0], {turn: lows[1] - lows[0]}), -1)
        ranges[turn] = [0, TURNS]
        known.append(falls)
        ways[turn] = "0"
    out: Data = {
        "at": at - scout.entry, "unknowns": ranges, "among": {}, "facts": [str(e) for e in known],
        "places": places, "ghosts": {}, "flags": "public", "dirty": False, "level": -index,
        "falls": str(falls), "from": {first.label: [dict(ways)]},
    }  # fmt: skip
    if len(states) > 1:
        out["from"][name] = [{**{u: u for u in ranges}, turn: f"{turn}+1"}]
    return out


def _of_all_ways(a: Data, lengths: list[int]) -> None:
    """Let an assertion behind all loops speak of the length alone: ways differ in their turns."""
    a["unknowns"], a["facts"], a["falls"] = {"length": lengths}, [], "0"
    a["from"] = {"entry": [{"length": "length"}]}
    for place, said in a["places"].items():
        if place in VECTORS:
            a["places"][place] = "?"
        elif said[0] in ("n", "p") and set(said[-1].replace("length", "")) & set(TURN):
            a["places"][place] = "!"


def honest(image: Image, meaning: Callable[[], Function], cuts: Sequence[int]) -> Data:
    """Return a certificate: an assertion at each cut that is reached, where one can be read off."""
    made: Data = {}
    for index, cut in enumerate(cuts):
        scout = _Scout(image, meaning(), cuts[: index + 1])
        begun, start = scout.begin(), scout.entry
        if made:
            before = read_certificate({"assertions": made})[[*made][-1]]
            try:
                begun, start = scout.state(before), scout.entry + before.at
            except (Refutation, UndecidedError):
                break
        found = [s for at, s in scout.behind(begun, start) if at == cut and _plain(s)]
        if not found:
            continue
        turned = [s for at, s in scout.behind(found[0].copy(), cut) if at == cut and _plain(s)]
        one = _assertion(scout, f"cut{index}", [found[0], *turned[:1]], cut, index)
        if one is None:
            continue
        if index == len(cuts) - 1 and len(turned) == 0:
            _of_all_ways(one, list(meaning().numbers["length"]))
        for name, other in made.items():
            numbers = {u: u if u in other["unknowns"] else "0" for u in one["unknowns"]}
            one["from"].setdefault(name, [numbers])
        made[f"cut{index}"] = one
    return {"assertions": made}


# Lies.

OTHER: tuple[Any, ...] = (
    "?", "!", ["n", "length"], ["n", "0"], ["n", "t"], ["v", "y"], ["c", "0x0"], ["@", "rbx"],
    ["p", "state", "0"], ["p", "area", "0"], ["p", "area", "16*t"], ["p", "state", "16*t"],
    *(["t", "block", "X", ["n", n]] for n in ("0", "16", "16*t")),
    *(["t", "block", "A", ["n", n]] for n in ("0", "16*t")),
)  # fmt: skip


def edited(rng: random.Random, number: str) -> str:
    """Return another number."""
    return rng.choice((f"{number}+1", f"{number}-1", f"{number}+16", f"{number}-16", f"{number}+t",
                       f"{number}-t", f"{number}-16*t", "0", "length", "t"))  # fmt: skip


def _elsewhere(rng: random.Random, a: Data, place: str) -> None:
    """Say what is in one place of memory of another, or of one with an unknown that is 0."""
    places = a["places"]
    region, _, rest = place.partition("+")
    offset, _, size = rest.rpartition(":")
    by = rng.choice(("+16*z", "-16*z", "+16*z", "+16", "-16", "+1", "+16*t", "-8"))
    said = places.pop(place, "?") if rng.randrange(4) else places.get(place, "?")
    places[f"{region}+{offset}{by}:{size}"] = rng.choice(("?", "?", said))
    if "z" in by and "z" not in a["unknowns"]:
        a["unknowns"]["z"] = [0, rng.choice((0, 0, 1, 4))]
        for source, several in a["from"].items():
            for way in several:
                way["z"] = "z" if source.startswith("cut") and rng.randrange(4) == 0 else "0"


def _left_out(rng: random.Random, a: Data, place: str) -> None:
    a["places"].pop(place, None)


def _another(rng: random.Random, a: Data, place: str) -> None:
    places = a["places"]
    places[rng.choice((place, *sorted(places)))] = rng.choice(OTHER)


def _count(rng: random.Random, a: Data, place: str) -> None:
    """Change a number: in a place, a fact, what falls, or where a run comes from."""
    places = a["places"]
    named = [p for p, v in places.items() if v[0] in ("n", "p")]
    kind = rng.randrange(5)
    if kind == 0 and named:
        value = list(places[rng.choice(named)])
        places[rng.choice(named)] = [*value[:-1], edited(rng, value[-1])]
    elif kind == 1 and a["facts"]:
        k = rng.randrange(len(a["facts"]))
        a["facts"][k] = edited(rng, a["facts"][k])
    elif kind == 2:
        a["falls"] = rng.choice(("0", "length", "t", *a["facts"], edited(rng, a["falls"])))
    else:
        several = a["from"][rng.choice(sorted(a["from"]))]
        way = rng.choice(several)
        u = rng.choice(sorted(way))
        way[u] = edited(rng, way[u])


def _range(rng: random.Random, a: Data, place: str) -> None:
    u = rng.choice(sorted(a["unknowns"]))
    ends = a["unknowns"][u]
    k = rng.randrange(2)
    new = ends[k] + rng.choice((1, -1, 16, -16, 1000))
    if (new <= ends[1]) if k == 0 else (new >= ends[0]):
        ends[k] = new
    if rng.randrange(3) == 0:
        a["facts"] = a["facts"][:-1]
    if rng.randrange(4) == 0:
        a["among"][u] = sorted({*ends, rng.randrange(64)})


def _flag(rng: random.Random, a: Data, place: str) -> None:
    a[rng.choice(("level", "level", "at"))] += rng.choice((-1, 1))


LIES = (_elsewhere, _elsewhere, _left_out, _left_out, _another, _count, _count, _range, _flag)
OF_MEMORY = (_elsewhere, _left_out, _another)


def lying(rng: random.Random, data: Mapping[str, Any]) -> Data:
    """Return a certificate with one to three lies, each in one assertion or in all."""
    out = copy.deepcopy(dict(data))
    assertions: Data = out["assertions"]
    memory = sorted({p for a in assertions.values() for p in a["places"] if ":" in p})
    for _ in range(rng.choice((1, 1, 2, 3))):
        lie = rng.choice(LIES)
        place = rng.choice(memory or [f"state+{16 * rng.randrange(4)}:16"])
        where = sorted(assertions)
        if lie not in OF_MEMORY or rng.randrange(3) == 0:
            where = [rng.choice(where)]
        for name in where:
            lie(rng, assertions[name], place)
    if rng.randrange(8) == 0:
        # A second assertion at the same address, which only some ways may use.
        name = rng.choice(sorted(assertions))
        twin = copy.deepcopy(assertions[name])
        rng.choice(LIES)(rng, twin, rng.choice(memory or ["state+0:16"]))
        twin["from"] |= {f"{name}_twin": way for k, way in twin["from"].items() if k == name}
        assertions[f"{name}_twin"] = twin
    return out

"""From an assertion of one residue of a length to one of all: the length is an unknown again.

A function that divides its length by n is followed with length = n·q + r for one r. What is the
same for every r is said with the length, the turns t so far and the turns w that are left: with
these three one fact answers each question. q stands only where a run comes from the entry.
"""

from collections.abc import Callable, Sequence
from typing import Any

from ghashgen.verify.core.numbers import Number, combined, parse, parts, replaced, times, unknown
from ghashgen.verify.search.values import TURN

LEFT = "w"
"""The unknown for the turns that are left behind this one."""


def of_length(a: Number, ghost: Number, size: Number) -> Number:
    """Return a number with the length in it, if it is that times something, but for n·q."""
    c, mine = parts(a)
    r, ((u, n),) = parts(ghost)
    many, odd = divmod(dict(mine).get(u, 0), n)
    if odd or not many or (c - many * r) % (many * n):
        return a
    return combined(combined(a, times(ghost, many), -1), times(size, many))


def plain(one: dict[str, Any], name: str, ghost: Number) -> dict[str, Any] | None:
    """Return an assertion of every r that says nothing of q; None: it cannot."""
    r, k = parts(ghost)
    falls = parse(one["falls"])
    if len(k) != 1 or r == 0:
        return None
    ((u, n),) = k
    size = unknown(name)

    def said(a: Number) -> Number:
        return of_length(a, ghost, size)

    def fact(a: Number) -> Number:
        """Return n times a number, the length being at least n·q."""
        quotients = dict(parts(a)[1]).get(u, 0)
        rest = combined(a, times(unknown(u), quotients), -1)
        return combined(times(rest, n), times(size, quotients))

    low, high = one["unknowns"][u]
    places = {place: each_number(v, said) for place, v in one["places"].items()}
    known = [fact(parse(e)) for e in one["facts"]]
    if u in _unknowns(places):
        return None
    others = {v: ends for v, ends in one["unknowns"].items() if v != u}
    unknowns = others | {name: [n * low, n * high + n - 1]}
    return one | {
        "unknowns": unknowns, "places": places, "facts": [str(e) for e in known],
        "falls": str(fact(falls)),
    }  # fmt: skip


QUOTIENT = "quotient"
"""The unknown for a length divided by n, rounded down."""


def divided(
    one: dict[str, Any], name: str, ghosts: Sequence[Number], held: Callable[[str], list[Any]]
) -> dict[str, Any] | None:
    """Return an assertion of every r that says n·q and length - n·q; None: there is no such length.

    `ghosts` are what the length is: in the run that was followed, then in all ways to the place.
    `held` returns what these ways hold in a place. If that is never 0, it may be n where r is 0.
    """
    (r, k), size = parts(ghosts[0]), unknown(name)
    if len(k) != 1:
        return None
    ((u, n),) = k
    rests = [parts(ghost)[0] for ghost in ghosts[1:]]

    def is_rest(place: str, v: Any) -> bool:
        found = held(place) if v[0] == "n" and v[1].isdecimal() else []
        whole = all(isinstance(h, int) for h in found) and len(set(found)) > 1
        return whole and not any((a - h) % n for a, h in zip(rests, found, strict=True))

    places = [place for place, v in one["places"].items() if is_rest(place, v)]
    found = held(places[0]) if places else rests
    less = [(a - h) // n for a, h in zip(rests, found, strict=True)]
    mine = (r - int(one["places"][places[0]][1])) // n if places else 0
    quotient = combined(unknown(QUOTIENT), mine, -1)
    rest = combined(size, times(unknown(QUOTIENT), n), -1)

    def said(a: Number) -> Number:
        return replaced(of_length(a, ghosts[0], size), {u: quotient})

    facts = [replaced(parse(e), {u: quotient}) for e in one["facts"]]
    facts += [combined(rest, min(found), -1), combined(max(found), rest, -1)]
    low, high = one["unknowns"][u]
    others = {v: ends for v, ends in one["unknowns"].items() if v != u}
    ranges = {name: [n * low, n * high + n - 1], QUOTIENT: [low + min(less), high]}
    return one | {
        "unknowns": others | ranges,
        "places": {place: each_number(v, said) for place, v in one["places"].items()}
        | {place: ["n", str(rest)] for place in places},
        "facts": list(map(str, facts)),
        "falls": str(replaced(parse(one["falls"]), {u: quotient})),
        "from": {
            source: [
                way | {QUOTIENT: str(q)}
                for way in ways
                for q in (
                    [combined(unknown(u), k) for k in sorted(set(less), reverse=True)]
                    if way[TURN] == "0"
                    else [QUOTIENT]
                )
            ]
            for source, ways in one["from"].items()
        },
    }


def _unknowns(places: dict[str, Any]) -> set[str]:
    out: set[str] = set()

    def note(a: Number) -> Number:
        out.update(u for u, _ in parts(a)[1])
        return a

    for v in places.values():
        each_number(v, note)
    return out


def whole(one: dict[str, Any], name: str, ghost: Number) -> dict[str, Any] | None:
    """Return an assertion whose number `name` is n·q + r, as one of every r; None: it is none."""
    r, k = parts(ghost)
    falls = parse(one["falls"])
    if len(k) != 1 or r == 0 or parts(falls)[1] != ((k[0][0], 1), (TURN, -1)):
        return None
    ((u, n),) = k
    size = unknown(name)
    # What falls is q - t + c: this is w.
    quotient = combined(combined(unknown(LEFT), falls, -1), unknown(u))

    def said(a: Number) -> Number:
        return replaced(of_length(a, ghost, size), {u: quotient})

    low, high = one["unknowns"][u]
    between = combined(size, times(quotient, n), -1)
    facts = [replaced(parse(e), {u: quotient}) for e in one["facts"]]
    facts += [between, combined(n - 1, between, -1)]
    ways = {
        "entry": {TURN: "0", LEFT: str(replaced(falls, {TURN: 0}))},
        "loop": {TURN: f"{TURN}+1", LEFT: f"{LEFT}-1"},
    }
    return one | {
        "unknowns": {name: [n * low, n * high + n - 1], TURN: [0, high], LEFT: [0, high]},
        "places": {place: each_number(v, said) for place, v in one["places"].items()},
        "facts": [str(e) for e in facts if len(parts(e)[1]) > 1],
        "falls": LEFT,
        "from": {source: [{name: name} | ways[source]] for source in one["from"]},
    }  # fmt: skip


def each_number(v: Any, new: Callable[[Number], Number]) -> Any:
    """Return a value of an assertion with other numbers in it."""
    match v:
        case ["n", str(text)]:
            return ["n", str(new(parse(text)))]
        case ["p", region, str(text)]:
            return ["p", region, str(new(parse(text)))]
        case [*several]:
            return [each_number(x, new) for x in several]
    return v

"""Finds certificates of pieces: where whole blocks begin, and at the head of the loop over them.

A piece begins anywhere within a block. Behind the block that had begun the next one is at 16·b, and
from there on it does not matter where the piece began. A loop goes over whole blocks, of which
there are w before each turn, and less than a block behind them. What is so for every place in a
block, and for every rest, is guessed from a few of them: a number is a sum of some that are known,
and a constant.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from typing import Any

from ghashgen.algebra.field.bitorder import BLOCK_BYTES
from ghashgen.verify.core.numbers import (
    Number,
    combined,
    linear,
    parse,
    parts,
    times,
    unknown,
    within,
)
from ghashgen.verify.core.values import Linear
from ghashgen.verify.meaning.function import Function
from ghashgen.verify.meaning.hashing import Hashing
from ghashgen.verify.rules.assertion import read_certificate
from ghashgen.verify.rules.check import Checker
from ghashgen.verify.rules.state import State
from ghashgen.verify.search.flow import Flow, flow_of
from ghashgen.verify.search.generalise import Sample
from ghashgen.verify.search.graph import dominators, leading, reached
from ghashgen.verify.search.joint import Joint
from ghashgen.verify.search.loops import TURNS, cases, turns
from ghashgen.verify.search.values import TURN

FIRST, LEFT = times(unknown("b"), BLOCK_BYTES), times(unknown("w"), BLOCK_BYTES)
"""Where whole blocks begin, and the bytes of those that are left."""

FEW_RESTS = (3, 10)
"""Bytes behind the whole blocks, of which a loop is guessed."""

Known = Mapping[Number, Number]
"""Numbers in the unknowns of an assertion, and what they are in a state."""


def fitted(values: Sequence[Number], known: Sequence[Known]) -> Number | None:
    """Return a sum of known numbers, a constant and turns that is each value in its state."""
    names = list(known[0])
    ways = sorted(product((0, 1, -1), repeat=len(names)), key=lambda way: sum(map(abs, way)))
    for way in ways:
        rests = set()
        for value, mine in zip(values, known, strict=True):
            for name, k in zip(names, way, strict=True):
                value = combined(value, times(mine[name], k), -1)
            rests.add(value)
        rest = rests.pop()
        if not rests and all(u == TURN for u, _ in parts(rest)[1]):
            for name, k in zip(names, way, strict=True):
                rest = combined(rest, times(name, k))
            return rest
    return None


class Piece:
    """The numbers of a function that takes a piece."""

    def __init__(self, checker: Checker) -> None:
        meaning = checker.meaning
        assert isinstance(meaning, Function)
        (self.hashing,) = (p for p in meaning.parts if isinstance(p, Hashing))
        self.blocks = self.hashing.order[0]
        self.done, self.numbers = self.hashing.start, meaning.numbers
        size = meaning.buffers[self.blocks.buffer].size
        assert isinstance(size, str)
        self.size = size
        self.total = combined(unknown(self.done), unknown(size))

    def first(self, state: State) -> Number:
        """Return where whole blocks begin."""
        if "b" in state.origin:
            return times(state.origin["b"], BLOCK_BYTES)
        done = state.ghosts[self.done]
        return combined(done, -(within(done, BLOCK_BYTES) or 0) % BLOCK_BYTES)

    def end(self, state: State) -> Number:
        """Return where the piece ends."""
        return combined(state.ghosts[self.done], state.ghosts[self.size])

    def whole(self, state: State) -> Number:
        """Return the bytes of whole blocks."""
        rest = combined(self.end(state), self.first(state), -1)
        return combined(rest, within(rest, BLOCK_BYTES) or 0, -1)

    def known(self, state: State) -> dict[Number, Number]:
        """Return the numbers that others are sums of."""
        out: dict[Number, Number] = {FIRST: self.first(state)}
        for u in self.numbers:
            out[unknown(u)] = state.ghosts[u]
        return out


class Meeting(Joint):
    """States in which the block that had begun is full, from all places in it."""

    piece: Piece

    def base_of(self, state: State) -> Number:
        """Return where whole blocks begin."""
        return Piece(self.checker).first(state)

    def number(self, values: Sequence[Number]) -> Number | None:
        """Return a number as a sum."""
        piece = Piece(self.checker)
        return fitted(values, [piece.known(s) for s in self.states])

    def facts(self) -> tuple[dict[str, list[int]], list[str], str]:
        """Return ranges, and that the begun block is behind and the piece has an end."""
        piece = Piece(self.checker)
        ranges, _, falls = super().facts()
        ranges["b"] = [0, 1 << 62]
        left = [(s.facts, combined(piece.end(s), piece.first(s), -1)) for s in self.states]
        most = max(s.facts.greatest(piece.end(s)) for s in self.states)
        begun = combined(FIRST, unknown(piece.done), -1)
        known = [
            begun,
            combined(BLOCK_BYTES - 1, begun, -1),
            combined(combined(piece.total, FIRST, -1), min(f.least(n) for f, n in left), -1),
            combined(most, piece.total, -1),
        ]
        return ranges, [str(n) for n in known], falls

    def _position(self, state: State) -> tuple[int, Number]:
        return 0, self.base_of(state)

    def _ghosts(self) -> Any:
        mine = {"of": self.blocks.buffer, "hashed": str(FIRST), "ahead": 0, "sum": [["x", 0]]}
        found = self.other_ghosts({self.hashing.name: mine}) if self.known else None
        if found and self.counters is not None:
            # The counter block has not been read yet: it is that of where the piece began.
            found[self.counters.name] = self.counters.begun
        return found


class Turns(Sample):
    """Turns of a loop over whole blocks."""

    def base_of(self, state: State) -> Number:
        """Return where they begin."""
        return Piece(self.checker).first(state)


def merged(values: Sequence[Any], known: Sequence[Known]) -> Any:
    """Return one value of an assertion that each is in its state: "?" if there is none."""
    match values[0]:
        case [("n" | "t" | "v" | "p" | "@" | "c") as kind, *_]:
            if any(
                not isinstance(v, list) or v[0] != kind or len(v) != len(values[0]) for v in values
            ):
                return "?"
            if kind in "np":
                n = fitted([parse(v[-1]) for v in values], known)
                same = len({v[1] for v in values}) == 1 or kind == "n"
                return [*values[0][:-1], str(n)] if n is not None and same else "?"
            out = [merged(one, known) for one in zip(*values, strict=True)]
            return "?" if "?" in out else out
        case [*_]:
            out = [merged(one, known) for one in zip(*values, strict=True)]
            return "?" if "?" in out else out
    return values[0] if all(v == values[0] for v in values) else "?"


class Search:
    """A certificate of one function."""

    def __init__(self, checker: Checker, abi: str) -> None:
        self.checker, meaning = checker, checker.meaning
        self.entry = self.checker.entry
        self.flow: Flow = flow_of(checker, abi)
        self.after = self.flow.after
        self.heads = sorted(at for at in self.flow.cuts if at in reached(self.after, at))
        self.piece = Piece(self.checker)
        self.same = {n: n for n in meaning.numbers}

    def proposed(self) -> Iterator[dict[str, Any]]:
        """Yield certificates."""
        for state in self.checker.entries():
            found = turns(self.checker, state, self.entry, self.heads)
            if found is not None:
                break
        else:
            yield {"assertions": {}}
            return
        ways = Counter(to for following in self.after.values() for to in following)
        for at in dominators(self.after, self.entry, found[0]):
            if ways[at] < 2 or at in reached(self.after, at):
                continue
            if (joint := self.joint(at)) is not None and (loop := self.loop(at, joint)):
                yield {"assertions": {"blocks": joint, "loop": loop}}

    def joint(self, at: int) -> Any:
        """Return the assertion where whole blocks begin, if this is there."""
        elsewhere = frozenset(self.after) - leading(self.after, at)
        arrived = [
            s
            for state in self.checker.entries()
            for to, s in cases(self.checker, state, self.entry, elsewhere | {at})
            if to == at
        ]
        places = [within(s.ghosts[self.piece.done], BLOCK_BYTES) for s in arrived]
        if not arrived or None in places:
            return None
        ways = []
        for s in arrived:
            ways.append(self.same | {"b": _blocks(self.piece.first(s))})
        sources = {"entry": [one for k, one in enumerate(ways) if one not in ways[:k]]}
        live = self.flow.live.get(at, frozenset())
        return Meeting(self.checker, arrived, live).joined(at - self.entry, 2, sources, 0)

    def loop(self, at: int, joint: Any) -> Any:
        """Return the assertion of the loop behind a joint; None: there is none."""
        begin = self.checker.state(read_certificate({"assertions": {"blocks": joint}})["blocks"])
        left = combined(self.piece.end(begin), self.piece.first(begin), -1)
        assert isinstance(left, Linear)
        rests = begin.facts.residues(left, BLOCK_BYTES)
        ones, known, ways = [], [], []
        least, head, per = [], 0, 0
        for rest in FEW_RESTS:
            state = begin.within(rests[rest])
            found = None if state is None else turns(self.checker, state, at, self.heads)
            if found is None:
                return None
            head, states = found[0], found[1][-TURNS:]
            live = self.flow.live.get(head, frozenset())
            one = Turns(self.checker, states, live).assertion(head - self.entry, 1, {})
            if one is None:
                return None
            per = dict(parts(parse(one["ghosts"][self.piece.hashing.name]["hashed"]))[1])[TURN]
            whole = self.piece.whole(states[0])
            least += [s.facts.least(self.piece.whole(s)) - per * k for k, s in enumerate(states)]
            ones.append(one)
            left = combined(whole, times(unknown(TURN), per), -1)
            known.append(self.piece.known(states[0]) | {LEFT: left})
            mine = self.same | {"b": "b", "w": _blocks(whole), TURN: "0"}
            ways += [] if mine in ways else [mine]
        turn = self.same | {"b": "b", "w": f"w-{per // BLOCK_BYTES}", TURN: f"{TURN}+1"}
        behind = combined(combined(self.piece.total, FIRST, -1), LEFT, -1)
        behind = combined(behind, times(unknown(TURN), per), -1)
        most = 1 << 62
        ranges = {"w": [min(least) // BLOCK_BYTES, most], TURN: [0, most]}
        return ones[0] | {
            "unknowns": joint["unknowns"] | ranges, "among": joint["among"], "falls": "w",
            "facts": [*joint["facts"], str(behind), str(combined(BLOCK_BYTES - 1, behind, -1))],
            "places": {p: merged([o["places"].get(p, "?") for o in ones], known)
                       for p in ones[0]["places"]},
            "ghosts": {p: _ghost([o["ghosts"][p] for o in ones], known)
                       for p in ones[0]["ghosts"]},
            "from": {"blocks": ways, "loop": [turn]},
        }  # fmt: skip


def _blocks(size: Number) -> str:
    c, k = parts(size)
    return str(linear(c // BLOCK_BYTES, {u: n // BLOCK_BYTES for u, n in k}))


def _ghost(values: Sequence[Any], known: Sequence[Known]) -> Any:
    match values[0]:
        case {"hashed": _}:
            n = fitted([parse(v["hashed"]) for v in values], known)
            return {**values[0], "hashed": str(n)}
        case str():
            return str(fitted([parse(v) for v in values], known))
    return values[0]


def certificates(checker: Checker, abi: str) -> Iterator[dict[str, Any]]:
    """Yield certificates of a piece's function, which may or may not be right.

    Raises:
        Refutation: there is a loop of which nothing is understood.
    """
    yield from Search(checker, abi).proposed()

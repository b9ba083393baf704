"""Finds certificates of a text without a hash: an assertion at the head of its loop."""

from collections.abc import Iterator
from typing import Any

from ghashgen.verify.core.numbers import combined
from ghashgen.verify.meaning.counters import Counters
from ghashgen.verify.meaning.function import Function
from ghashgen.verify.meaning.text import Text
from ghashgen.verify.rules.check import Checker
from ghashgen.verify.rules.state import State
from ghashgen.verify.search.flow import flow_of
from ghashgen.verify.search.generalise import Sample
from ghashgen.verify.search.hash import EMPTY, ways_to_say
from ghashgen.verify.search.loops import TURNS, turns
from ghashgen.verify.search.values import TURN


class Streamed(Sample):
    """States at the head of a loop that hashes nothing."""

    def __init__(self, checker: Checker, states: list[State], live: frozenset[int]) -> None:
        self.prepare(checker, states, live)
        (text,) = (p for p in self.meaning.parts if isinstance(p, Text))
        (self.counters,) = (p for p in self.meaning.parts if isinstance(p, Counters))
        self.blocks, self.initial = text.read, None
        ends = [combined(self._written(s), self.base_of(s), -1) for s in states]
        self._reach = max((n for n in ends if isinstance(n, int)), default=0)

    def _ghosts(self) -> Any:
        return self.other_ghosts({})


def certificates(checker: Checker, abi: str) -> Iterator[dict[str, Any]]:
    """Yield certificates of a function, each of which may or may not be right.

    Raises:
        Refutation: there is a loop of which nothing is understood.
    """
    meaning = checker.meaning
    assert isinstance(meaning, Function)
    flow = flow_of(checker, abi)
    found = turns(checker, checker.begin(), checker.entry, sorted(flow.cuts))
    if found is None:
        yield EMPTY
        return
    head, states = found
    same = {n: n for n in meaning.numbers}
    sources = {"entry": [same | {TURN: "0"}], "loop": [same | {TURN: f"{TURN}+1"}]}
    for chosen in (states[-TURNS:], states):
        sample = Streamed(checker, chosen, flow.live.get(head, frozenset()))
        one = sample.assertion(head - checker.entry, 1, sources)
        yield from ({"assertions": {"loop": said}} for said in ways_to_say(one, states[0]))

"""Finds certificates of a hash's functions: an assertion at the head of a loop over a message."""

from collections.abc import Iterator
from itertools import product
from typing import Any

from ghashgen.verify.core.refutation import Refutation, unsupported
from ghashgen.verify.machine.image import Image
from ghashgen.verify.meaning.function import Function
from ghashgen.verify.meaning.power import EXPONENT
from ghashgen.verify.rules.assertion import read_certificate
from ghashgen.verify.rules.check import Checker
from ghashgen.verify.rules.state import State
from ghashgen.verify.search.flow import flow_of
from ghashgen.verify.search.generalise import Sample
from ghashgen.verify.search.loops import TURNS, turns
from ghashgen.verify.search.power import certificate as power
from ghashgen.verify.search.residues import plain, whole
from ghashgen.verify.search.tail import LENGTH, joined
from ghashgen.verify.search.values import TURN

EMPTY: dict[str, Any] = {"assertions": {}}


def certificate(image: Image, meaning: Function, abi: str) -> dict[str, Any]:
    """Return the first certificate that the rules accept.

    Raises:
        Refutation: there is none.
    """
    refused: Refutation | None = None
    for data in certificates(Checker(image, meaning, {}), abi):
        try:
            Checker(image, meaning, read_certificate(data)).check()
        except Refutation as error:
            refused = error
        else:
            return data
    raise refused or unsupported("search: no invariant of the loop")


def certificates(checker: Checker, abi: str) -> Iterator[dict[str, Any]]:
    """Yield certificates of a function, each of which may or may not be right.

    Raises:
        Refutation: there is a loop of which nothing is understood.
    """
    meaning = checker.meaning
    if not meaning.numbers:
        yield EMPTY
        return
    flow = flow_of(checker, abi)
    if EXPONENT in meaning.numbers:
        yield power(checker, flow)
        return
    found = turns(checker, checker.begin(), checker.entry, sorted(flow.cuts), nested=False)
    if found is None:
        yield EMPTY
        return
    head, states = found
    name, at = "loop", head - checker.entry
    same = {n: n for n in meaning.numbers}
    sources = {"entry": [same | {TURN: "0"}], name: [same | {TURN: f"{TURN}+1"}]}
    loops = []
    samples = [states] if len(states) == TURNS else [states[-TURNS:], states]
    for chosen, loose in product(samples, (False, True)):
        sample = Sample(checker, chosen, flow.live.get(head, frozenset()))
        sample.loose = loose
        one = sample.assertion(at, 1, sources)
        loops += [{"assertions": {name: found}} for found in ways_to_say(one, states[0])]
    # With an assertion behind the loop first: it takes less time to check.
    for data in loops:
        if (more := joined(checker, flow, data, name)) is not None:
            yield more
    yield from loops


def ways_to_say(one: dict[str, Any] | None, state: State) -> list[dict[str, Any]]:
    """Return an assertion as it is, or of every residue where it is of one."""
    if one is None:
        return []
    if LENGTH in one["unknowns"]:
        return [one]
    length: Any = state.ghosts[LENGTH]
    return [found for way in (plain, whole) if (found := way(one, LENGTH, length))]

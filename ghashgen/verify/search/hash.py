"""Finds certificates of a hash's functions: an assertion at the head of a loop over a message."""

from typing import Any

from ghashgen.verify.core.refutation import Refutation, unsupported
from ghashgen.verify.meaning.power import EXPONENT
from ghashgen.verify.rules.assertion import read_certificate
from ghashgen.verify.rules.check import Checker
from ghashgen.verify.rules.meaning import Meaning
from ghashgen.verify.search.generalise import Sample
from ghashgen.verify.search.loops import turns
from ghashgen.verify.search.power import certificate as power
from ghashgen.verify.search.values import TURN
from ghashgen.verify.x86_64.abi import ABIS
from ghashgen.verify.x86_64.elf import Image
from ghashgen.verify.x86_64.flow import flow_of

EMPTY: dict[str, Any] = {"assertions": {}}


def certificate(image: Image, meaning: Meaning, abi: str) -> dict[str, Any]:
    """Return a certificate of a function, which may or may not be right.

    Raises:
        Refutation: none was found.
    """
    if not meaning.numbers:
        return EMPTY
    if EXPONENT in meaning.numbers:
        return power(image, meaning, abi)
    checker = Checker(image, meaning, {})
    flow = flow_of(image, checker.entry, ABIS[abi].saved_numbers)
    found = turns(checker, checker.begin(), checker.entry, sorted(flow.cuts))
    if found is None:
        return EMPTY
    head, states = found
    live = flow.live.get(head, frozenset())
    name, at = "loop", head - checker.entry
    same = {n: n for n in meaning.numbers}
    refused: Refutation | None = None
    sources = {"entry": [same | {TURN: "0"}], name: [same | {TURN: f"{TURN}+1"}]}
    for loose in (False, True):
        sample = Sample(checker, states, live)
        sample.loose = loose
        one = sample.assertion(at, 1, sources)
        if one is None:
            continue
        data = {"assertions": {name: one}}
        try:
            Checker(image, meaning, read_certificate(data)).check()
        except Refutation as error:
            refused = error
            continue
        return data
    raise refused or unsupported("search: no invariant of the loop")

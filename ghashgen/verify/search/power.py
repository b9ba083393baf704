"""Finds certificates of power: one assertion at the head of the loop over the exponent's bits.

From the entry to the head the factor is H, the product is the unit, and a register holds the
exponent. What is the same there and after one turn more is part of the assertion.
"""

from collections.abc import Sequence
from typing import Any

from ghashgen.algebra.ops.forms import variable
from ghashgen.verify.core.numbers import Number, unknown
from ghashgen.verify.core.refutation import unsupported
from ghashgen.verify.core.term import CALLER, OPAQUE, RAW, Term
from ghashgen.verify.core.values import Linear
from ghashgen.verify.meaning.power import EXPONENT, GREATEST_EXPONENT
from ghashgen.verify.rules.check import Checker
from ghashgen.verify.rules.state import State
from ghashgen.verify.search.flow import Flow
from ghashgen.verify.search.generalise import Sample
from ghashgen.verify.search.loops import cases

LEFT = "n"
"""The unknown that is left of the exponent."""

HALVED = f"{EXPONENT}_2"
"""What half of the exponent is called where it is divided by 2."""


class Halving(Sample):
    """The first state at the head, and those after a turn."""

    def __init__(self, checker: Checker, states: Sequence[State], live: frozenset[int]) -> None:
        self.prepare(checker, states, live)

    def number(self, values: Sequence[Number]) -> Number | None:
        """Return a number that stays, or what is left of the exponent."""
        if values[0] == unknown(EXPONENT):
            halved = all(isinstance(v, Linear) and v == unknown(HALVED) for v in values[1:])
            return unknown(LEFT) if halved else None
        return values[0] if all(v == values[0] for v in values) else None

    def _lane(self, values: Sequence[Any]) -> Any:
        first = values[0]
        if any(isinstance(x, Term) and x.deps & (OPAQUE | CALLER | RAW) for x in values):
            return None
        if all(x is first for x in values):
            return self._json(first, 0)
        if isinstance(first, Term) and self.terms.try_form(first) == variable("B1"):
            return ["v", "p"]
        return None

    def value(self, number: int, get: Any, bits: int) -> Any:
        """Return what an assertion says of one place: the product is the unit at first."""
        if bits == 128 and number in self.live:
            values = [get(state) for state in self.states]
            unit = values[0] == self.names.algebra.unit
            if unit and any(v != values[0] for v in values):
                return ["v", "r"]
        return super().value(number, get, bits)

    def facts(self) -> tuple[dict[str, list[int]], list[str], str]:
        """Return ranges; what is left of the exponent falls."""
        low = self.states[0].facts.ranges[EXPONENT][0]
        return {EXPONENT: [0, GREATEST_EXPONENT], LEFT: [low, GREATEST_EXPONENT]}, [], LEFT

    def among(self) -> dict[str, list[int]]:
        """Return no unknown of few values."""
        return {}

    def settle_blocks(self, lanes: Sequence[Term]) -> None:
        """Find no lanes that hold blocks."""

    def _ghosts(self) -> Any:
        return {"power": {"left": LEFT, "factor": "p", "product": "r"}}


def certificate(checker: Checker, flow: Flow) -> dict[str, Any]:
    """Return a certificate of power, which may or may not be right.

    Raises:
        Refutation: none was found.
    """
    heads = frozenset(flow.cuts)
    arrived = [
        (at, state) for at, state in cases(checker, checker.begin(), checker.entry, heads)
        if EXPONENT in state.facts.ranges
    ]  # fmt: skip
    if len(arrived) != 1:
        raise unsupported("search: no one way to the loop over the exponent's bits")
    ((head, first),) = arrived
    after = [s for at, s in cases(checker, first.copy(), head, heads) if at == head]
    sample = Halving(checker, [first, *after], flow.live.get(head, frozenset()))
    same = {EXPONENT: EXPONENT}
    halved = f"{LEFT}_2"
    sources = {"entry": [same | {LEFT: EXPONENT}], "loop": [same | {LEFT: halved}]}
    one = sample.assertion(head - checker.entry, 1, sources)
    return {"assertions": {"loop": one}}

"""What power means: H^m for an exponent m below 2^64, by the bits of m from the lowest up.

The ghosts are a number n, a factor P and a product R: H^m is R·P^n. At the entry n is m, P is H and
R is the unit. The equation goes on where n is halved: with n = 2k + b it is R·P^b times (P·P)^k.
P is a key operand, that is, twisted; R is a register as power's result is.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ghashgen.algebra.ops.forms import VAR_BITS, Form, constant, variable
from ghashgen.verify.core.numbers import combined, parse, times, unknown
from ghashgen.verify.core.refutation import Category, Refutation, unsupported
from ghashgen.verify.meaning.names import Names
from ghashgen.verify.rules.assertion import require_known
from ghashgen.verify.rules.state import Arrival, State

EXPONENT = "exponent"
"""The function's number."""

GREATEST_EXPONENT = (1 << 64) - 1

LEFT, FACTOR, PRODUCT = "power.left", "power.factor", "power.product"
"""The ghosts: n, the variable of P, and the variable of R, "" where it is the unit."""


@dataclass
class Power:
    """What is left of the exponent, and the values that it is an exponent of."""

    names: Names
    name: str = "power"

    def begin(self) -> dict[str, Any]:
        """Return the ghosts at the entry."""
        return {LEFT: unknown(EXPONENT), FACTOR: "B1", PRODUCT: ""}

    def ghosts(self, data: object, unknowns: Mapping[str, object]) -> dict[str, Any]:
        """Return the ghosts of an assertion: {"left": n, "factor": value, "product": value}.

        Raises:
            Refutation: they are of another form.
        """
        match data:
            case {"left": str(n), "factor": str(p), "product": str(r), **rest} if not rest:
                left = parse(n)
                require_known(left, unknowns, "what is left of the exponent")
                if p == r:
                    raise unsupported("a factor that is the product")
                return {LEFT: left, FACTOR: f"u{p}", PRODUCT: f"u{r}"}
        raise unsupported(f"no ghosts of a power: {data!r}")

    def product(self, state: State, bit: int) -> Form:
        """Return the register R·P^bit."""
        algebra = self.names.algebra
        factor, product = state.ghosts[FACTOR], state.ghosts[PRODUCT]
        if not bit:
            return variable(product) if product else constant(algebra.unit, VAR_BITS)
        if not product:
            return algebra.power_result(variable(factor))
        return algebra.multiplied(factor, product)

    def instance(self, arrival: Arrival) -> None:
        """Check an assertion's equation: one bit of the exponent has been dealt with, or none."""
        state, to, where = arrival.state, arrival.to, arrival.where
        now, then, factor = state.ghosts[LEFT], to[LEFT], state.ghosts[FACTOR]
        bit = 0 if now == then else combined(now, times(then, 2), -1)
        if bit not in (0, 1):
            raise unsupported(where + f"{then} is left of {now}, which is no half of it")
        power = variable(factor) if now == then else self.names.algebra.squared(factor)
        for name, wanted in ((to[FACTOR], power), (to[PRODUCT], self.product(state, int(bit)))):
            if self.names.terms.try_form(arrival.value(name)) != wanted:
                raise Refutation(Category.FUNCTION, where + f"{name} is wrong")

    def result(self, state: State) -> Form:
        """Return the register R·P^n at the end, n being 0 or 1.

        Raises:
            Fork: what n is depends on the unknowns.
            Refutation: more of the exponent is left.
        """
        left = state.facts.known(state.ghosts[LEFT])
        if left not in (0, 1):
            raise unsupported(f"a return with {left} left of the exponent")
        return self.product(state, left)

"""What power means: H^m for an exponent m below 2^64, by the bits of m from the lowest up.

The ghosts are a number n, a factor P and a product R: H^m is R·P^n. At the entry n is m, P is H and
R is the unit. The equation goes on where n is halved: with n = 2k + b it is R·P^b times (P·P)^k.
P is a key operand, that is, twisted; R is a register as power's result is.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from ghashgen.algebra.ops.forms import VAR_BITS, Form, constant, variable
from ghashgen.verify.core.numbers import combined, parse, times, unknown
from ghashgen.verify.core.refutation import Category, Refutation, unsupported
from ghashgen.verify.core.term import Term
from ghashgen.verify.core.values import Linear, Value
from ghashgen.verify.meaning.names import Names
from ghashgen.verify.rules.assertion import require_known
from ghashgen.verify.rules.state import State

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

    def begin(self) -> dict[str, object]:
        """Return the ghosts at the entry."""
        return {LEFT: unknown(EXPONENT), FACTOR: "B1", PRODUCT: ""}

    def ghosts(self, data: object, unknowns: Mapping[str, object]) -> dict[str, object]:
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
        factor, product = str(state.ghosts[FACTOR]), str(state.ghosts[PRODUCT])
        if not bit:
            return variable(product) if product else constant(algebra.unit, VAR_BITS)
        if not product:
            return algebra.power_result(variable(factor))
        return algebra.multiplied(factor, product)

    def instance(
        self, state: State, to: Mapping[str, object], bound: Mapping[str, Value], where: str
    ) -> None:
        """Check an assertion's equation: one bit of the exponent has been dealt with, or none."""
        now, then = state.ghosts[LEFT], to[LEFT]
        assert isinstance(now, int | Linear)
        assert isinstance(then, int | Linear)
        factor = str(state.ghosts[FACTOR])
        if now == then:
            self._require(bound, to[FACTOR], variable(factor), where)
            self._require(bound, to[PRODUCT], self.product(state, 0), where)
            return
        bit = combined(now, times(then, 2), -1)
        if bit not in (0, 1):
            raise unsupported(where + f"{then} is left of {now}, which is no half of it")
        self._require(bound, to[FACTOR], self.names.algebra.squared(factor), where)
        self._require(bound, to[PRODUCT], self.product(state, int(bit)), where)

    def _require(self, bound: Mapping[str, Value], name: object, wanted: Form, where: str) -> None:
        value = bound.get(str(name).removeprefix("u"))
        if not isinstance(value, int | Term):
            raise unsupported(where + f"a power of {name}, which is no unknown value")
        if self.names.terms.try_form(value) != wanted:
            raise Refutation(Category.FUNCTION, where + f"{name} is wrong")

    def result(self, state: State) -> Form:
        """Return the register R·P^n at the end, n being 0 or 1.

        Raises:
            Fork: what n is depends on the unknowns.
            Refutation: more of the exponent is left.
        """
        left = state.ghosts[LEFT]
        if isinstance(left, Linear):
            state.facts.near(left)
        if left not in (0, 1):
            raise unsupported(f"a return with {left} left of the exponent")
        return self.product(state, int(left))

"""A function's numbers, and which of them are refused."""

from ghashgen.verify.core.linear import Fork, compared
from ghashgen.verify.core.numbers import Number, combined
from ghashgen.verify.rules.state import State


def outside(state: State, *limits: tuple[Number, int, int]) -> bool:
    """Return whether a number is below or above its limits.

    Raises:
        Fork: that depends on the unknowns.
    """
    open_: Number | None = None
    for n, low, high in limits:
        for wrong in (combined(low - 1, n, -1), combined(n, high + 1, -1)):
            answer = state.facts.below(wrong, 0)
            if answer is False:
                return True
            if answer is None:
                open_ = wrong
    if open_ is not None:
        raise Fork("a length, refused or not", compared(open_))
    return False


def one_of(state: State, name: str, values: frozenset[int]) -> bool:
    """Return whether one of the function's numbers is among some.

    Raises:
        Fork: that depends on the unknowns.
        Refutation: so it does, and not on few values.
    """
    n, facts = state.ghosts[name], state.facts
    possible = any(facts.equals(n, v) is not False for v in values)
    return facts.one_of(n, values) or (possible and facts.known(n) in values)

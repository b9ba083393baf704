"""Finds the loop that takes in a message, by following it for a few turns with unknown lengths.

Of all cases the one with the most freedom goes on: a loop's next turn leaves a length unknown, its
exit does not. A head that one run comes to again and again is where a certificate has an assertion.
"""

from collections import Counter
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from math import log2

from ghashgen.verify.core.linear import Fork
from ghashgen.verify.core.refutation import Refutation, unsupported
from ghashgen.verify.core.values import UndecidedError
from ghashgen.verify.machine.flags import SecretCondition
from ghashgen.verify.machine.machine import END
from ghashgen.verify.rules.check import Checker
from ghashgen.verify.rules.state import State

TURNS = 5
"""Arrivals at a head by which its loop is known."""

MOST_TURNS = 50
"""Turns of a loop over the bytes of a block or the blocks of the largest group, and more."""

MOST_CASES = 400
"""Cases that are followed to find a loop."""

ENOUGH = 150
"""Cases of a message after which no loop is expected, if one has come to its end."""

MOST_WAYS = 2000
"""Cases in which a run may come to one address."""

MOST_ARRIVALS = 200
"""Arrivals at one head in one case: more than any loop needs that is none over a message."""

MOST_STEPS = 50_000
"""Instructions of one case between two questions."""


def _open(states: Sequence[State]) -> bool:
    """Return whether these are turns of a loop over a message: more becomes known of a length, and
    it is as free as before."""
    known = [(s.facts.ranges, s.facts.not_negative) for s in states]
    grows = all(a != b for a, b in pairwise(known))
    return grows and freedom(states[0]) - freedom(states[-1]) < LOSS


def _inner(arrivals: Sequence[tuple[int, State]], head: int) -> bool:
    """Return whether a head that a run comes to again is that of a loop within another one.

    Then the run has come to the other's head, which stands before it, in between.
    """
    for address, _ in reversed(arrivals):
        if address <= head:
            return address < head
    return False


STEP = 16
"""Bits of freedom that make a difference in which way is followed first."""


@dataclass(frozen=True)
class Trail:
    """A run so far: where it stands, and what it was at each head that it came to."""

    state: State
    address: int
    begun: bool
    arrivals: tuple[tuple[int, State], ...]

    @cached_property
    def bits(self) -> int:
        """How much of the lengths is open, in steps: a few cases of a remainder are as open."""
        return int(freedom(self.state)) // STEP

    def at(self, head: int) -> list[State]:
        """Return the states in which it came to a head."""
        return [state for address, state in self.arrivals if address == head]


class Asked(Exception):  # noqa: N818 - how a run goes on
    """A run goes on by the answer to a question about a secret."""

    def __init__(
        self, cases: list[State], at: int, arrivals: tuple[tuple[int, State], ...]
    ) -> None:
        super().__init__()
        self.cases, self.at, self.arrivals = cases, at, arrivals


class Divided(Exception):  # noqa: N818 - how a run goes on
    """A run goes on by cases."""

    def __init__(self, question: Fork, trail: Trail) -> None:
        super().__init__(str(question))
        self.question, self.trail = question, trail


def freedom(state: State) -> float:
    """Return how much of the lengths is open: the bits of all ranges, and of all constraints."""
    facts = state.facts
    widths = [high - low for low, high in facts.ranges.values()]
    widths += [facts.greatest(e) - facts.least(e) for e in facts.not_negative]
    return sum(log2(width + 1) for width in widths)


LOSS = 0.01
"""Bits of freedom that turns of a loop over a message may lose; one over few blocks loses more."""


def turns(
    checker: Checker, state: State, address: int, heads: Sequence[int],
    stops: frozenset[int] = frozenset(), enough: int = MOST_CASES, nested: bool = True,
) -> tuple[int, list[State]] | None:  # fmt: skip
    """Return the first head that a run comes to so often, and its states there; None: it ends.

    The last `TURNS` of them are turns of a loop; those before may be. After `enough` cases one end
    is taken for that of all. `nested`: a loop over a message may have one over AES rounds inside.

    Raises:
        Refutation: no run ends or comes to one.
    """
    work = [Trail(state, address, True, ())]
    refused: Exception | None = None
    ended = False
    for number in range(MOST_CASES):
        if not work or (ended and number >= enough):
            break
        # Of those as free, the latest: one way to its end before another.
        best = max(range(len(work)), key=lambda k: (work[k].bits, k))
        trail = work.pop(best)
        try:
            found = _follow(checker, trail, heads, stops, nested)
        except Divided as divided:
            trail = divided.trail
            cases = (trail.state.within(case) for case in divided.question.cases)
            work += [Trail(case, trail.address, True, trail.arrivals) for case in cases if case]
            continue
        except Asked as asked:
            work += [Trail(s, asked.at, True, asked.arrivals) for s in asked.cases]
            continue
        except (Refutation, UndecidedError) as error:
            refused = refused or error.with_traceback(None)  # It would keep all states.
            continue
        ended = ended or found is None
        if found is not None:
            return found
    if ended:
        return None
    if isinstance(refused, Refutation):
        raise refused
    raise unsupported(f"search: no loop ({refused})")


def _follow(
    checker: Checker, trail: Trail, heads: Sequence[int], stops: frozenset[int], nested: bool
) -> tuple[int, list[State]] | None:
    """Run on from where a trail stands, to its next division."""
    state, address, begun, arrivals = trail.state, trail.address, trail.begun, list(trail.arrivals)
    checker.meaning.entering(state)
    for _ in range(MOST_STEPS):
        if address in stops and not begun:
            return None
        if address in heads and not begun:
            inner = nested and _inner(arrivals, address)
            arrivals.append((address, state.copy()))
            seen = [s for a, s in arrivals if a == address]
            if len(seen) >= TURNS and not inner and _open(seen[-TURNS:]):
                return address, seen
            if len(seen) > MOST_ARRIVALS:
                raise unsupported("search: a loop that takes in nothing", address)
        try:
            address = checker.step(state, address)
        except Fork as question:
            raise Divided(question, Trail(state, address, begun, tuple(arrivals))) from None
        except SecretCondition as asked:
            raise Asked(checker.answers(state, asked), address, tuple(arrivals)) from None
        begun = False
        if address == END:
            return None
    raise unsupported(f"search: no end within {MOST_STEPS} instructions", address)


def onward(
    checker: Checker, state: State, at: int, begun: bool, heads: Collection[int],
    met: Counter[int], goes_on: Callable[[int, bool], bool],
) -> tuple[int, bool, list[State] | None]:  # fmt: skip
    """Run one case as long as it is to go on; return where it is then, whether it still stands
    where it began, and the cases that it divides into there, or None.

    `met` counts how often it comes to a head.

    Raises:
        Refutation: it is refused, too long, or in a loop.
        UndecidedError: likewise.
    """
    checker.meaning.entering(state)
    steps = 0
    try:
        while goes_on(at, begun):
            steps += 1
            if steps > MOST_STEPS:
                raise unsupported(f"search: no end within {MOST_STEPS} instructions", at)
            if at in heads and not begun:
                # A loop within another begins anew at each of its turns.
                for inner in [head for head in met if head > at]:
                    del met[inner]
                met[at] += 1
                if met[at] > MOST_TURNS:
                    raise unsupported("a loop without an assertion", at)
            at = checker.step(state, at)
            begun = False
    except Fork as question:
        return at, begun, state.each(question.cases)
    except SecretCondition as asked:
        return at, begun, checker.answers(state, asked)
    return at, begun, None


def cases(
    checker: Checker,
    state: State,
    address: int,
    stops: frozenset[int],
    heads: frozenset[int] = frozenset(),
) -> list[tuple[int, State]]:
    """Return the states in which a run comes to some addresses, in all its cases.

    A case that comes to one of the heads too often is in a loop over a message, and left out.

    Raises:
        Refutation: of a case, if none comes there; or there are too many.
    """
    out: list[tuple[int, State]] = []
    work = [(state, address, True, Counter[int]())]
    refused: Exception | None = None
    while work:
        if len(work) + len(out) > MOST_WAYS:
            raise unsupported("search: too many ways", address)
        now, at, begun, met = work.pop()
        met = met.copy()
        try:
            at, begun, more = onward(
                *(checker, now, at, begun, heads, met),
                lambda at, begun: at != END and (begun or at not in stops),
            )
        except (Refutation, UndecidedError) as error:
            refused = refused or error.with_traceback(None)  # It would keep all states.
            continue
        if more is not None:
            work += [(case, at, True, met) for case in more]
            continue
        if at != END:
            out.append((at, now))
    if not out and isinstance(refused, Refutation):
        raise refused
    return out

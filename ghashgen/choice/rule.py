"""The rule of every choice: ignore differences below 5%, and take the simpler of equals.

Simpler means a smaller table, then smaller code, then fewer axes not at their defaults, then the
name. So the same figures always give the same choice.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

from ghashgen.records.core import TIE, leaner

Simplicity = tuple[int, int, int, str]
"""Table bytes, code bytes, axes not at their defaults, name: less is simpler."""

T = TypeVar("T")


def level(scored: Mapping[T, float]) -> list[T]:
    """Return the items within the tolerance of the best; lower scores are better."""
    least = min(scored.values())
    return [item for item, value in scored.items() if value < TIE * least or value == least]


def fastest(scored: Mapping[T, float], simplicity: Callable[[T], Simplicity]) -> T:
    """Return the best, or its variant with fewer options if that is equal by the rule."""
    best = min(scored, key=lambda item: (scored[item], simplicity(item)))
    *_, name = simplicity(best)
    twins = [item for item in level(scored) if leaner(simplicity(item)[-1], name)]
    return min(
        twins, key=lambda item: (simplicity(item)[-1].count("_"), scored[item]), default=best
    )


def cover(levels: Sequence[Sequence[T]], simplicity: Callable[[T], Simplicity]) -> tuple[T, ...]:
    """Return one item for each class, among the best there: together the simplest set.

    Every distinct item counts once, because a key has one table for each kernel. First the table
    bytes are minimized, then code bytes, then the other parts of simplicity. A class that several
    items of the set can serve takes the simplest.

    Raises:
        ValueError: a class has no item.
    """
    if not all(levels):
        raise ValueError("a class has nothing to choose from")
    serves: dict[T, int] = {}
    for place, items in enumerate(levels):
        for item in items:
            serves[item] = serves.get(item, 0) | 1 << place
    whole = (1 << len(levels)) - 1
    nothing: tuple[int, int, int, tuple[str, ...]] = (0, 0, 0, ())
    best: dict[int, tuple[tuple[int, int, int, tuple[str, ...]], tuple[T, ...]]] = {
        0: (nothing, ())
    }
    for served in range(whole):
        if served not in best:
            continue
        cost, taken = best[served]
        # Some item must serve the first remaining class.
        first = next(place for place in range(len(levels)) if not served >> place & 1)
        for item in levels[first]:
            table, code, away, name = simplicity(item)
            names = tuple(sorted((*cost[3], name)))
            now = (cost[0] + table, cost[1] + code, cost[2] + away, names)
            then = served | serves[item]
            if then not in best or now < best[then][0]:
                best[then] = (now, (*taken, item))
    chosen = sorted(best[whole][1], key=simplicity)
    return tuple(next(item for item in chosen if item in items) for items in levels)

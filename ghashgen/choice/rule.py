"""The rule of every choice: the least code among the kernels within 5% of the fastest.

After code bytes, equal kernels differ in table bytes, then in axes not at their defaults, then in
name. So the same figures always give the same choice. What a class of lengths is, `classes` says;
which figures count, `choice`. README, results, report, recommend, tune and the dispatcher ask here.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from math import inf
from typing import TypeVar

from ghashgen.choice.classes import geometric_mean
from ghashgen.records.core import TIE

Simplicity = tuple[int, int, int, str]
"""Code bytes, table bytes, axes not at their defaults, name: less is simpler."""

RULE = "the one with the least code among those within 5% of the fastest"
"""The rule in words, for every page and message."""

T = TypeVar("T")


def level(scored: Mapping[T, float]) -> list[T]:
    """Return the items within the tolerance of the best; lower scores are better."""
    least = min(scored.values())
    return [item for item, value in scored.items() if value < TIE * least or value == least]


def score(
    cells: Sequence[tuple[str, int]], cycles: Callable[[str, int], float | None]
) -> float | None:
    """Return the geometric mean of the cycles at these modes and sizes; None if one is unknown."""
    known = []
    for mode, size in cells:
        value = cycles(mode, size)
        if value is None:
            return None
        known.append(value)
    return geometric_mean(known)


def scored(
    items: Iterable[T],
    cells: Sequence[tuple[str, int]],
    cycles: Callable[[T, str, int], float | None],
) -> dict[T, float]:
    """Return the score of each item that has one."""
    found = ((item, score(cells, partial(cycles, item))) for item in items)
    return {item: value for item, value in found if value is not None}


def bounded(
    found: Mapping[T, float],
    cells: Sequence[tuple[str, int]],
    cycles: Callable[[T, str, int], float | None],
    loses: float,
) -> Mapping[T, float]:
    """Return the scored items that take at most `loses` times the least at each mode and size, or
    all, if there is no such item.
    """
    kept = dict(found)
    for cell in cells if loses < inf else ():
        at = {item: cycles(item, *cell) or inf for item in found}
        kept = {item: kept[item] for item in kept if at[item] <= loses * min(at.values())}
    return kept or found


def take(tables: Sequence[Mapping[T, float]], simplicity: Callable[[T], Simplicity]) -> list[T]:
    """Return the item to take in each class, given the scores of each: the rule."""
    return list(cover([level(table) for table in tables], simplicity))


def pays_at(
    cost: float | None, sizes: Iterable[int], cycles: Sequence[Callable[[int], float | None]]
) -> int:
    """Return the bytes after which a table that costs so many cycles pays; 0 if never or unknown.

    `cycles` gives those of a message with the table that is already filled, and with the new one.
    """
    best = 0.0
    for size in sizes:
        slow, fast = (of(size) for of in cycles)
        if cost is None or slow is None or fast is None:
            return 0
        best = max(best, (slow - fast) / size)
    return -(-int(cost / best) // 16) * 16 if cost and best > 0 else 0


def cover(levels: Sequence[Sequence[T]], simplicity: Callable[[T], Simplicity]) -> tuple[T, ...]:
    """Return one item for each class, among the best there: together the simplest set.

    Every distinct item counts once: its code is linked once, and a key has one table of it. First
    the code bytes are minimized, then table bytes, then the other parts of simplicity. A class that
    several items of the set can serve takes the simplest.

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
            code, table, away, name = simplicity(item)
            names = tuple(sorted((*cost[3], name)))
            now = (cost[0] + code, cost[1] + table, cost[2] + away, names)
            then = served | serves[item]
            if then not in best or now < best[then][0]:
                best[then] = (now, (*taken, item))
    chosen = sorted(best[whole][1], key=simplicity)
    return tuple(next(item for item in chosen if item in items) for items in levels)

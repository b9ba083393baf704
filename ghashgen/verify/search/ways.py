"""Where many ways meet: messages are processed by themselves from there, or are asked again."""

from collections import Counter
from collections.abc import Collection
from typing import Any

from ghashgen.verify.core.linear import Fork
from ghashgen.verify.core.refutation import Refutation
from ghashgen.verify.rules.state import State
from ghashgen.verify.search.graph import reached

MANY_WAYS = 8
"""So many ways lead there, at least."""


def ways_to(search: Any) -> Counter[int]:
    """Return how many ways lead to each instruction."""
    return Counter(to for after in search.after.values() for to in after)


def alone(search: Any, state: State, address: int) -> int:
    """Return where a message is processed by itself, if others are in groups; 0 if none are.

    The state is that of the last record, where it begins.
    """
    ways = ways_to(search)
    while ways[address] < MANY_WAYS:
        try:
            address = search.checker.step(state, address)
        except (Fork, Refutation):
            return 0
    return address if search.heads - reached(search.after, address) else 0


def asked(search: Any, one: int, heads: Collection[int]) -> int:
    """Return where many ways meet from which messages are processed by themselves, at `one`, or in
    a group without a loop: of other lengths; 0 if nowhere.
    """
    for at in (at for at, count in ways_to(search).items() if count >= MANY_WAYS and at != one):
        found = reached(search.after, at)
        if one in found and found.isdisjoint(heads):
            return at
    return 0

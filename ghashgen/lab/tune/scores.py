"""Scores: one number for a kernel in a class of lengths, for a use."""

from collections.abc import Mapping, Sequence
from itertools import product

from ghashgen.choice.classes import SizeClass
from ghashgen.choice.questions import Use
from ghashgen.choice.rule import bounded, scored
from ghashgen.lab.store import Figure, Key
from ghashgen.lab.tune.space import Candidate

Figures = Mapping[Key, Figure]
"""Measurements by code or peer's name, mode and size."""


def scores(
    candidates: Sequence[Candidate], figures: Figures, item: SizeClass, use: Use
) -> dict[Candidate, float]:
    """Return the score of every candidate that has one, in core cycles per message."""
    at = [*product(use.modes[0], item.sizes)]
    return scored(candidates, at, lambda c, *where: cycles(figures, c.unit.code, *where))


def within(
    table: Mapping[Candidate, float], figures: Figures, item: SizeClass, use: Use
) -> Mapping[Candidate, float]:
    """Return the candidates that keep the use's bound at each size, or all if none does."""

    def known(candidate: Candidate, mode: str, size: int) -> float | None:
        return cycles(figures, candidate.unit.code, mode, size)

    return bounded(table, [*product(use.modes[0], item.sizes)], known, use.loses)


def cycles(figures: Figures, code: str, mode: str, size: int) -> float | None:
    """Return the core cycles of a code or peer; None if not measured."""
    found = figures.get((code, mode, size))
    return None if found is None else found.cell.cycles


def best_first(table: Mapping[Candidate, float]) -> list[Candidate]:
    """Return candidates, the fastest first; equal ones by simplicity."""
    return sorted(table, key=lambda c: (table[c], c.simplicity))


def best_peer(figures: Figures, item: SizeClass, use: Use, key: int) -> tuple[str, float] | None:
    """Return the peer with the lowest score in a class, and its score.

    For AES-GCM, only peers with this key size; `key` is 0 for GHASH.
    """
    peers = {
        code
        for (code, _, _), figure in figures.items()
        if (figure.kind, figure.key) == ("peer", key)
    }
    at = [*product(use.modes[0], item.sizes)]
    found = scored(sorted(peers), at, lambda name, *where: cycles(figures, name, *where))
    best = min(found, key=lambda name: (found[name], name), default=None)
    return None if best is None else (best, found[best])

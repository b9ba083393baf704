"""Scores: one number for a kernel in a class of lengths, for a use."""

from collections.abc import Mapping, Sequence

from ghashgen.choice.classes import SizeClass, geometric_mean
from ghashgen.choice.questions import Use
from ghashgen.lab.tune.space import Candidate
from ghashgen.lab.tune.store import Figure, Key

Figures = Mapping[Key, Figure]
"""Measurements by code or peer's name, mode and size."""


def score(figures: Figures, code: str, item: SizeClass, use: Use) -> float | None:
    """Return a code's score in core cycles per message; None if a cell has no figure.

    It is the geometric mean over the modes that decide the use and the sizes of the class.
    """
    wanted = [(code, mode, size) for mode in use.modes[0] for size in item.sizes]
    cycles = [figures[key].cell.cycles for key in wanted if key in figures]
    return geometric_mean(cycles) if len(cycles) == len(wanted) else None


def scores(
    candidates: Sequence[Candidate], figures: Figures, item: SizeClass, use: Use
) -> dict[Candidate, float]:
    """Return the score of every candidate that has one."""
    found = {c: score(figures, c.unit.code, item, use) for c in candidates}
    return {c: value for c, value in found.items() if value is not None}


def best_first(scored: Mapping[Candidate, float]) -> list[Candidate]:
    """Return candidates, the fastest first; equal ones by simplicity."""
    return sorted(scored, key=lambda c: (scored[c], c.simplicity))


def best_peer(figures: Figures, item: SizeClass, use: Use, key: int) -> tuple[str, float] | None:
    """Return the peer with the lowest score in a class, and its score.

    For AES-GCM, only peers with this key size; `key` is 0 for GHASH.
    """
    peers = {
        code
        for (code, _, _), figure in figures.items()
        if (figure.kind, figure.key) == ("peer", key)
    }
    found = [
        (value, name)
        for name in sorted(peers)
        if (value := score(figures, name, item, use)) is not None
    ]
    return (min(found)[1], min(found)[0]) if found else None

"""Scores: one number for a kernel in a class of lengths."""

from collections.abc import Mapping, Sequence

from ghashgen.choice.classes import SizeClass, geometric_mean
from ghashgen.lab.tune.space import Candidate
from ghashgen.lab.tune.store import Figure, Key


def score(figures: Mapping[Key, Figure], code: str, item: SizeClass) -> float | None:
    """Return a code's score in core cycles per message; None where a size has no figure."""
    found = [figures.get((code, "throughput", size)) for size in item.sizes]
    cycles = [figure.cell.cycles for figure in found if figure is not None]
    return geometric_mean(cycles) if len(cycles) == len(item.sizes) else None


def scores(
    candidates: Sequence[Candidate], figures: Mapping[Key, Figure], item: SizeClass
) -> dict[Candidate, float]:
    """Return the score of every candidate that has one."""
    found = {c: score(figures, c.unit.code, item) for c in candidates}
    return {c: value for c, value in found.items() if value is not None}


def best_first(scored: Mapping[Candidate, float]) -> list[Candidate]:
    """Return candidates, the fastest first; equal ones by simplicity."""
    return sorted(scored, key=lambda c: (scored[c], c.simplicity))


def best_peer(figures: Mapping[Key, Figure], item: SizeClass) -> tuple[str, float] | None:
    """Return the peer with the lowest score in a class, and its score."""
    names = sorted({code for (code, _, _), figure in figures.items() if figure.kind == "peer"})
    found = [(value, name) for name in names if (value := score(figures, name, item)) is not None]
    return (min(found)[1], min(found)[0]) if found else None

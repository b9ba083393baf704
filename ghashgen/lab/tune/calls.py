"""The emulated calls that stand for a mode of measuring; each family brings its own.

A mode and a size (a cell) give one result or several: everything that is executed for it.
"""

from collections.abc import Callable, Sequence

from ghashgen.kernels.core import Point
from ghashgen.lab.tune.goals import Cell
from ghashgen.run.arguments import Values
from ghashgen.run.emulate import CallResult

Made = Callable[[str, Sequence[Values]], Sequence[CallResult]]
"""(exported function, the values of each call) → what each did."""

Calls = Callable[[Made, Point, Sequence[Cell]], list[list[CallResult]]]
"""The results of each cell's calls; repeated results occur as often as they are made."""


def by_size(
    made: Made, function: str, known: Values, cells: Sequence[Cell]
) -> list[list[CallResult]]:
    """Return the results of cells whose sizes alone matter: one call of a function for each."""
    sizes = list(dict.fromkeys(size for _, size in cells))
    answers = made(function, [{**known, "in": bytes(size)} for size in sizes])
    done = dict(zip(sizes, answers, strict=True))
    return [[done[size]] for _, size in cells]

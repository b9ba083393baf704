"""What a sweep decides for GHASH, and the calls that stand for its modes."""

from collections.abc import Sequence

from ghashgen.algebra.field.bitorder import BLOCK_BYTES
from ghashgen.algebra.schemes.aggregate import MAX_BLOCKS
from ghashgen.choice.families.hash import QUESTION
from ghashgen.kernels.core import Point
from ghashgen.lab.bench.families.hash import CONTEST
from ghashgen.lab.tune.calls import Made, by_size
from ghashgen.lab.tune.goals import Cell, Goal
from ghashgen.run.emulate import CallResult

GOAL = Goal(
    CONTEST,
    uses=QUESTION.by_length,
    fixed={"op": "ghash", "wipe": False},
    whole={"blocks": tuple(range(1, MAX_BLOCKS + 1))},
)
"""Kernels for messages of each length."""


def calls(made: Made, kernel: Point, cells: Sequence[Cell]) -> list[list[CallResult]]:
    """Return the results of each cell's calls."""
    (init,) = made("init", [{"h": bytes(range(1, BLOCK_BYTES + 1))}])
    known = {"table": init.buffers["table"], "x": bytes(BLOCK_BYTES)}
    return by_size(made, "update", known, cells)

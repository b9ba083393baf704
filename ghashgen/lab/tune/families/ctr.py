"""What a sweep decides for AES-CTR, and the calls that stand for its mode."""

from collections.abc import Sequence

from ghashgen.algebra.field.bitorder import BLOCK_BYTES
from ghashgen.choice.families.ctr import QUESTION
from ghashgen.kernels.aes.axes import BLOCKS, ROUND_KEYS
from ghashgen.kernels.core import Keyed, Point
from ghashgen.lab.bench.families.ctr import CONTEST
from ghashgen.lab.tune.calls import Made, by_size
from ghashgen.lab.tune.goals import Cell, Goal
from ghashgen.run.emulate import CallResult

GOAL = Goal(
    CONTEST,
    uses=QUESTION.dispatched,
    fixed={"wipe": False},
    whole={axis.name: tuple(axis.values()) for axis in (BLOCKS, ROUND_KEYS)},
)
"""Kernels for each use."""


def calls(made: Made, kernel: Point, cells: Sequence[Cell]) -> list[list[CallResult]]:
    """Return the results of each cell's calls."""
    if not isinstance(kernel, Keyed):
        raise AssertionError("a kernel of AES-CTR has a key")
    (init,) = made("init", [{"key": bytes(range(kernel.key_bytes))}])
    known = {"ctx": init.buffers["ctx"], "counter": bytes(BLOCK_BYTES)}
    return by_size(made, "crypt", known, cells)

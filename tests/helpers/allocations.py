"""What the tests of the allocator and of its re-check share."""

from collections.abc import Callable

import pytest

from ghashgen.arch.registry import isas
from ghashgen.ir.builder import Builder
from ghashgen.ir.program import Mem, Op, PReg, Program, RegClass, VReg

AVX = isas()["avx"]
both = pytest.mark.parametrize("isa", [isas()["avx"], isas()["sse"]], ids=["avx", "sse"])
"""Runs a test on three-operand and on destructive instructions."""


def xmm(number: int) -> PReg:
    return PReg(RegClass.VEC, number)


def positions(program: Program, wanted: Callable[[Op], bool]) -> list[int]:
    return [i for i, op in enumerate(program.ops) if wanted(op)]


def early_branch() -> tuple[Program, VReg, VReg]:
    """A branch in the middle of a block, after which x, live at its target, is set anew."""
    b = Builder("early", ("in", "count"))
    source, count = b.params
    x = b.variable(b.load(Mem(base=source)), "x")
    y = b.load(Mem(base=source, disp=16))
    b.branch("below", count, 2, "out")
    b.assign(x, b.swap64(y))
    b.label("out")
    b.store(Mem(base=source, symbol="x"), x)
    return b.program(), x, y

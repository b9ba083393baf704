"""What the tests of the allocator and of its re-check share."""

from collections.abc import Callable

import pytest

from ghashgen.arch.registry import isas
from ghashgen.ir.program import Op, PReg, Program, RegClass

AVX = isas()["avx"]
both = pytest.mark.parametrize("isa", [isas()["avx"], isas()["sse"]], ids=["avx", "sse"])
"""Runs a test on three-operand and on destructive instructions."""


def xmm(number: int) -> PReg:
    return PReg(RegClass.VEC, number)


def positions(program: Program, wanted: Callable[[Op], bool]) -> list[int]:
    return [i for i, op in enumerate(program.ops) if wanted(op)]

"""An object that the prover accepted, and what is needed to run it: the input of a family's
trials.
"""

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from ghashgen.check.validation.runners import Emulated, Runner
from ghashgen.kernels.core import Point
from ghashgen.run.built import Built
from ghashgen.run.emulate import Emulator
from ghashgen.run.harness import Harness

K_co = TypeVar("K_co", bound=Point, covariant=True)

AT_ONCE = 512
"""Calls made before their answers are checked."""


@dataclass(frozen=True)
class Accepted(Generic[K_co]):
    """An object that stands in for a kernel's own."""

    built: Built[K_co]
    harness: Harness
    runner: Runner
    """Runs it on this CPU, or in an emulator."""
    emulator: Emulator
    """Always an emulator, whatever the CPU."""
    rng: random.Random
    """The source of everything random."""
    brief: bool = False
    """Whether fewer calls are asked for."""

    @property
    def few(self) -> bool:
        """Whether fewer calls are made: they are slow, or it is asked for."""
        return self.brief or isinstance(self.runner, Emulated)


Trials = Callable[[Accepted[Any]], Iterator[tuple[int, str]]]
"""The type of `Family.trials`: yields, after every few calls, their number and what was wrong with
one, or "".
"""

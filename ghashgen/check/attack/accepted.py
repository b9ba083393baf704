"""An object that the prover accepted, with what runs it: what a family's trials are given."""

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
"""Calls that are made before their answers are looked at."""


@dataclass(frozen=True)
class Accepted(Generic[K_co]):
    """An object in the place of a kernel's own."""

    built: Built[K_co]
    harness: Harness
    runner: Runner
    """On this CPU, or in an emulator."""
    emulator: Emulator
    """Whatever the CPU."""
    rng: random.Random
    """What is drawn, is drawn from it."""

    @property
    def few(self) -> bool:
        """Whether calls take so long that fewer are made."""
        return isinstance(self.runner, Emulated)


Trials = Callable[[Accepted[Any]], Iterator[tuple[int, str]]]
"""What a family has for `trials`: yields after every few calls how many they were, and what was
wrong with one, "" if nothing."""

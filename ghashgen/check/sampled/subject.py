"""What is sampled (an object, its functions, their degrees) and the result."""

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from ghashgen.algebra.field.bitorder import BLOCK_BYTES, Order
from ghashgen.check.sampled import degrees
from ghashgen.check.sampled.cells import Cell, cell
from ghashgen.check.sampled.points import Structure
from ghashgen.kernels.families import functions_of
from ghashgen.kernels.hash.kernel import Kernel
from ghashgen.run.built import Built
from ghashgen.run.emulate.image import load_object

SEED = "1"
"""Default seed of the points."""

BITS = 128
"""The goal: to miss a wrong function with probability at most 2^-BITS."""

QUICK_BITS = 40
"""The same for a quick run."""

_FEW_BITS = 4
_ARGUMENTS = {
    "table": degrees.TABLE,
    "state": degrees.STATE,
    "input": degrees.INPUT,
    "addend": degrees.ADDEND,
    "factor": degrees.FACTOR,
}
SAMPLED = ("update", "mul", "combine")
"""The functions that are sampled; the degree of `init` and `power` grows with the power of H."""


@dataclass(frozen=True)
class Function:
    """An exported function: its symbol, its parameters in order, and the form of its length."""

    symbol: str
    parameters: tuple[str, ...]
    multiple: int = 1
    """Lengths are multiples of this many bytes,"""
    unit: int = 1
    """and are passed in units of this many."""

    def arguments(self, length: int) -> list[int]:
        """Return the arguments that `degrees` passes for a message of `length` bytes."""
        return [length // self.unit if p == "length" else _ARGUMENTS[p] for p in self.parameters]


@dataclass(frozen=True)
class Subject:
    """An object and what its functions should be."""

    name: str
    obj: Path
    abi: str
    op: str
    order: Order
    structure: Structure
    cells: tuple[Cell, ...]
    table_bytes: int
    functions: Mapping[str, Function]
    """Those of update, mul and combine that it has, by operation."""

    @property
    def bound(self) -> int:
        """The largest length to run, in bytes."""
        return self.structure.longest

    @property
    def lengths(self) -> range:
        """The lengths to run update at."""
        update = self.functions.get("update")
        return range(0, self.bound + 1, update.multiple) if update else range(0)

    @property
    def top(self) -> int:
        """The highest power in the table or a group."""
        return max(self.structure.blocks, *(c.power for c in self.cells))


def structure_of(kernel: Kernel) -> Structure:
    """Return how a kernel of this project cuts a message, from its axes.

    Byte swap through the stack, powers in registers, pipelining and schedules do not change it.
    """
    return Structure(kernel.blocks, kernel.lane_count if kernel.fold == "end" else 1)


def subject_of(built: Built[Kernel]) -> Subject:
    """Return a kernel of this project as a subject."""
    kernel = built.kernel
    exported = functions_of(kernel)
    return Subject(
        name=kernel.name,
        obj=built.obj,
        abi=built.abi,
        op=kernel.op,
        order=kernel.bit_order,
        structure=structure_of(kernel),
        cells=tuple(cell(text) for text in kernel.layout.cells),
        table_bytes=kernel.table_bytes,
        functions={
            name: Function(f"{built.symbol}_{name}", exported[name].roles)
            for name in SAMPLED
            if name in exported
        },
    )


@dataclass(frozen=True)
class Plan:
    """Degrees of a subject's functions."""

    update: Mapping[int, int]
    """By length."""
    mul: int | None
    combine: int | None
    instructions: Mapping[int, int] = field(default_factory=dict)
    """Instructions that one point takes over all functions and lengths of a degree, by degree."""

    @property
    def highest(self) -> int:
        """The greatest degree."""
        return max([*self.update.values(), self.mul or 0, self.combine or 0])

    def calls(self) -> Iterable[tuple[str, int]]:
        """Yield every function, "update of 5 bytes" or "mul", and its degree."""
        yield from ((f"update of {length} bytes", d) for length, d in self.update.items())
        yield from ((n, d) for n, d in (("mul", self.mul), ("combine", self.combine)) if d)


def plan(subject: Subject) -> Plan:
    """Return the degrees of the difference between what the bytes compute and the right result.

    Raises:
        Refused: the degree of the bytes cannot be determined (see `degrees`).
    """
    image = load_object(subject.obj)
    table = [c.degree for c in subject.cells]
    table += [1] * (subject.table_bytes // BLOCK_BYTES - len(table))
    paths = degrees.Degrees(image, subject.abi, degrees.Table(tuple(table)), subject.bound)
    instructions: Counter[int] = Counter()

    def of(name: str, length: int, right: int) -> int:
        function = subject.functions[name]
        found = paths.of(function.symbol, function.arguments(length))
        degree = max(right, found.degree)
        instructions[degree] += found.instructions
        return degree

    def product(name: str) -> int | None:
        return of(name, 0, 2) if name in subject.functions else None

    update = {n: of("update", n, subject.structure.degree(n)) for n in subject.lengths}
    return Plan(update, product("mul"), product("combine"), dict(instructions))


def points_for(degree: int, bits: float = BITS) -> int:
    """Return how many points miss a wrong function with probability at most 2^-bits."""
    return math.ceil(bits / bits_of_a_point(degree))


def bits_of_a_point(degree: int) -> float:
    """Return by how many bits a point lowers the probability of missing a wrong function."""
    return -math.log1p(-(2.0**-degree)) / math.log(2)


@dataclass(frozen=True)
class Sampled:
    """What was run at random points for one kernel, and the result."""

    name: str
    how: str
    calls: int
    bits: float
    """At each length, a wrong function is missed with probability at most 2^-bits; the least of
    these.
    """
    weakest: str
    """The function with this bound, "update of 33 bytes"."""
    degree: int
    """The greatest degree."""
    failures: tuple[str, ...] = ()

    @property
    def ok(self) -> bool:
        """Whether everything agreed."""
        return not self.failures

    @property
    def bound(self) -> str:
        """The probability as text: 2^-128, or 0.97 if it is large."""
        # Rounded towards the weaker statement.
        if self.bits >= _FEW_BITS:
            return f"2^-{math.floor(self.bits)}"
        return f"{math.ceil(1000 * 2**-self.bits) / 1000:.3f}"


def least_bits(plan: Plan, count: Callable[[int], int]) -> tuple[float, str]:
    """Return the least bits over all functions and lengths, and where."""
    return min((count(d) * bits_of_a_point(d), what) for what, d in plan.calls())

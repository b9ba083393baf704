"""schedule: the order of independent operations. One order so far: as written.

`aggregate.group` already writes a group so that its products do not wait for the reduction of the
group before it; an out-of-order core finds the rest. Orders are a table: a new one is a new entry.
"""

from collections.abc import Callable, Mapping
from types import MappingProxyType

from ghashgen.ir import Program


def as_written(program: Program) -> Program:
    """Return the program unchanged."""
    return program


ORDERS: Mapping[str, Callable[[Program], Program]] = MappingProxyType({"as-written": as_written})
"""Scheduling orders by name."""


def schedule(program: Program, order: str = "as-written") -> Program:
    """Return the program with its operations in the named order."""
    return ORDERS[order](program)

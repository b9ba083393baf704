"""Buffers as the caller declares them: bounds, permissions, alignment, what they hold at first."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from ghashgen.verify.core.term import Lane
from ghashgen.verify.core.values import UNKNOWN

Cell = Callable[[int], Lane | None]
"""The initial content of the 16 bytes at 16·index of a region, None where nothing is there."""


class Access(Enum):
    """What a function may do with a buffer."""

    READ = "read"
    UPDATE = "read and written"
    WRITE = "written; read where it has been"
    OUTPUT = "each byte gets one value; read where it has been written"
    REPLACE = "read; each byte gets one value, and is read as that from then on"


UNREADABLE = (Access.WRITE, Access.OUTPUT)
"""Of these, nothing can be read that has not been written."""

ONCE = (Access.OUTPUT, Access.REPLACE)
"""Of these, a byte that has been written may be written again only as it is: overlapping stores."""


@dataclass
class Region:
    """A declared buffer: bytes [low, size) from its start, whose address is residue mod align."""

    name: str
    low: int
    size: int | UNKNOWN
    access: Access
    cell: Cell
    align: int = 1
    residue: int = 0
    unresolved: Mapping[int, str] = field(default_factory=dict)
    """Bytes that only a linker knows, and why."""
    content: Callable[[Any, Any], Lane | None] | None = None
    """Instead of `cell`: the initial content by memory and absolute place, a multiple of 16."""
    done: int | UNKNOWN | None = None
    """Up to where it is as it should be at the end: a store before that is refused."""

"""Buffers as the caller declares them: bounds, permissions, alignment, initial content."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from ghashgen.verify.core.numbers import Number
from ghashgen.verify.core.term import Lane
from ghashgen.verify.core.values import M64, UndecidedError, Value

Content = Callable[[Any, Any], Lane | None]
"""The initial content of 16 bytes of a region by memory and place, a multiple of 16; None if there
is none.
"""

ROUNDED = "rounded beyond its known alignment"
"""Why a question about an address is not decided."""


class Access(Enum):
    """What a function may do with a buffer."""

    READ = "read"
    UPDATE = "read and written"
    WRITE = "written; read where it has been"
    OUTPUT = "each byte gets one value; read where it has been written"
    ANOTHER = "of another message: whatever is read, checked in the run of that message"


@dataclass(frozen=True)
class Region:
    """A declared buffer: bytes [low, size) from its start, whose address is residue mod align."""

    name: str
    low: Number
    size: Number
    access: Access
    content: Content
    align: int = 1
    residue: int = 0
    unresolved: Mapping[int, str] = field(default_factory=dict)
    """Bytes that only a linker knows, and why."""
    done: Number | None = None
    """The finished part: a store before this is refused."""
    promised: Callable[[], None] = lambda: None
    """Refuses where the caller does not promise that there is this buffer."""
    over: str = ""
    """A buffer that may be this one: what is read here must not have been written there."""
    other: Callable[[Any, Any, int, bool], Value | None] | None = None
    """Says what bytes hold that are another message's, by memory, place, size and whether they are
    written, which is forgotten; None where they are not."""


def mask_pointer(region: Region, offset: Number, mask: int) -> int:
    """Return the offset of (start + offset) AND mask, for a mask that rounds down.

    Raises:
        UndecidedError: the region's declared alignment does not determine it.
    """
    step = (mask ^ M64) + 1
    if step & step - 1 or not isinstance(offset, int) or region.align % step:
        raise UndecidedError(f"an address in {region.name} {ROUNDED}")
    return ((offset + region.residue) & ~(step - 1)) - region.residue

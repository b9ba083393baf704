"""The emulated address space, the same for every process and every run.

Addresses depend only on the object and on a buffer's index, length, and writability, never on what
the worker ran before. Each buffer has a separate window of 2 MiB in which only the pages that it
needs are mapped, so both neighbours of a buffer's pages are always unmapped.
"""

from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from ghashgen.support.errors import GhashgenError

PAGE = 4096
WINDOW = 1 << 21
MAX_BUFFER_PAGES = WINDOW // PAGE - 2
MAX_BUFFERS = 128

# Below 2 GiB, so that R_X86_64_32 and R_X86_64_32S fit as in a non-PIE program.
IMAGE_BASE = 0x0040_0000
IMAGE_LIMIT = 0x4000_0000

# One PML4 entry (512 GiB) each: the image, the buffers, and the stack with the stubs.
BUFFER_BASE = 1 << 39
PRIVATE_BASE = 2 << 39

STACK_PAGES = 16
STACK_TOP = PRIVATE_BASE + WINDOW
STACK_BOTTOM = STACK_TOP - STACK_PAGES * PAGE

STUB_CODE = PRIVATE_BASE + 0x4000_0000
# The exit stub, which is the return address of every call.
RETURN_ADDRESS = STUB_CODE + 2048
STUB_IN = STUB_CODE + 0x10_0000
STUB_OUT = STUB_IN + PAGE
STUB_SCRATCH = STUB_OUT + PAGE

Place = Literal["end", "start"]


@dataclass(frozen=True)
class Span:
    """A buffer's place: `base` is the address of its first byte, `pages_at` of its first page."""

    index: int
    base: int
    length: int
    pages_at: int
    pages: int
    writable: bool

    @property
    def window(self) -> range:
        """All addresses that only a miss of this buffer can reach."""
        return range(self.pages_at - PAGE, self.pages_at - PAGE + WINDOW)


@lru_cache(maxsize=4096)
def place_buffer(index: int, length: int, writable: bool, place: Place, offset: int) -> Span:
    """Return the place of buffer number `index` of a call.

    `place` "end" puts the last byte `offset` bytes before the following unmapped page, "start" puts
    the first byte `offset` bytes after the preceding one. A buffer of length zero still gets a
    page,
    so that its address is mapped on one side.

    Raises:
        GhashgenError: there are more than `MAX_BUFFERS` buffers, or a buffer exceeds its window.
    """
    if index >= MAX_BUFFERS:
        raise GhashgenError(f"more than {MAX_BUFFERS} buffers in one call", "merge some of them")
    if place not in ("end", "start") or offset < 0:
        raise GhashgenError(
            f"buffer placement {place!r} with offset {offset}",
            "use 'end' or 'start' and an offset of at least 0",
        )
    pages = max(1, -(-(length + offset) // PAGE))
    if pages > MAX_BUFFER_PAGES:
        raise GhashgenError(
            f"a buffer of {length} bytes does not fit the emulator's window of 2 MiB",
            f"use at most {MAX_BUFFER_PAGES * PAGE} bytes, offset included",
        )
    pages_at = BUFFER_BASE + (index << 32) + (writable << 31) + pages * WINDOW + PAGE
    base = pages_at + (pages * PAGE - offset - length if place == "end" else offset)
    return Span(index, base, length, pages_at, pages, writable)

"""An object file as an image: its code, its constants, their references, and what it is for.

An address is a section and an offset. The linker and the loader place sections, so all that is
known of a section's address is its alignment. What refers from one section to another is a `Link`.
Sections also have numbers here, `Section.address`: they name places of code for the decoder, and
are no value of the machine.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum, auto

from ghashgen.support.errors import GhashgenError
from ghashgen.verify.core.values import Pointer
from ghashgen.verify.machine.target import Target

SECTION = "section "
"""The prefix of region names that are sections, and of no others."""


class Kind(Enum):
    """A section's role in the proof."""

    CODE = auto()
    CONSTANTS = auto()
    """Read-only, allocated, kept as it is: the one kind that loads may read."""
    UNUSED = auto()
    """Allocated, but neither executed nor read: writable data, notes, unwind tables."""
    NOT_LOADED = auto()


@dataclass(frozen=True)
class Link:
    """A place in a section that a 4-byte field refers to, relative to the field."""

    section: str
    offset: int
    branch: bool
    """Whether only a jump or a call may have it (PLT32)."""


@dataclass(frozen=True)
class Section:
    """One allocated section, with a unique name."""

    name: str
    address: int
    data: bytes
    kind: Kind
    align: int
    links: Mapping[int, Link] = field(default_factory=dict)
    """By the field's offset."""
    unresolved: Mapping[int, str] = field(default_factory=dict)
    """Offsets of bytes that only a linker knows, and why."""
    entry_bytes: int = 0
    """The size of each entry of mergeable constants. One entry's place says nothing of the others'.
    """

    def entries(self) -> Iterator["Section"]:
        """Yield what stays together in any link: the section, or each entry of it."""
        if not self.entry_bytes:
            yield self
            return
        align = min(self.align, self.entry_bytes)
        for start in range(0, len(self.data), self.entry_bytes):
            data = self.data[start : start + self.entry_bytes]
            name = f"{self.name}+{start:#x}"
            yield Section(name, self.address + start, data, self.kind, align)

    def place(self, value: int, addend: int) -> tuple[str, int]:
        """Return a symbol's section or entry, and the place from there.

        A linker moves the symbol with its entry; the addend does not change.
        """
        if not self.entry_bytes:
            return self.name, value + addend
        start = value - value % self.entry_bytes
        return f"{self.name}+{start:#x}", value + addend - start

    @property
    def region(self) -> str:
        """Return the region of pointers into the section."""
        return SECTION + self.name

    def content(self, memory: object, at: int) -> int:
        """Return the 16 bytes at a place, with zeros after the end."""
        return int.from_bytes(self.data[at : at + 16], "little")


@dataclass(frozen=True)
class Image:
    """Sections by ascending address, and symbols: name -> address."""

    target: Target
    """What its code is for."""
    sections: tuple[Section, ...]
    symbols: dict[str, int]
    exported: frozenset[str] = frozenset()
    """The symbols in code that others can call, each defined once."""
    features: frozenset[str] = frozenset()
    """What the object's notes promise: "IBT", "SHSTK"."""
    operands: dict[int, Pointer] = field(default_factory=dict, compare=False, repr=False)
    """The target of each decoded instruction's relative operand, by the instruction's address."""

    def section(self, address: int) -> Section | None:
        """Return the section that holds the code at an address."""
        for section in self.sections:
            if section.address <= address < section.address + len(section.data):
                return section
        return None

    def named(self, name: str) -> Section:
        """Return a section, or an entry of one, by its name."""
        return next(section for section in self.sections if section.name == name)

    def symbol(self, name: str) -> int:
        """Return a function's address.

        Raises:
            GhashgenError: the object does not define it for others to call.
        """
        if name not in self.exported:
            raise GhashgenError(
                f"no symbol {name!r} in the object that is global and in code",
                f"it has {', '.join(sorted(self.exported)) or 'none'}",
            )
        return self.symbols[name]

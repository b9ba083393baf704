"""A kernel in a host's layout: AES-GCM's text and hash for keys of every size."""

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

from ghashgen.arch.rows import Isa
from ghashgen.kernels import core
from ghashgen.kernels.aes.cipher import ROUNDS
from ghashgen.kernels.axes import Refusals, name_of, require_valid
from ghashgen.kernels.gcm.kernel import GcmKernel, Hashing
from ghashgen.kernels.given import axes
from ghashgen.kernels.given.interface import Interface, interfaces
from ghashgen.kernels.hash.kernel import Layout, table_layout


class _Hashing(Hashing):
    """The GHASH part: its table has a group's powers and no more."""

    padded = False

    @cached_property
    def layout(self) -> Layout:
        """The layout of the table."""
        return table_layout(self, self.blocks)


class _Reversing(_Hashing):
    """The same with a state whose bytes are reversed in memory, and zeros behind the powers."""

    reverses, padded = True, True


class Sized(GcmKernel):
    """The text of a key of one size. The round keys begin the host's schedule."""

    hashing: ClassVar[type[_Hashing]] = _Hashing

    @cached_property
    def hash(self) -> Hashing:
        """The GHASH part."""
        own = (self.isa, self.multiply, self.reduce, self.blocks)
        return self.hashing(*own, wipe=self.wipe, schedule=self.schedule)

    @property
    def keys_at(self) -> int:
        """Bytes of the schedule before the round keys."""
        return 0


class _SizedReversing(Sized):
    """The same where state and counter block have their bytes reversed in memory."""

    hashing = _Reversing


@dataclass(frozen=True)
class GivenKernel:
    """One variant: a valid combination of axes.

    Raises:
        GhashgenError: the combination is invalid; names the axis, the reason and what to choose
            instead.
    """

    family: ClassVar[str] = "given"
    """See `kernels.given.family`."""

    interface: str
    isa: str
    multiply: str
    reduce: str
    blocks: int
    schedule: str = axes.SCHEDULE.default
    wipe: bool = axes.WIPE.default

    def __post_init__(self) -> None:
        require_valid(axes.AXES, self, _refusals(self))

    @cached_property
    def name(self) -> str:
        """Derived from the axes; an axis at its default adds nothing."""
        return f"given_{name_of(axes.AXES, self)}"

    @property
    def host(self) -> Interface:
        """The host's interface."""
        return interfaces()[self.interface]

    def sized(self, bits: int) -> Sized:
        """Return the text of a key of so many bits."""
        own = (bits, self.isa, self.multiply, self.reduce, self.blocks)
        kind = _SizedReversing if self.host.reverses else Sized
        return kind(*own, wipe=self.wipe, schedule=self.schedule, messages=False)

    @cached_property
    def hash(self) -> Hashing:
        """The GHASH part."""
        return self.sized(max(ROUNDS)).hash

    @property
    def instruction_set(self) -> Isa:
        """The instruction set."""
        return self.hash.instruction_set

    @property
    def widest(self) -> int:
        """Lanes of the widest register in use."""
        return self.hash.widest

    @property
    def layout(self) -> core.Layout:
        """The layout of the table."""
        return self.hash.layout

    @property
    def best_align(self) -> int:
        """Alignment of the table, in bytes, at which no load of a group crosses a cache line."""
        return self.hash.best_align


def _refusals(kernel: GivenKernel) -> Refusals:
    host = kernel.host
    yield (
        kernel.isa not in host.isas,
        f"{host.title} has no symbols for isa {kernel.isa!r}",
        f"choose isa {' or '.join(host.isas)}",
    )
    yield (
        kernel.layout.size > host.table_bytes,
        f"the table takes {kernel.layout.size} bytes, and {host.title} has {host.table_bytes}",
        "choose fewer blocks, or multiply schoolbook, which has the smallest table",
    )
    yield (
        host.cells not in ((), kernel.layout.cells),
        f"{host.title} uses the table too, and it has {' '.join(kernel.layout.cells)}",
        f"choose a scheme and blocks with {' '.join(host.cells)}",
    )

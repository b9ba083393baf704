"""The text of a call: where it is read and written, and the cipher over whole registers."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

from ghashgen.algebra.field.bitorder import BLOCK_BYTES
from ghashgen.arch.rows import Isa
from ghashgen.ir.builder import Builder
from ghashgen.ir.program import Mem, VReg
from ghashgen.kernels.aes.cipher import AesKernel, RoundKeys, add_text, rounds
from ghashgen.kernels.aes.counters import Counters

IN_TEXT = "text"
"""The region of both texts (`ir.program.Mem`). They may be one, and overlap nothing else."""


class TextKernel(AesKernel, Protocol):
    """What a text needs to know of a kernel."""

    @property
    def instruction_set(self) -> Isa:
        """The instruction set."""

    @property
    def blocks(self) -> int:
        """Blocks in a group."""

    @property
    def registers(self) -> int:
        """Registers that hold the blocks of a group."""

    @property
    def held_keys(self) -> int:
        """Round keys in registers."""


K = TypeVar("K", bound=TextKernel)


@dataclass(frozen=True)
class Place(Generic[K]):
    """Where a text is read and written, and the keys for it."""

    b: Builder
    kernel: K
    context: VReg
    keys: RoundKeys
    source: VReg
    out: VReg
    length: VReg

    def at(self, base: VReg, offset: int = 0) -> Mem:
        """Return a place in a text."""
        return Mem(base=base, disp=offset, within=IN_TEXT)

    def last_bytes(self, base: VReg) -> Mem:
        """Return the place of the last 16 bytes of a text, which must have that many left."""
        return Mem(base=base, index=self.length, disp=-BLOCK_BYTES, within=IN_TEXT)


@dataclass(frozen=True)
class Text(Place[K]):
    """What every part of a function needs.

    A `whole` text has no partial block, and both pointers end after it.
    """

    counters: Counters
    whole: bool = False

    @classmethod
    def at_entry(
        cls,
        b: Builder,
        kernel: K,
        context: VReg,
        counters: Counters,
        source: VReg,
        out: VReg,
        length: VReg,
        whole: bool = False,
        held: range | None = None,
    ) -> "Text[K]":
        """Record the loads that all parts need; return the text. The round keys of the
        numbers `held` stay in registers, or the first ones, as many as the kernel says.
        """
        keys = RoundKeys(b, kernel, context, range(kernel.held_keys) if held is None else held)
        return cls(b, kernel, context, keys, source, out, length, counters, whole)

    @property
    def group_bytes(self) -> int:
        """Bytes of a group."""
        return BLOCK_BYTES * self.kernel.blocks

    @property
    def has_rest(self) -> bool:
        """Whether whole groups can leave a rest."""
        return not self.whole or self.kernel.blocks > 1

    def move(self, register: VReg, by: int | VReg, note: str = "") -> None:
        """Advance a pointer."""
        b = self.b
        if isinstance(by, int):
            b.assign(register, b.gpr("gpr_add", register, by, note=note))
        else:
            b.assign(register, b.gpr("gpr_address", Mem(base=register, index=by), note=note))

    def advance(self, by: int, note: str = "") -> None:
        """Advance by `by` bytes."""
        self.move(self.source, by, note)
        self.move(self.out, by)
        self.shorten(by)

    def shorten(self, by: int) -> None:
        """Subtract `by` bytes from the rest."""
        self.b.assign(self.length, self.b.gpr("gpr_sub", self.length, by))

    def add_keystream(self, count: int, ahead: int = 0) -> list[VReg]:
        """Record the cipher over `count` whole registers; return the output.

        It goes `ahead` bytes after its pointer.
        """
        self.b.about("AES")
        out = self.write(rounds(self.b, self.keys, self.counters.blocks(count)), ahead)
        self.b.about("")
        return out

    def write(
        self, states: Sequence[VReg], ahead: int = 0, key: VReg | None = None, first: int = 0
    ) -> list[VReg]:
        """Record the last round of whole registers with the text added, and the stores.

        Returns the output.
        """
        b, lanes, out = self.b, self.kernel.lane_count, list[VReg]()
        key = key or self.keys.last(lanes)
        for i, state in enumerate(states, first):
            at = BLOCK_BYTES * lanes * i
            source = self.at(self.source, at)
            written = add_text(b, state, key, source, "last round: the other text")
            b.store(self.at(self.out, ahead + at), written, "written")
            out.append(written)
        return out

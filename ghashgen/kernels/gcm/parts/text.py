"""The text of a call: where it is read and written, and its whole groups.

A group's GHASH is recorded before its AES, each as a stream of its own. Neither waits for the
other, and `compiler.schedule.weave` merges them. GHASH reads a group before its output is written,
so the two texts may be one.
"""

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass

from ghashgen.algebra.field.bitorder import BLOCK_BYTES
from ghashgen.ir.builder import Builder
from ghashgen.ir.program import Mem, VReg
from ghashgen.kernels.aes.cipher import RoundKeys, add_text, rounds
from ghashgen.kernels.aes.counters import Counters
from ghashgen.kernels.gcm.kernel import GcmKernel

IN_TEXT = "text"
"""The region of both texts (`ir.program.Mem`). They may be one, and overlap nothing else."""


@dataclass(frozen=True)
class Place:
    """Where a text is read and written, and the keys for it."""

    b: Builder
    kernel: GcmKernel
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

    def stream(
        self, name: str, start: float = 0.0, end: float = 1.0, *, lean: bool = True
    ) -> AbstractContextManager[None]:
        """Return a context that makes its contents a stream, if the kernel stitches."""
        return self.b.stream(name, start, end, lean=lean) if self.kernel.stitch else nullcontext()


@dataclass(frozen=True)
class Text(Place):
    """What every part of a function needs.

    A `whole` text has no partial block, and both pointers end after it.
    """

    counters: Counters
    whole: bool = False

    @classmethod
    def at_entry(
        cls,
        b: Builder,
        kernel: GcmKernel,
        context: VReg,
        counters: Counters,
        source: VReg,
        out: VReg,
        length: VReg,
        whole: bool = False,
    ) -> "Text":
        """Record the loads that all parts need; return the text."""
        keys = RoundKeys(b, kernel, context, kernel.held_keys)
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

    def add_keystream(self, count: int, ahead: int = 0) -> None:
        """Record the cipher over `count` whole registers.

        The output goes `ahead` bytes after its pointer.
        """
        self.b.about("AES")
        self.write(rounds(self.b, self.keys, self.counters.blocks(count)), ahead)
        self.b.about("")

    def write(self, states: Sequence[VReg], ahead: int = 0) -> None:
        """Record the last round of whole registers with the text added, and the stores."""
        b, lanes = self.b, self.kernel.lane_count
        key = self.keys.last(lanes)
        for i, state in enumerate(states):
            at = BLOCK_BYTES * lanes * i
            source = self.at(self.source, at)
            written = add_text(b, state, key, source, "last round: the other text")
            b.store(self.at(self.out, ahead + at), written, "written")

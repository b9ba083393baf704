"""What is recorded for messages side by side, whatever the width of the registers."""

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager

from ghashgen.algebra.field.bitorder import BLOCK_BYTES
from ghashgen.ir.builder import Builder, Value
from ghashgen.ir.program import Mem, Slot, VReg
from ghashgen.kernels.aes.cipher import RoundKeys
from ghashgen.kernels.gcm.kernel import GcmKernel
from ghashgen.kernels.gcm.parts.plan import products
from ghashgen.kernels.gcm.parts.records import RECORD_BYTES, read
from ghashgen.kernels.gcm.parts.start import IV_BYTES
from ghashgen.kernels.hash.parts.interface import finish_lanes


class SideBySide:
    """A group of messages."""

    def __init__(self, b: Builder, kernel: GcmKernel, context: VReg, encrypts: bool) -> None:
        self.b, self.kernel, self.context, self.encrypts = b, kernel, context, encrypts
        self.hashing = kernel.hash
        self.keys = RoundKeys(b, kernel, context)

    def stream(self, name: str, start: float, end: float) -> AbstractContextManager[None]:
        """Return a context whose contents are woven with those of other streams."""
        return self.b.stream(name, start, end, lean=False)

    def _products(
        self, sums: Mapping[str, Value], A: VReg, keys: Sequence[Value]
    ) -> Mapping[str, Value]:
        return products(self.b, self.hashing, sums, A, keys)

    def _reduced(self, sums: Mapping[str, Value], R: Value | None = None) -> VReg:
        return finish_lanes(self.b, self.hashing, sums, R)

    def _tag(self, record: VReg, i: int) -> Mem:
        return Mem(base=read(self.b, record, "tag", i), within="tags")


def usual(b: Builder, record: VReg, i: int, encrypts: bool, no: str) -> None:
    """Go to `no` unless a message has an IV of 12 bytes and, to open, a tag of 16."""
    b.branch("not_equal", read(b, record, "iv_len", i), IV_BYTES, no)
    if not encrypts:
        b.branch("not_equal", read(b, record, "tag_len", i), BLOCK_BYTES, no)


def next_group(b: Builder, record: VReg, left: Slot, count: int) -> None:
    """Record the step over a group of so many messages; `left` has how many are left."""
    b.assign(record, b.gpr("gpr_add", record, RECORD_BYTES * count, note="the next group"))
    b.emit("gpr_store64", left, b.gpr("gpr_sub", b.gpr("gpr_load64", left), count))

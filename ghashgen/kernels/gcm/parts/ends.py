"""The last register of a text, which need not be full: how it is read and written.

Wide registers are filled partly (`exact`). In narrow ones a text of two blocks or more ends in a
whole load and a whole store of its last 16 bytes. With r bytes in the last block, the first
d = 16 - r of them belong to the previous block:

    read      bytes d … 15 of them, zeros after them
    written   the last d bytes of C_(m-1), then the r of C_m

So d bytes are written twice, with the same values. A shorter text is one block, whole or not
(`partial`). Bytes that are read twice are read before any of them is written, so the two texts may
be one.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ghashgen.algebra.field.bitorder import BLOCK_BYTES
from ghashgen.ir.builder import Builder
from ghashgen.ir.program import Mem, VReg
from ghashgen.kernels.bytes.exact import Exact
from ghashgen.kernels.bytes.load import load_partial
from ghashgen.kernels.bytes.store import store_partial
from ghashgen.kernels.gcm.kernel import GcmKernel
from ghashgen.kernels.gcm.parts.text import Place

TURNED = 2 * bytes(range(BLOCK_BYTES)) + b"\x80" * BLOCK_BYTES
"""Byte positions. Read at 16 - d, byte j is byte j - d, modulo 16. Read at 16 + d, it is byte j +
d, or zero.
"""

ONES = b"\xff" * 2 * BLOCK_BYTES + bytes(BLOCK_BYTES) + b"\xff" * BLOCK_BYTES
"""Read at d: ones in the first 32 - d bytes. 16 bytes read at 16 + d: ones in the first 16 - d.
Read at 32 + d: ones in the others.
"""


@dataclass(frozen=True)
class End:
    """The last register: its text, zero-padded, and what makes of its output.

    `put` stores the output, given the registers before it, and returns what `cut` zero-pads. It
    comes before the hash, or `late`, after it. With `kept`, every path leaves the output there, and
    the store is shared.
    """

    b: Builder
    given: VReg
    cut: Callable[[VReg], VReg]
    put: Callable[[VReg, Sequence[VReg]], VReg]
    late: bool = False
    single: bool = False
    """Whether it has only one lane of text."""
    kept: VReg | None = None

    def keep(self, written: VReg) -> VReg:
        """Record what of the output is kept; return it."""
        b = self.b
        if self.kept is not None:
            b.assign(self.kept, written)
        return b.first_lane(written) if self.single else written

    def ciphertext(self, written: VReg, outs: Sequence[VReg], encrypts: bool) -> Callable[[], VReg]:
        """Record what comes before the hash; return what records the ciphertext, zero-padded."""
        if not self.late:
            stored = self.put(written, outs)
            return (lambda: self.cut(stored)) if encrypts else (lambda: self.given)
        C = self.cut(written) if encrypts else self.given
        return lambda: C

    def finish(self) -> None:
        """Record the store of what paths keep."""
        if self.kept is not None:
            self.put(self.kept, ())


def wide(
    exact: Exact, names: tuple[str, str], given: Mem, out: Callable[[], Mem], shared: bool = False
) -> End:
    """Return the end in a wide register. `names` has the parts of its loads and of its stores."""
    b, raw = exact.b, exact.load(names[0], given)

    def put(written: VReg, outs: Sequence[VReg]) -> VReg:
        exact.store(names[1], out(), written)
        return written

    kept = b.register("written", exact.lanes) if shared else None
    return End(b, raw, lambda written: exact.first(written, "C, zero-padded"), put, True, kept=kept)


def few(text: Place) -> End:
    """Return the end of a text of 1 to 15 bytes."""
    b = text.b
    raw = load_partial(b, text.source, text.length, "padded", forget=True)
    at = b.gpr("gpr_address", b.const_bytes(ONES, "ones"))
    d = b.gpr("gpr_neg", text.length, note="d - 16")
    ones = Mem(base=at, index=d, disp=2 * BLOCK_BYTES)

    def put(written: VReg, outs: Sequence[VReg]) -> VReg:
        store_partial(b, b.gpr("gpr_copy", text.out), text.length, written)
        return written

    return End(b, raw, lambda written: b.and_(written, ones, "zero-padded"), put, True, True)


def block(text: Place) -> End:
    """Return the end of a text of one whole block."""
    b = text.b

    def put(written: VReg, outs: Sequence[VReg]) -> VReg:
        b.store(text.at(text.out), written, "written")
        return written

    return End(b, b.load(text.at(text.source), "text"), lambda written: written, put, single=True)


def overlapping(text: Place, blocks: int) -> End:
    """Return the end of a text of `blocks` blocks, at least 2, in a narrow register."""
    b, lanes = text.b, text.kernel.lane_count
    paired = lanes > 1 and blocks % lanes == 0
    before_last = BLOCK_BYTES * (blocks - 2)
    d = b.gpr("gpr_and", b.gpr("gpr_neg", text.length), BLOCK_BYTES - 1, note="d = 16 - r")
    turned = b.gpr("gpr_address", b.const_bytes(TURNED, "turned"))
    ones = b.gpr("gpr_address", b.const_bytes(ONES, "ones"))
    end = b.load(text.last_bytes(text.source), "the last 16 bytes")
    order = Mem(base=turned, index=d, disp=BLOCK_BYTES)
    raw = b.shuffle_bytes(end, order, "the last block, zero-padded")
    if paired:
        beside = b.load(text.at(text.source, before_last), "text")
        raw = b.insert_lane(beside, 1, raw, lanes, "and the last block, zero-padded")

    def put(written: VReg, outs: Sequence[VReg]) -> VReg:
        if paired:
            last, before = last_lane(b, text.kernel, written), b.first_lane(written)
            b.store(text.at(text.out, before_last), before, "written")
        else:
            last, before = b.first_lane(written), last_lane(b, text.kernel, outs[-1])
        others = Mem(base=ones, index=d, disp=2 * BLOCK_BYTES)
        changed = b.and_(b.xor(last, before), others, "behind r bytes")
        joined = b.xor(last, changed, "r bytes of the last block, then d of the one before")
        back = Mem(base=b.gpr("gpr_minus", turned, d), disp=BLOCK_BYTES)
        b.store(text.last_bytes(text.out), b.shuffle_bytes(joined, back), "the last 16 bytes")
        return written if paired else last

    kept = Mem(base=ones, index=d, disp=0 if paired else BLOCK_BYTES)
    return End(b, raw, lambda stored: b.and_(stored, kept, "zero-padded"), put)


def last_lane(b: Builder, kernel: GcmKernel, register: VReg) -> VReg:
    """Record the last lane of a register alone."""
    if kernel.lane_count == 1:
        return register
    if kernel.instruction_set.partial_registers:
        last = b.lanes_down(register, b.lanes_of(register) - 1, "E_K(J_0)")
        return b.first_lane(last)
    out = b.register("its last lane")
    b.emit("high_half", out, register)
    return out

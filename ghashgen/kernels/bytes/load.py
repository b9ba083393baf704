"""Load the last partial block: 1 to 15 bytes, zero-padded, no byte read outside the input.

Overlapping loads inside the input replace a byte loop. With r bytes left, all in a vector register:

    r >= 8    qword at 0, and the qword at r - 8 shifted right by 8·(16 - r) bits as the high half,
              in two steps: a count of 64 (r = 8) is 0 by the manual, but Bochs does not shift
    r >= 4    dword at 0, or-ed with the dword at r - 4 shifted left by 8·(r - 4): they agree where
              they overlap
    r >= 1    bytes at 0, r >> 1 and r - 1, each shifted to its place, likewise

Counts and addresses depend on the length alone.
"""

from ghashgen.ir.builder import Builder
from ghashgen.ir.program import Label, Mem, VReg


def load_partial(b: Builder, source: VReg, rest: VReg, done: str, *, forget: bool = False) -> VReg:
    """Record the load of `rest` (1..15) bytes at `source`. Ends at the label `done`.

    With `forget`, no general register keeps a byte: a NOP whose operand names one would have an
    address that depends on a secret.
    """
    out = b.zero("partial")
    b.branch("below", rest, 8, "under8")
    b.assign(out, load_from_8(b, source, rest))
    b.emit("jump", Label(done))

    b.label("under8")
    b.branch("below", rest, 4, "under4")
    low = b.load_part("load32", Mem(base=source), "bytes 0..3")
    high = b.load_part("load32", Mem(base=source, index=rest, disp=-4), "the last 4 bytes")
    count = b.gpr("gpr_sub", b.gpr("gpr_shl", rest, 3), 32, note="8·(r - 4) bits")
    high = b.shift_by("shl64_by", high, b.from_gpr(count), "into place")
    b.assign(out, b.or_(low, high, "C_last, zero-padded"))
    b.emit("jump", Label(done))

    b.label("under4")
    middle = b.gpr("gpr_shr", rest, 1)
    byte = b.gpr("gpr_load8", Mem(base=source), note="byte 0")
    first = b.from_gpr(byte)
    second = _byte(b, Mem(base=source, index=middle), middle, "byte r >> 1", forget)
    last_at = b.gpr("gpr_sub", rest, 1)
    third = _byte(b, Mem(base=source, index=last_at), last_at, "byte r - 1", forget)
    if forget:
        b.emit("gpr_const", byte, 0, note="no byte stays")
    b.assign(out, b.or_(b.or_(first, second), third, "C_last, zero-padded"))
    b.label(done)
    return out


def load_from_8(b: Builder, source: VReg, count: VReg) -> VReg:
    """Record the load of `count` (8..15) bytes at `source`, zero-padded."""
    low = b.load_part("load64", Mem(base=source), "bytes 0..7")
    high = b.load_part("load64", Mem(base=source, index=count, disp=-8), "the last 8 bytes")
    bits = b.gpr("gpr_shl", count, 3)
    places = b.gpr("gpr_neg", b.gpr("gpr_sub", bits, 120), note="8·(15 - r) bits")
    high = b.shift_by("shr64_by", high, b.from_gpr(places), "8·(15 - r) bits")
    high = b.shr64(high, 8, "and 8 more: bytes 8..r-1, then zeros")
    return b.join_low(low, high, "C_last, zero-padded")


def _byte(b: Builder, memory: Mem, position: VReg, note: str, forget: bool) -> VReg:
    """Load one byte and shift it to its position."""
    byte = b.gpr("gpr_load8", memory, note=note)
    value = b.from_gpr(byte)
    if forget:
        b.emit("gpr_const", byte, 0, note="no byte stays")
    count = b.from_gpr(b.gpr("gpr_shl", position, 3))
    return b.shift_by("shl64_by", value, count, "into place")

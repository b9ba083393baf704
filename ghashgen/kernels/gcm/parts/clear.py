"""Overwrite the output with zeros, block by block, after a wrong tag."""

from ghashgen.algebra.field.bitorder import BLOCK_BYTES
from ghashgen.ir.builder import Builder
from ghashgen.ir.program import Mem, VReg
from ghashgen.kernels.bytes.exact import Exact
from ghashgen.kernels.bytes.store import PIECES
from ghashgen.kernels.gcm.kernel import GcmKernel


def clear(b: Builder, kernel: GcmKernel, out: VReg, length: VReg) -> None:
    """Record zeros over `length` bytes at `out`. Changes both registers."""
    zeros = b.zero("zeros")
    b.branch("below", length, BLOCK_BYTES, "last")
    with b.loop("blocks"):
        b.store(Mem(base=out), zeros, "zeros")
        b.assign(out, b.gpr("gpr_add", out, BLOCK_BYTES))
        b.assign(length, b.gpr("gpr_sub", length, BLOCK_BYTES))
        b.branch("not_below", length, BLOCK_BYTES, "blocks")
    b.label("last")
    if kernel.instruction_set.partial_registers:
        Exact.of(b, length, range(BLOCK_BYTES)).store("few", Mem(base=out), zeros)
        return
    for size in PIECES:
        label = f"cleared_{size}"
        b.branch("equal", b.gpr("gpr_and", length, size), 0, label)
        b.emit(f"store{8 * size}", Mem(base=out), zeros, note="zeros")
        if size > 1:
            b.assign(out, b.gpr("gpr_add", out, size))
        b.label(label)

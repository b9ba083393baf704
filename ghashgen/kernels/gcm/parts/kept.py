"""A text that is encrypted alone, in wide registers: GHASH reads nothing that was just written.

Whole groups are those of `groups`. The rest is that of every kernel (`kernels.aes.rest`), and its
ciphertext stays in registers too: the runs have the same lengths in the cipher and in the hash.
"""

from collections.abc import Sequence

from ghashgen.algebra.field.bitorder import BLOCK_BYTES
from ghashgen.ir.program import VReg
from ghashgen.kernels.aes.rest import kept_rest, runs
from ghashgen.kernels.gcm.parts.groups import Groups
from ghashgen.kernels.gcm.parts.plan import Sums, assign, products
from ghashgen.kernels.gcm.parts.text import Text
from ghashgen.kernels.hash.parts.interface import GROUP, entries, finish_group, to_register
from ghashgen.kernels.hash.parts.tail import Tail


def encrypt_kept(text: Text, X: VReg, done: str) -> None:
    """Record out = in + keystream, with X continued over out. Needs 1 byte. Ends at `done`."""
    b, size, lanes = text.b, text.group_bytes, text.kernel.lane_count
    b.branch("below", text.length, size, "rest")
    groups = Groups(text, X, True)
    groups.cipher()
    text.advance(size, "next group")
    b.branch("below", text.length, size, "last")
    groups.ready()
    with b.loop(GROUP):
        groups.turn()
        b.branch("not_below", text.length, size, GROUP)
    b.label("last")
    groups.hash()
    b.branch("equal", text.length, 0, done)
    b.label("rest")
    left = b.gpr("gpr_copy", text.length)
    kept = [b.zero(f"C_{i + 1}", lanes=lanes) for i in range(sum(runs(text.kernel)))]
    last = kept_rest(text, kept)
    with b.part("tail"):
        _hash_rest(text, X, left, kept, last)
    b.label(done)
    b.about("")


def _hash_rest(text: Text, X: VReg, left: VReg, kept: Sequence[VReg], last: VReg) -> None:
    """Record GHASH of fewer blocks than a group, one byte at least."""
    b, hashing, lanes = text.b, text.kernel.hash, text.kernel.lane_count
    tail = Tail(b, hashing, text.context, X, text.out, left)
    tail.clear()
    for run in runs(text.kernel):
        b.branch("below", left, run * lanes * BLOCK_BYTES, f"under_{run}")
        _sum(tail, kept[:run])
        kept = kept[run:]
        step = run * lanes * BLOCK_BYTES
        b.assign(tail.key_at, b.gpr("gpr_add", tail.key_at, step, note="the next powers"))
        b.assign(left, b.gpr("gpr_sub", left, step))
        b.label(f"under_{run}")
    b.branch("equal", left, 0, "reduce")
    _sum(tail, [last])
    b.label("reduce")
    b.about("reduce")
    b.assign(X, finish_group(b, hashing, tail.acc, tail.R))


def _sum(tail: Tail, registers: Sequence[VReg]) -> None:
    """Record the sums with the products of registers. X joins the first, which comes last."""
    b, hashing, lanes = tail.b, tail.kernel, tail.kernel.lane_count
    sums: Sums = tail.acc
    b.about("C·H^i")
    for i in reversed(range(len(registers))):
        A = to_register(b, hashing, registers[i], "C")
        if i == 0:
            A = b.xor(A, tail.X, "A = X + C; X counts once")
        keys = entries(hashing, tail.key_at, hashing.layout.top - i * lanes)
        sums = products(b, hashing, sums, A, keys)
    b.emit("zero", tail.X)
    assign(b, tail.acc, sums)
    b.about("")

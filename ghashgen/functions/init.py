"""NAME_init(table, h): the table of the powers H^1 … H^n, by the kernel's own multiply.

A product of two twisted operands is twisted again (A·x^-1 and B·x^-1, read as A·B·x, give
(A·B)·x^-1), so B_(i+j) = B_i·B_j with the kernel's multiply and reduction. Powers grow in strides
of s = min(n, 4): B_1 … B_s by doubling, then s independent products by B_s a round, so the chain of
dependent multiplications has about log2(s) + n/s links instead of n.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from ghashgen.builder import Builder, Value
from ghashgen.functions.interface import finish_group, load_block
from ghashgen.ir import Mem, Program, VReg
from ghashgen.kernel import ENTRY_BYTES, Kernel
from ghashgen.schemes import aggregate
from ghashgen.schemes.twist import twist

STRIDE = 4
"""Powers computed side by side: enough to cover the latency of a multiplication."""


@dataclass(frozen=True)
class _Key:
    """A key operand in registers: its table entries, and its own reduced key term."""

    entries: tuple[Value, ...]
    term: Value | None


def build(kernel: Kernel) -> Program:
    """Return the function for this kernel."""
    b = Builder("init", ("table", "h"))
    table, h = b.params
    n, s = kernel.blocks, min(kernel.blocks, STRIDE)
    H = load_block(b, kernel, h, name="H")
    b.about("B_1")
    B: dict[int, Value] = {1: twist(b, H, kernel.bit_order)}
    keys = {1: _key(b, kernel, B[1])}
    total: VReg | None = None
    if keys[1].term is not None:
        total = b.variable(keys[1].term, "R", "R_1")
    _store(b, kernel, table, 0, keys[1], total)
    for i in range(2, s + 1):
        # B_i = B_⌈i/2⌉·B_⌊i/2⌋: two links for s = 4.
        b.about(f"B_{i} = B_{i - i // 2}·B_{i // 2}")
        B[i] = _times(b, kernel, B[i - i // 2], keys[i // 2])
        keys[i] = _key(b, kernel, B[i])
        _next(b, kernel, table, i - 1, keys[i], total)
    rounds, rest = divmod(n - s, s)
    # Of their own: the key B_s stays what it is while its stream moves on.
    streams = [b.variable(B[i], "stream") for i in range(1, s + 1)]
    if rounds:
        at = b.gpr("gpr_copy", table)
        left = b.gpr("gpr_const", rounds, note="rounds of s powers")
        with b.loop("round"):
            b.assign(at, b.gpr("gpr_add", at, s * kernel.stride))
            _round(b, kernel, at, streams, keys[s], total)
            b.about("")
            b.assign(left, b.gpr("gpr_sub", left, 1))
            b.branch("not_below", left, 1, "round")
    if rest:
        at = b.gpr("gpr_address", Mem(base=table, disp=(n - rest) * kernel.stride))
        _round(b, kernel, at, streams[:rest], keys[s], total)
    return b.program()


def _round(
    b: Builder, kernel: Kernel, at: VReg, streams: Sequence[VReg], key: _Key, total: VReg | None
) -> None:
    """Multiply every stream by B_s and store the new powers from address `at` on."""
    for j, stream in enumerate(streams):
        b.about(f"B_(i+{j + 1}) = B_(i+{j + 1}-s)·B_s")
        b.assign(stream, _times(b, kernel, stream, key))
    for j, stream in enumerate(streams):
        b.about(f"entries of B_(i+{j + 1})")
        _next(b, kernel, at, j, _key(b, kernel, stream), total)


def _times(b: Builder, kernel: Kernel, A: Value, key: _Key) -> VReg:
    acc = aggregate.accumulate(b, kernel.multiplier, kernel.bit_order, {}, A, key.entries)
    return finish_group(b, kernel, acc, key.term)


def _key(b: Builder, kernel: Kernel, B: Value) -> _Key:
    multiply, order = kernel.multiplier, kernel.bit_order
    entries = multiply.derive(b, B, order)
    if multiply.key_term is None:
        return _Key(entries, None)
    return _Key(entries, aggregate.key_constant(b, multiply, kernel.reducer, order, entries))


def _next(b: Builder, kernel: Kernel, at: VReg, index: int, key: _Key, total: VReg | None) -> None:
    """Store the entries of one power after adding its key term to the running sum R."""
    if total is not None and key.term is not None:
        b.assign(total, b.xor(total, key.term, "R_i"))
    _store(b, kernel, at, index, key, total)


def _store(b: Builder, kernel: Kernel, at: VReg, index: int, key: _Key, total: VReg | None) -> None:
    values = [*key.entries, *([] if total is None else [total])]
    for i, (name, value) in enumerate(zip(kernel.multiplier.table_entries, values, strict=True)):
        b.store(Mem(base=at, disp=index * kernel.stride + i * ENTRY_BYTES), value, name)

"""Aggregated reduction: n blocks, n products, one reduction.

Unrolling X_i = (X_{i-1} + C_i)·H over n blocks gives

    X_n = (X_0 + C_1)·H^n + C_2·H^(n-1) + … + C_n·H        (papers/intel-2023, section 3)

The products are summed, then recombined and reduced once. Table entry i belongs to H^i.
"""

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType

from ghashgen.algebra.field.bitorder import Order
from ghashgen.algebra.ops.protocol import Ops, V
from ghashgen.algebra.schemes.core import Multiply, Reduce, Shape

MAX_BLOCKS = 48
"""Largest group in blocks. No shipped library uses more, and the table would exceed 2 KiB."""


def accumulate(
    ops: Ops[V], multiply: Multiply, order: Order, acc: Mapping[str, V], A: V, entries: Sequence[V]
) -> dict[str, V]:
    """Add one block's products to the accumulators; `acc` is empty for the first block.

    The products come from `prepared`, as in a group, so that what is proved is what is emitted.
    """
    operands = multiply.prepared(ops, A, entries, order)
    return added(ops, acc, multiply.contributions(ops, operands, entries, order))


def added(ops: Ops[V], acc: Mapping[str, V], products: Sequence[tuple[str, V]]) -> dict[str, V]:
    """Add contributions to the accumulators that they name."""
    out = dict(acc)
    for name, product in products:
        out[name] = ops.xor(out[name], product, f"{name} += it") if name in out else product
    return out


def finish(
    ops: Ops[V], multiply: Multiply, reduce: Reduce, order: Order, acc: Mapping[str, V], R: V | None
) -> V:
    """Recombine and reduce a group's accumulators; `R` is R_n if the scheme has a key term."""
    lo, hi = multiply.recombine(ops, acc, order)
    if R is None:
        return reduce.apply(ops, lo, hi, order)
    if reduce.shape is not Shape.FOLDED:
        return ops.xor(reduce.apply(ops, lo, hi, order), R, "minus the key terms")
    # A folded product reduces to fold(far) + near. Adding R to `near` keeps it off the fold's
    # critical path.
    if order is Order.REFLECTED:
        hi = ops.xor(hi, R, "HI minus the key terms")
    else:
        lo = ops.xor(lo, R, "LO minus the key terms")
    return reduce.apply(ops, lo, hi, order)


def sequence(n: int) -> list[int]:
    """Return the blocks 1 to n of a group in the order in which they are multiplied."""
    return [*range(3, n + 1), *range(min(n, 2), 0, -1)]


def group(
    ops: Ops[V],
    multiply: Multiply,
    reduce: Reduce,
    order: Order,
    state: V,
    blocks: Sequence[Callable[[], V]],
    power: Callable[[int], Sequence[V]],
    ready: Mapping[int, Sequence[V]] = MappingProxyType({}),
    meanwhile: Callable[[], None] = lambda: None,
) -> V:
    """Return X_n for n = len(blocks), loading each block when it is needed.

    `power(i)` gives the table entries of H^i, with R_i last if the scheme has a key term that must
    be removed here. The block that is added to the state comes last, so that the other products do
    not wait for the previous group's reduction. Each block's products are added one block late,
    when they are ready.

    On SIMD registers of L lanes a "block" is a register, its "power" is the L powers of its lanes,
    and the result is one partial result in each lane.

    `ready` has operands (`Multiply.prepared`) that the previous group has prepared; never of block
    1, which waits for the state. `meanwhile` is called between the last product and the reduction.
    The next group is prepared there, because nothing else overlaps with the reduction.
    """
    n = len(blocks)
    width = len(multiply.entries)
    acc: dict[str, V] = {}
    late: Sequence[tuple[str, V]] = ()
    for i in sequence(n):
        ops.about(f"C{i}·H^{n + 1 - i}")
        entries = power(n + 1 - i)[:width]
        operands = ready.get(i)
        if operands is None:
            A = blocks[i - 1]()
            if i == 1:
                A = ops.xor(A, state, "A = X + C")
            operands = multiply.prepared(ops, A, entries, order)
        products = multiply.contributions(ops, operands, entries, order)
        acc = added(ops, acc, late)
        late = products
    acc = added(ops, acc, late)
    meanwhile()
    ops.about("reduce")
    last = power(n)
    R = last[width] if len(last) > width else None
    return finish(ops, multiply, reduce, order, acc, R)


def key_constant(
    ops: Ops[V], multiply: Multiply, reduce: Reduce, order: Order, entries: Sequence[V]
) -> V:
    """Return the reduced key term of one power; R_n is the sum over the powers 1..n."""
    if multiply.key_term is None:
        raise ValueError(f"{multiply.name} has no key term")
    lo, hi = multiply.key_term(ops, entries, order)
    return reduce.apply(ops, lo, hi, order)

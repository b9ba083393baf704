"""Rearrangements of Horner's rule: groups, lanes, segments, powers.

All are identities between polynomials in the state X, the blocks C1, C2, … and H, which commute. A
planted fault is added to one exponent of H in the arrangement.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import cast

from ghashgen.algebra.field.bitorder import BLOCK_BYTES, Order
from ghashgen.algebra.identities.core import Evidence, Theorem
from ghashgen.algebra.identities.polynomials import (
    Polynomial,
    horner,
    indeterminate,
    require_identical,
    total,
)
from ghashgen.algebra.ops.protocol import Halves, Ops, V
from ghashgen.algebra.schemes import aggregate, segments
from ghashgen.algebra.schemes.core import Budget, Multiply, Reduce, Shape

LANES = (2, 4)
MAX_STEPS = 12
MAX_SEGMENT_BLOCKS = 33
MAX_WORKERS = 9
LARGE_EXPONENTS = ((1 << 31) - 1, 1 << 31, (1 << 31) + 5, (1 << 36) - 32, (1 << 57) - 1)
"""Exponents around the paper's ladder of 32 powers, and the most blocks that GCM hashes."""

X = indeterminate("X")
INTEL_2023 = "papers/intel-2023, section 3"
KRYPTUS = "papers/kryptus-parallel-ghash-contiguous"


def _blocks(count: int) -> list[Polynomial]:
    return [indeterminate(f"C{i}") for i in range(1, count + 1)]


def _power(exponent: int) -> Polynomial:
    return indeterminate("H", exponent)


def _horner_n(max_blocks: int, fault: int) -> Evidence:
    """(X + C1)·H^n + C2·H^(n-1) + … + Cn·H against the recurrence."""
    for n in range(1, max_blocks + 1):
        first, *rest = _blocks(n)
        unrolled = (X + first) * _power(n + fault)
        unrolled += total(C * _power(n - i) for i, C in enumerate(rest, 1))
        require_identical(unrolled, horner(X, _blocks(n), _power(1)), f"{n} blocks")
    return Evidence(max_blocks, "polynomials")


class _Ring:
    """The operations that a group needs, over polynomials; a product is the ring's, unreduced."""

    def about(self, subject: str) -> None:
        """Do nothing."""

    def xor(self, a: Polynomial, b: Polynomial, note: str = "") -> Polynomial:
        """Return a + b."""
        return a + b

    def clmul(self, a: Polynomial, b: Polynomial, halves: Halves, note: str = "") -> Polynomial:
        """Return a·b."""
        return a * b


def _toy_products(ops: Ops[V], A: V, entries: Sequence[V], order: Order) -> Sequence[tuple[str, V]]:
    power, key = entries
    return (("SUM", ops.xor(ops.clmul(A, power, (0, 0)), key)),)


def _toy_recombine(ops: Ops[V], acc: Mapping[str, V], order: Order) -> tuple[V, V]:
    return acc["SUM"], acc["SUM"]


def _toy_key_term(ops: Ops[V], entries: Sequence[V], order: Order) -> tuple[V, V]:
    return entries[1], entries[1]


def _toy_derive(ops: Ops[V], B: V, order: Order) -> tuple[V, ...]:
    return B, B


def _toy_reduce(ops: Ops[V], lo: V, hi: V, order: Order) -> V:
    return lo


_PRODUCT_IN_A_RING = Multiply(
    name="ring",
    title="A·H^i + k_i in any ring",
    claim="lo = A·H^i + k_i",
    source="this file",
    shape=Shape.WIDE,
    entries=("H", "k"),
    accumulators=("SUM",),
    derive=_toy_derive,
    products=_toy_products,
    recombine=_toy_recombine,
    budget=Budget(),
    key_term=_toy_key_term,
)

_NO_REDUCTION = Reduce(
    name="none",
    title="the ring's elements are reduced",
    claim="RES = lo",
    source="this file",
    shape=Shape.WIDE,
    orders=tuple(Order),
    apply=_toy_reduce,
    budget=Budget(),
)


def _group_order(max_blocks: int, fault: int) -> Evidence:
    """`aggregate.group` pairs blocks, powers and R_n as Horner's rule does.

    The scheme here multiplies in the ring and adds an indeterminate k_i for power i. So R_n is
    k_1 + … + k_n, and a wrong R_i would show. `group` gives a scheme only (block, entries) pairs to
    sum, so the pairs are the same for every scheme.
    """
    ops = cast(Ops[Polynomial], _Ring())

    def power(i: int) -> Sequence[Polynomial]:
        keys = [indeterminate(f"k{j}") for j in range(1, i + 1)]
        return _power(i + fault), keys[-1], total(keys)

    def loader(block: Polynomial) -> Callable[[], Polynomial]:
        return lambda: block

    for n in range(1, max_blocks + 1):
        got = aggregate.group(
            ops,
            _PRODUCT_IN_A_RING,
            _NO_REDUCTION,
            Order.REFLECTED,
            X,
            [loader(block) for block in _blocks(n)],
            power,
        )
        require_identical(got, horner(X, _blocks(n), _power(1)), f"{n} blocks")
    return Evidence(max_blocks, "polynomials")


def _lane_fold(fault: int) -> Evidence:
    """Figure 8: L products at a time; their sum is the state of the next L."""
    cases = 0
    for lanes in LANES:
        for steps in range(1, MAX_STEPS + 1):
            blocks = _blocks(lanes * steps)
            state = X
            for at in range(0, len(blocks), lanes):
                first, *rest = blocks[at : at + lanes]
                terms = [state + first, *rest]
                state = total(C * _power(lanes - i + fault) for i, C in enumerate(terms))
            expected = horner(X, blocks, _power(1))
            require_identical(state, expected, f"{lanes} lanes, {steps} steps")
            cases += 1
    return Evidence(cases, "polynomials")


def _per_lane(fault: int) -> Evidence:
    """Figure 9: lane l has its own sum, times H^L at every step but the last, then H^(L-l).

    The fault is added to the last multiplication's exponents.
    """
    cases = 0
    for lanes in LANES:
        for steps in range(1, MAX_STEPS + 1):
            blocks = _blocks(lanes * steps)
            acc = [X + blocks[0], *blocks[1:lanes]]
            for at in range(lanes, len(blocks), lanes):
                acc = [a * _power(lanes) + blocks[at + i] for i, a in enumerate(acc)]
            got = total(a * _power(lanes - i + fault) for i, a in enumerate(acc))
            expected = horner(X, blocks, _power(1))
            require_identical(got, expected, f"{lanes} lanes, {steps} steps")
            cases += 1
    return Evidence(cases, "polynomials")


Split = Callable[[int, int], tuple[segments.Segment, ...]]


def _mul(a: Polynomial, b: Polynomial) -> Polynomial:
    return a * b


def _xor(a: Polynomial, b: Polynomial) -> Polynomial:
    return a + b


def _combine(split: Split, fault: int) -> Evidence:
    """Split, hash apart, combine, with powers from the plan; the fault shifts the combine's powers.

    A padded partial last block is a block like any other; a byte count affects only the split.
    """
    cases = 0
    for blocks in range(1, MAX_SEGMENT_BLOCKS + 1):
        C = _blocks(blocks)
        expected = horner(X, C, _power(1))
        for workers in range(1, MAX_WORKERS + 1):
            for missing in (0, 5):
                parts = split(blocks * BLOCK_BYTES - missing, workers)
                wanted = segments.exponents(parts)
                power = segments.powers(_mul, _power(1), segments.plan(wanted))
                t = [segments.partial(_mul, _xor, part, C, power) for part in parts]
                placed = {e: H * _power(fault) for e, H in power.items()}
                got = segments.combine(_mul, _xor, X, parts, t, placed)
                what = f"{blocks} blocks, the last {missing} bytes short, {workers} workers"
                require_identical(got, expected, what)
                cases += 1
    require_identical(segments.combine(_mul, _xor, X, (), (), {}), X, "no blocks")
    return Evidence(cases + 1, "splits")


def _ladder(max_blocks: int, fault: int) -> Evidence:
    """Every power in a plan is the claimed one; the fault is added to the claim."""
    wanted = [*range(1, 4 * max_blocks + 1), *LARGE_EXPONENTS]
    plans: list[Sequence[int]] = [[e] for e in wanted]
    plans += [wanted[i : i + 5] for i in range(len(wanted))]
    plans += [LARGE_EXPONENTS, wanted]
    for exponents in plans:
        products = segments.plan(exponents)
        power = segments.powers(_mul, _power(1), products)
        for e in {*exponents, *power}:
            require_identical(power[e], _power(e + fault), f"H^{e}")
    return Evidence(len(plans), "plans")


def theorems(max_blocks: int) -> tuple[Theorem, ...]:
    """Return the theorems about Horner's rule."""
    steps = f"{' and '.join(map(str, LANES))} lanes, 1..{MAX_STEPS} steps"
    splits = (
        f"all X, C_i, H; 1..{MAX_SEGMENT_BLOCKS} blocks, whole and partial, "
        f"1..{MAX_WORKERS} workers"
    )
    return (
        Theorem(
            name="horner-n",
            statement="(X + C1)·H^n + C2·H^(n-1) + … + Cn·H = GHASH's recurrence after n blocks",
            covers=f"all X, C_i, H; n = 1..{max_blocks}",
            source=INTEL_2023,
            constant="n, the exponent that the state meets",
            prove=partial(_horner_n, max_blocks),
        ),
        Theorem(
            name="group-order",
            statement="aggregate.group: block i meets H^(n+1-i), the state block 1, R_n the result",
            covers=f"all X, C_i, H and k_i; n = 1..{max_blocks}",
            source=INTEL_2023,
            constant="i, the exponent of table entry i",
            prove=partial(_group_order, max_blocks),
        ),
        Theorem(
            name="lane-fold",
            statement="L lanes, summed into the state at every step = GHASH's recurrence",
            covers=f"all X, C_i, H; {steps}",
            source="papers/intel-2023, Figure 8",
            constant="the exponents L, …, 1",
            prove=_lane_fold,
        ),
        Theorem(
            name="per-lane-horner",
            statement="L lanes, each times H^L a step, at the end times H^L, …, H = the recurrence",
            covers=f"all X, C_i, H; {steps}",
            source="papers/intel-2023, Figure 9",
            constant="the exponents L, …, 1 of the last step",
            prove=_per_lane,
        ),
        Theorem(
            name="segment-combine",
            statement="GHASH(M) = X·H^b + Σ t_s·H^(blocks after s), contiguous segments",
            covers=splits,
            source=f"{KRYPTUS}, section 3.1 and equation 4",
            constant="the blocks after s",
            prove=partial(_combine, segments.split),
        ),
        Theorem(
            name="interleaved-combine",
            statement="GHASH(M) = X·H^b + Σ t_s·H^(blocks after s), blocks dealt out in turn",
            covers=splits,
            source=f"{KRYPTUS}, section 2; McGrew and Viega",
            constant="the blocks after s",
            prove=partial(_combine, segments.interleave),
        ),
        Theorem(
            name="power-ladder",
            statement="H^e = H^(e-last)·H^last, with H^(e-last) from the ladder H^(2^i)",
            covers=f"all H; e = 1..{4 * max_blocks} and around 2^31, 2^36 and 2^57",
            source=f"{KRYPTUS}, section 3.2",
            constant="the exponent e",
            prove=partial(_ladder, max_blocks),
        ),
    )

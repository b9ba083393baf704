"""Reads forms bit by bit, for reports and tests: a bit's monomials, and the value at a point."""

from collections.abc import Mapping

from ghashgen.algebra.ops.forms import QUAD_BITS, VAR_BITS, Form, set_bits

ROW = (1 << VAR_BITS) - 1
PAIRS = (1 << QUAD_BITS) - 1

Monomial = tuple[tuple[str, int], ...]
"""The bits that are multiplied, each as (variable, bit number); () is 1."""


def monomials_of(form: Form, k: int) -> frozenset[Monomial]:
    """Return the monomials of bit k: (), (("A", 17),), (("A", 17), ("B", 3))."""
    out: set[Monomial] = set()
    if form.constant >> k & 1:
        out.add(())
    for g, value in form.linear.items():
        out.update(((g, u),) for u in set_bits(value >> k * VAR_BITS & ROW))
    for (g, h), value in form.quadratic.items():
        pairs = value >> k * QUAD_BITS & PAIRS
        out.update(((g, i // VAR_BITS), (h, i % VAR_BITS)) for i in set_bits(pairs))
    return frozenset(out)


def evaluate(form: Form, values: Mapping[str, int]) -> int:
    """Return the value at a point, given each variable's 128-bit integer by name."""
    out = 0
    for k in range(form.width):
        bit = form.constant >> k & 1
        for g, packed in form.linear.items():
            bit ^= (packed >> k * VAR_BITS & ROW & values[g]).bit_count() & 1
        for (g, h), packed in form.quadratic.items():
            row = packed >> k * QUAD_BITS & PAIRS
            for u in set_bits(values[g]):
                bit ^= (row >> u * VAR_BITS & ROW & values[h]).bit_count() & 1
        out |= bit << k
    return out

"""The claims of every scheme in the registry: products, reductions, and groups of blocks.

A and H are variables of 128 bits, the registers of two elements. The schemes run on them exactly as
they are emitted. A fault goes into the constants that the scheme asks for; if it asks for none,
into the tail of the specification's P.
"""

from functools import partial

from ghashgen.algebra.field.bitorder import Order
from ghashgen.algebra.identities.core import Evidence, Theorem, monomials, require_equal
from ghashgen.algebra.identities.spec import (
    PlantedOps,
    field_product,
    joined,
    linear_map,
    reduced,
    residues,
)
from ghashgen.algebra.ops.forms import Form, multiply, variable
from ghashgen.algebra.schemes import aggregate, registry
from ghashgen.algebra.schemes.core import Multiply, Reduce, Shape
from ghashgen.algebra.schemes.twist import twist

CONSTANTS = "every constant that the scheme asks for; without one, the tail of P"


def _product(scheme: Multiply, order: Order, fault: int) -> Evidence:
    """(lo, hi), read as a polynomial, is A·H plus the key term; if WIDE, it is exactly A * B."""
    ops = PlantedOps(fault)
    A, H = variable("A"), variable("H")
    B = twist(ops, H, order)
    entries = scheme.derive(ops, B, order)
    acc = aggregate.accumulate(ops, scheme, order, {}, A, entries)
    lo, hi = scheme.recombine(ops, acc, order)
    register = joined(lo, hi, scheme.shape)
    expected = field_product("A", "H", order)
    if scheme.key_term is not None:
        key = joined(*scheme.key_term(ops, entries, order), scheme.shape)
        expected = expected ^ reduced(key, order)
    elif scheme.shape is Shape.WIDE:
        require_equal(register, multiply(A, B), "lo + hi·x^128 against A * B")
    require_equal(reduced(register, order, ops.unplanted), expected, "(lo, hi) mod P against A·H")
    return Evidence(monomials(expected), "monomials")


def _reduction(scheme: Reduce, order: Order, fault: int) -> Evidence:
    """RES ≡ (lo, hi): both are linear, so comparing every bit of lo and hi is enough."""
    ops = PlantedOps(fault)
    result = scheme.apply(ops, variable("lo"), variable("hi"), order)
    bits = scheme.shape.bits
    images = residues(bits, order, ops.unplanted)
    expected = Form(
        128, 0, {"lo": linear_map(images[:128]), "hi": linear_map(images[bits - 128 :])}
    )
    require_equal(result, expected, "RES against (lo, hi) mod P")
    return Evidence(monomials(expected), "monomials")


def _group(
    multiply_scheme: Multiply, reduce: Reduce, order: Order, max_blocks: int, fault: int
) -> Evidence:
    """Σ A_j·H_j for n = 1 … max_blocks; the sum grows by one product and is finished at each n.

    Power j has its own variables A_j and H_j: what holds for any H_j holds for H_j = H^j. The
    products are summed by xor, so the order in `aggregate.group` gives the same sum.
    """
    ops = PlantedOps(fault)
    acc: dict[str, Form] = {}
    R = expected = None
    for j in range(1, max_blocks + 1):
        A, H = f"A{j}.", f"H{j}."
        entries = multiply_scheme.derive(ops, twist(ops, variable(H), order), order)
        acc = aggregate.accumulate(ops, multiply_scheme, order, acc, variable(A), entries)
        if multiply_scheme.key_term is not None:
            term = aggregate.key_constant(ops, multiply_scheme, reduce, order, entries)
            R = term if R is None else R ^ term
        result = aggregate.finish(ops, multiply_scheme, reduce, order, acc, R)
        product = field_product(A, H, order, fault=ops.unplanted)
        expected = product if expected is None else expected ^ product
        require_equal(result, expected, f"{j} blocks")
    compared = 0 if expected is None else monomials(expected)
    return Evidence(compared, f"monomials at {max_blocks} blocks")


def orders(reduces: list[Reduce]) -> list[Order]:
    """Return the bit orders that at least one of the reductions serves."""
    return [order for order in Order if any(order in reduce.orders for reduce in reduces)]


def theorems(max_blocks: int) -> tuple[Theorem, ...]:
    """Return the theorems about every multiply scheme, reduction and pair that fits."""
    multiplies, reduces = list(registry.multiplies().values()), list(registry.reduces().values())
    out = []
    for scheme in multiplies:
        fitting = [reduce for reduce in reduces if reduce.shape is scheme.shape]
        exact = ", and lo + hi·x^128 = A*B exactly"
        out += [
            Theorem(
                name=f"multiply-{scheme.name}-{order}",
                statement="lo + hi·x^{} ≡ A·H{}{}".format(
                    scheme.shape.bits - 128,
                    " + key term" if scheme.key_term else "",
                    exact if scheme.shape is Shape.WIDE and not scheme.key_term else "",
                ),
                covers=f"all A, H in GF(2^128), {order} registers",
                source=scheme.source,
                constant=CONSTANTS,
                prove=partial(_product, scheme, order),
            )
            for order in orders(fitting)
        ]
    for reduce in reduces:
        out += [
            Theorem(
                name=f"reduce-{reduce.name}-{order}",
                statement=reduce.claim,
                covers=f"all {reduce.shape.bits} bits of (lo, hi), {order} registers",
                source=reduce.source,
                constant=CONSTANTS,
                prove=partial(_reduction, reduce, order),
            )
            for order in reduce.orders
        ]
    for scheme in multiplies:
        for reduce in reduces:
            if reduce.shape is not scheme.shape:
                continue
            out += [
                Theorem(
                    name=f"aggregate-{scheme.name}-{reduce.name}-{order}",
                    statement="RES = A_1·H_1 + … + A_n·H_n, one reduction",
                    covers=f"all A_j and all H_j in GF(2^128), n = 1..{max_blocks}",
                    source="papers/intel-2023, section 3; papers/intel-2010, aggregated reduction",
                    constant=CONSTANTS,
                    prove=partial(_group, scheme, reduce, order, max_blocks),
                )
                for order in reduce.orders
            ]
    return tuple(out)

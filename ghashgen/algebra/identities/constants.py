"""The constants Q, Q' and x^-1, and the linear maps built from them: reflection, twist, fold, K."""

from functools import partial

from ghashgen.algebra.field import gf2, gf128
from ghashgen.algebra.field.bitorder import Order
from ghashgen.algebra.identities.core import (
    Evidence,
    Theorem,
    monomials,
    require_equal,
    require_same,
)
from ghashgen.algebra.identities.spec import (
    PlantedOps,
    digit,
    element_map,
    field_product,
    linear_form,
    placed,
    reduced,
    reflect,
    word,
)
from ghashgen.algebra.ops.forms import Form, multiply, variable
from ghashgen.algebra.schemes.fold import FOLD_CONSTANT, Q_NATURAL, Q_REFLECTED, fold
from ghashgen.algebra.schemes.multiply import k
from ghashgen.algebra.schemes.twist import twist

INTEL_2023 = "papers/intel-2023"


def _reflection(fault: int) -> Evidence:
    """GFMUL64(X', Y') = bitreflect128(Z << 1); a fault shifts by 1 + fault instead."""
    X, Y = variable("X", 64), variable("Y", 64)
    product = multiply(reflect(X), reflect(Y))
    Z = multiply(X, Y)
    expected = reflect(Z.shift(min(1 + fault, Z.width)))
    require_equal(product, expected, "GFMUL64(X', Y')")
    return Evidence(monomials(expected), "monomials")


def _h_shift(fault: int) -> Evidence:
    """The twist is multiplication by x^-1, and a product with it reduces to A·H."""
    order = Order.REFLECTED
    H = variable("H")
    B = twist(PlantedOps(fault), H, order)
    by_field = element_map(lambda e: gf128.mul(e, gf128.X_INVERSE), order)
    require_equal(B, linear_form(by_field, "H"), "H<<1 mod P")
    product = reduced(multiply(variable("A"), B), order)
    expected = field_product("A", "H", order)
    require_equal(product, expected, "A * (H<<1 mod P)")
    return Evidence(monomials(B) + monomials(expected), "monomials")


def _folding(order: Order, fault: int) -> Evidence:
    """The constant matches its definition, and fold(v) is v·x^64 mod P."""
    if order is Order.REFLECTED:
        require_same(Q_REFLECTED ^ fault, gf2.bit_reflect(gf128.Q >> 1, 64), "Q'")
    else:
        require_same(Q_NATURAL ^ fault, gf2.mod(1 << 128, gf128.P), "Q")
    v = fold(PlantedOps(fault), variable("v"), order)
    expected = linear_form(element_map(_by_x64, order), "v")
    require_equal(v, expected, "fold(v)")
    return Evidence(monomials(expected), "monomials")


def _by_x64(element: int) -> int:
    return gf128.mul(element, 1 << 64)


def table_8_key(B: Form, Q: Form) -> Form:
    """Return K = B[1]*Q + B[0]*x^64, as Table 8 writes it."""
    return multiply(digit(B, 1), Q) ^ placed(digit(B, 0), 64, 128)


def table_10_key(B: Form, Q: Form) -> Form:
    """Return K' = B'[0]*Q' + B'[0]*x^64 + B'[1]: B' folded once, as Table 9 folds Y."""
    low, high = digit(B, 0), digit(B, 1)
    return multiply(low, Q) ^ placed(low, 64, 128) ^ high.resize(128)


def _key(order: Order, fault: int) -> Evidence:
    """The table entry K matches the paper's formula, and is B·x^64 mod P."""
    B = variable("B")
    _, K = k.derive(PlantedOps(fault), B, order)
    if order is Order.REFLECTED:
        require_equal(K, table_10_key(B, word(Q_REFLECTED)), "K' against B' folded")
        require_equal(K, reflect(table_8_key(reflect(B), word(gf128.Q))), "K' against K reflected")
    else:
        require_equal(K, table_8_key(B, word(gf128.Q)), "K against Table 8")
    expected = linear_form(element_map(_by_x64, order), "B")
    require_equal(K, expected, "K against B·x^64")
    return Evidence(monomials(expected), "monomials")


def theorems() -> tuple[Theorem, ...]:
    """Return the theorems about constants and linear maps."""
    return (
        Theorem(
            name="gfmul64-reflection",
            statement="GFMUL64(X', Y') = bitreflect128(Z << 1), Z = GFMUL64(X, Y)",
            covers="all 64-bit X, Y",
            source=f"{INTEL_2023}, section 2.2.2",
            constant="the shift by 1",
            prove=_reflection,
        ),
        Theorem(
            name="h-shift",
            statement="H<<1 mod P = H·x^-1 and A * (H<<1 mod P) ≡ A·H, registers reflected",
            covers="all A, H in GF(2^128)",
            source="papers/intel-2010, H<<1 mod P",
            constant="x^-1 = x^127 + x^6 + x + 1",
            prove=_h_shift,
        ),
        Theorem(
            name="q-prime",
            statement="Q' = bitreflect64(Q >> 1), and v0*Q' + swap64(v) = v·x^64 mod P, reflected",
            covers="all 128-bit v",
            source=f"{INTEL_2023}, Table 9",
            constant=f"Q' = {Q_REFLECTED:#x}, high half of {FOLD_CONSTANT[Order.REFLECTED]:#x}",
            prove=partial(_folding, Order.REFLECTED),
        ),
        Theorem(
            name="q",
            statement="Q = x^128 mod P, and v1*Q + v0·x^64 = v·x^64 mod P",
            covers="all 128-bit v",
            source=f"{INTEL_2023}, Tables 5 and 6",
            constant=f"Q = {Q_NATURAL:#x}",
            prove=partial(_folding, Order.NATURAL),
        ),
        Theorem(
            name="k-natural",
            statement="K = B1*Q + B0·x^64 = B·x^64 mod P",
            covers="all B in GF(2^128)",
            source=f"{INTEL_2023}, Tables 7 and 8",
            constant=f"Q = {Q_NATURAL:#x}",
            prove=partial(_key, Order.NATURAL),
        ),
        Theorem(
            name="k-reflected",
            statement="K' = B'0*Q' + B'0·x^64 + B'1 = bitreflect128(K) = B'·x^64 mod P, reflected",
            covers="all B' in GF(2^128)",
            source=f"{INTEL_2023}, Table 10",
            constant=f"Q' = {Q_REFLECTED:#x}",
            prove=partial(_key, Order.REFLECTED),
        ),
    )

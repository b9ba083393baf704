"""The algorithms that papers/intel-2023 prints, Tables 5, 6, 8, 9 and 10.

They use the paper's digits, independently of `schemes`: X[i] is 64-bit digit i. A'·B' of reflected
registers, with B' not twisted, is A·B·x (the paper's C << 1).
"""

from collections.abc import Callable
from functools import partial

from ghashgen.algebra.field import gf128
from ghashgen.algebra.field.bitorder import Order
from ghashgen.algebra.identities.constants import INTEL_2023, table_8_key, table_10_key
from ghashgen.algebra.identities.core import Evidence, Theorem, monomials, require_equal
from ghashgen.algebra.identities.spec import digit, digits, field_product, placed, word
from ghashgen.algebra.ops.forms import Form, multiply, variable
from ghashgen.algebra.schemes.fold import Q_NATURAL, Q_REFLECTED

Table = Callable[[Form, Form, Form], Form]
"""(A, B, Q) → RES."""


def _schoolbook(A: Form, B: Form) -> Form:
    """Step 1 of Tables 5 and 9: C, 256 bits."""
    C = placed(multiply(digit(A, 0), digit(B, 0)), 0, 256)
    C ^= placed(multiply(digit(A, 0), digit(B, 1)), 64, 256)
    C ^= placed(multiply(digit(A, 1), digit(B, 0)), 64, 256)
    return C ^ placed(multiply(digit(A, 1), digit(B, 1)), 128, 256)


def _rows(A: Form, first: Form, second: Form) -> Form:
    """Step 1 of Tables 8 and 10: A[0]*first + A[1]*second, 192 bits."""
    Y = placed(multiply(digit(A, 0), digit(first, 0)), 0, 192)
    Y ^= placed(multiply(digit(A, 0), digit(first, 1)), 64, 192)
    Y ^= placed(multiply(digit(A, 1), digit(second, 0)), 0, 192)
    return Y ^ placed(multiply(digit(A, 1), digit(second, 1)), 64, 192)


def _fold_top(Y: Form, Q: Form) -> Form:
    """The folding step of Tables 5 and 8: RES = Y[2]*Q + Y[1:0]."""
    return multiply(digit(Y, 2), Q) ^ digits(Y, 1, 0)


def _fold_bottom(Y: Form, Q: Form) -> Form:
    """The folding step of Tables 9 and 10: RES' = Y[0]*Q' + Y[0]*x^64 + Y[2:1]."""
    return multiply(digit(Y, 0), Q) ^ placed(digit(Y, 0), 64, 128) ^ digits(Y, 2, 1)


def _table_5(A: Form, B: Form, Q: Form) -> Form:
    C = _schoolbook(A, B)
    Y = placed(multiply(digit(C, 3), Q), 64, 192) ^ digits(C, 2, 0)
    return _fold_top(Y, Q)


def _table_6(A: Form, B: Form, Q: Form) -> Form:
    K = multiply(digit(B, 1), Q)
    Y = placed(multiply(digit(A, 0), digit(B, 0)), 0, 192)
    Y ^= placed(multiply(digit(A, 0), digit(B, 1)), 64, 192)
    Y ^= placed(multiply(digit(A, 1), digit(B, 0)), 64, 192)
    Y ^= placed(multiply(digit(A, 1), digit(K, 0)), 0, 192)
    Y ^= placed(multiply(digit(A, 1), digit(K, 1)), 64, 192)
    return _fold_top(Y, Q)


def _table_8(A: Form, B: Form, Q: Form) -> Form:
    return _fold_top(_rows(A, B, table_8_key(B, Q)), Q)


def _table_9(A: Form, B: Form, Q: Form) -> Form:
    C = _schoolbook(A, B)
    low = digit(C, 0)
    Y = placed(multiply(low, Q), 0, 192) ^ placed(low, 64, 192) ^ digits(C, 3, 1)
    return _fold_bottom(Y, Q)


def _table_10(A: Form, B: Form, Q: Form) -> Form:
    return _fold_bottom(_rows(A, table_10_key(B, Q), B), Q)


def _prove(table: Table, order: Order, fault: int) -> Evidence:
    reflected = order is Order.REFLECTED
    Q = word((Q_REFLECTED if reflected else Q_NATURAL) ^ fault)
    expected = field_product("A", "B", order, factor=gf128.X if reflected else 1)
    require_equal(table(variable("A"), variable("B"), Q), expected, "RES")
    return Evidence(monomials(expected), "monomials")


def theorems() -> tuple[Theorem, ...]:
    """Return the theorems about the paper's algorithms."""
    natural, reflected = "RES = A·B mod P", "RES' = bitreflect128(A·B·x mod P)"
    rows: tuple[tuple[str, str, Table, Order], ...] = (
        ("5", f"{natural} by two folds with Q", _table_5, Order.NATURAL),
        ("6", f"{natural} with K = B1*Q, five products", _table_6, Order.NATURAL),
        ("8", f"{natural} with K = B1*Q + B0·x^64", _table_8, Order.NATURAL),
        ("9", f"{reflected} by two folds with Q'", _table_9, Order.REFLECTED),
        ("10", f"{reflected} with K' = B' folded by 64", _table_10, Order.REFLECTED),
    )
    return tuple(
        Theorem(
            name=f"table-{number}",
            statement=statement,
            covers="all A, B in GF(2^128)",
            source=f"{INTEL_2023}, Table {number}" + (", Table 7 step 1" if number == "8" else ""),
            constant="Q'" if order is Order.REFLECTED else "Q",
            prove=partial(_prove, table, order),
        )
        for number, statement, table, order in rows
    )

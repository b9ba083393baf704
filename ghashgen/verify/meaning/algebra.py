"""GHASH in registers: table entries, products and states as exact forms.

Everything is derived from `ghashgen.algebra.field` for one bit order. Registers are 128 bits,
halves V = V1·x^64 + V0; B_i is the register of twist(H^i), and its bits are the variables B1, B2,
….

    kind  cell of the table for H^i
    B     B_i
    S     both halves B_i0 + B_i1
    K     B_i folded once by 64: B1·Q + B0·x^64 (natural), B0·Q' + swap64(B) (reflected)
    C1    (lo B0, hi K0) reflected, (lo K0, hi B0) natural
    C2    (lo B1, hi K1) reflected, (lo K1, hi B1) natural
    R     the sum over j <= i of fold(C1_j0·C1_j1, C2_j0·C2_j1)
    R/s   the same over j = i, i - s, i - 2s, … > 0
    H     the register of H^i, not twisted
    N     the block of H^i as SP 800-38D writes it (POLYVAL: as RFC 8452 writes blocks)

A value v·H^m, v being 128 variables that stand for a register, is bilinear: output bit k holds
B_u·v_w exactly if the coefficient of the basis product says so. So a comparison of integers answers
whether a form is the state.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from functools import cache

from ghashgen.algebra.field.bitorder import (
    BLOCK_BYTES,
    Order,
    block_from_register,
    byte_reverse,
    element_from_register,
    exponent_of_bit,
    register_from_block,
    register_from_element,
    twist,
    untwist,
)
from ghashgen.algebra.field.gf128 import X_INVERSE, Q, X, mul
from ghashgen.algebra.ops.forms import (
    QUAD_BITS,
    VAR_BITS,
    Form,
    Moves,
    concat,
    constant,
    multiply,
    set_bits,
    shared,
    variable,
)
from ghashgen.verify.core.moves import moves_of
from ghashgen.verify.meaning.letters import ROUND_KEY_LETTER

ROUND_KEY = "key"
"""The kind of a cell that is a round key of AES: 128 bits of its own, in memory order."""

Sum = frozenset[tuple[str, int]]
"""Values, each with a power of H: the sum of the products. An even number of equal ones is none.
"""

ZERO = "0"
"""The kind of a cell of zeros."""

Q_REFLECTED = 0xC200000000000000
"""bitreflect64(Q >> 1)."""


def _block(value: int) -> bytes:
    return value.to_bytes(BLOCK_BYTES, "little")


def _from_register(value: int, order: Order, op: str) -> bytes:
    """Return the block of a register.

    POLYVAL is GHASH on reversed bytes (RFC 8452, appendix A).
    """
    block = block_from_register(value, order)
    return block if op == "ghash" else byte_reverse(block)


def _to_register(block: bytes, order: Order, op: str) -> int:
    return register_from_block(block if op == "ghash" else byte_reverse(block), order)


@cache
def memory_moves(order: Order, op: str = "ghash") -> Moves:
    """Return the map from a register to its block, loaded little-endian."""
    return moves_of(lambda v: int.from_bytes(_from_register(v, order, op), "little"))


@cache
def register_moves(order: Order, op: str = "ghash") -> Moves:
    """Return the inverse of `memory_moves`: from a block as loaded to its register."""
    return moves_of(lambda v: _to_register(_block(v), order, op))


@cache
def subkey_moves(order: Order, op: str) -> Moves:
    """Return the map from B_1 to the hash subkey in memory, loaded little-endian.

    For POLYVAL, GHASH's H is mulX_GHASH of the reversed subkey (RFC 8452, appendix A).
    """

    def subkey(v: int) -> int:
        H = untwist(element_from_register(v, order), order)
        element = H if op == "ghash" else mul(H, X_INVERSE)
        block = _from_register(register_from_element(element, order), order, op)
        return int.from_bytes(block, "little")

    return moves_of(subkey)


@cache
def untwist_moves(order: Order) -> Moves:
    """Return the map from B_i to the register of H^i."""
    return moves_of(
        lambda v: register_from_element(untwist(element_from_register(v, order), order), order)
    )


@cache
def _basis_products(order: Order) -> tuple[tuple[int, ...], ...]:
    """Return, for u and w, the register of (element of bit u)·(untwisted element of bit w)."""
    # A product of two powers of x is a power of x: 256 of them serve all 128² pairs.
    powers = [untwist(1, order)]
    for _ in range(2 * VAR_BITS):
        powers.append(mul(powers[-1], X))
    registers = [register_from_element(p, order) for p in powers]
    x = [exponent_of_bit(k, order) for k in range(VAR_BITS)]
    return tuple(tuple(registers[x[u] + x[w]] for w in range(VAR_BITS)) for u in range(VAR_BITS))


@cache
def product_rows(order: Order) -> int:
    """Return the packed quadratic part of the register v·H^m, for the pair (B_m, v).

    Row k (stride 128²) has bit u·128 + w where bit k of the product holds B_u·v_w.
    """
    rows = [0] * VAR_BITS
    for u, line in enumerate(_basis_products(order)):
        columns = [0] * VAR_BITS
        for w, value in enumerate(line):
            for k in set_bits(value):
                columns[k] |= 1 << w
        for k in range(VAR_BITS):
            rows[k] |= columns[k] << u * VAR_BITS
    stride = QUAD_BITS // 8
    packed = b"".join(row.to_bytes(stride, "little") for row in rows)
    return shared(int.from_bytes(packed, "little"))


@cache
def _identity() -> int:
    return variable("v").linear["v"]


class Algebra:
    """Forms of table entries and states, in one bit order."""

    def __init__(self, order: Order, op: str = "ghash", rounds: int = -1) -> None:
        self.order = order
        self.op = op
        self.rounds = rounds
        """The greatest number of a round key."""
        self.memory = memory_moves(order, op)
        self.register = register_moves(order, op)
        self._entries: dict[tuple[str, int], Form] = {}
        self._powers: dict[tuple[int, int], list[tuple[str, Form]]] = {}

    def entry(self, kind: str, power: int) -> Form:
        """Return the definition of a table entry in the bits of B1, B2, …."""
        key = (kind, power)
        if key not in self._entries:
            self._entries[key] = self._define(kind, power)
        return self._entries[key]

    def defines(self, kind: str, power: int) -> bool:
        """Return whether there is such an entry."""
        if kind == ROUND_KEY:
            return 0 <= power <= self.rounds
        base, slash, step = kind.partition("/")
        stepped = base == "R" and re.fullmatch("[1-9][0-9]*", step) is not None
        return power >= 1 and base in (*KINDS, "subkey") and (stepped or not slash)

    def _define(self, kind: str, power: int) -> Form:
        kind, _, step = kind.partition("/")
        if step:
            return self._stepped(power, int(step))
        if kind == ROUND_KEY:
            return variable(f"{ROUND_KEY_LETTER}{power}")
        if kind == "subkey":
            return self.entry("B", power).moves(subkey_moves(self.order, self.op), 128)
        return CELLS[kind](self, power)

    def _stepped(self, power: int, step: int) -> Form:
        """The sum of the key terms of H^power, H^(power - step), … down to a power above 0."""
        out = Form(128)
        for i in range(power, 0, -step):
            out ^= self.entry("R", i)
            if i > 1:
                out ^= self.entry("R", i - 1)
        return out

    def halves(self, kind: str, power: int) -> tuple[Form, Form]:
        """Return the low and the high half of a table entry."""
        entry = self.entry(kind, power)
        return entry.slice(0, 64), entry.slice(64, 64)

    def power_forms(self, a: int, b: int) -> list[tuple[str, Form]]:
        """Return the forms of B, H and N for H^(a+b) in the bits of B_a and B_b, a <= b."""
        if (a, b) not in self._powers:
            B = self.powers_product(a, b)
            H = B.moves(untwist_moves(self.order), 128)
            self._powers[a, b] = [("B", B), ("H", H), ("N", H.moves(self.memory, 128))]
        return self._powers[a, b]

    def powers_product(self, a: int, b: int) -> Form:
        """Return B_{a+b} as a form in the bits of B_a and B_b, a <= b."""
        # One factor is untwisted and the other not, so the product is twisted, like B_{a+b}.
        return self.squared(f"B{a}") if a == b else self.multiplied(f"B{a}", f"B{b}")

    def state(self, sum_: Iterable[tuple[str, int]]) -> Form:
        """Return the register Σ v·H^m over variables v, each with an exponent m >= 0."""
        linear: dict[str, int] = {}
        quadratic: dict[tuple[str, str], int] = {}
        for v, m in sum_:
            if m:
                quadratic[f"B{m}", v] = product_rows(self.order)
            else:
                linear[v] = _identity()
        return Form(128, 0, linear, quadratic)

    def multiplied(self, a: str, b: str) -> Form:
        """Return the product of two variables, one of them a key operand, that is, twisted."""
        return Form(128, 0, {}, {(min(a, b), max(a, b)): product_rows(self.order)})

    def squared(self, a: str) -> Form:
        """Return the key operand of the square of a variable that is one.

        Squaring is linear: u·w + w·u = 0, and u·u = u stands on the diagonal.
        """
        basis = _basis_products(self.order)
        return variable(a).moves(moves_of(lambda v: _diagonal(basis, v)), 128)

    def multiple(self, value: int, power: int) -> Form:
        """Return the register v·H^power of a constant v, for a power from 1."""
        basis = _basis_products(self.order)
        chosen = list(set_bits(value))

        def product(u: int) -> int:
            out = 0
            for i in set_bits(u):
                for w in chosen:
                    out ^= basis[i][w]
            return out

        return variable(f"B{power}").moves(moves_of(product), VAR_BITS)

    @property
    def unit(self) -> int:
        """Return power's result register for the exponent 0, which is that of B_0 = twist(1)."""
        B = constant(register_from_element(twist(1, self.order), self.order), VAR_BITS)
        return self.power_result(B).constant

    def power_result(self, B: Form) -> Form:
        """Return power's result register for the exponent i, from the form of B_i."""
        return B.moves(subkey_moves(self.order, self.op), VAR_BITS).moves(self.register, VAR_BITS)

    def recognise(self, form: Form) -> Sum | None:
        """Return the sum Σ v·H^m over blocks and states v that a form is exactly, else None."""
        if form.constant:
            return None
        rows, identity = product_rows(self.order), _identity()
        out: list[tuple[str, int]] = []
        for v, packed in form.linear.items():
            if v[0] == "B" or packed != identity:
                return None
            out.append((v, 0))
        for (g, v), packed in form.quadratic.items():
            # B0 is combine's factor: a product by it is no power of H, and not the value itself.
            if g[0] != "B" or g == "B0" or v[0] == "B" or packed != rows:
                return None
            out.append((v, int(g[1:])))
        return frozenset(out)


def _diagonal(basis: tuple[tuple[int, ...], ...], value: int) -> int:
    out = 0
    for u in set_bits(value):
        out ^= basis[u][u]
    return out


def _sum_of_halves(of: Algebra, i: int) -> Form:
    low, high = of.halves("B", i)
    return concat(low ^ high, low ^ high)


def _folded(of: Algebra, i: int) -> Form:
    low, high = of.halves("B", i)
    if of.order is Order.REFLECTED:
        return multiply(low, constant(Q_REFLECTED, 64)) ^ concat(high, low)
    return multiply(high, constant(Q, 64)) ^ low.resize(128).shift(64)


def _pair(of: Algebra, i: int, half: int) -> Form:
    B, K = of.halves("B", i)[half], of.halves("K", i)[half]
    return concat(B, K) if of.order is Order.REFLECTED else concat(K, B)


def _key_term(of: Algebra, i: int) -> Form:
    """The final fold of the K scheme, of Ylo + Yhi·x^64 (natural) or its mirror image."""
    y_low, y_high = (multiply(*of.halves(kind, i)) for kind in ("C1", "C2"))
    if of.order is Order.REFLECTED:
        swapped = concat(y_low.slice(64, 64), y_low.slice(0, 64))
        term = multiply(y_low.slice(0, 64), constant(Q_REFLECTED, 64)) ^ swapped ^ y_high
    else:
        top = multiply(y_high.slice(64, 64), constant(Q, 64))
        term = top ^ y_low ^ y_high.slice(0, 64).resize(128).shift(64)
    return term ^ of.entry("R", i - 1) if i > 1 else term


CELLS: Mapping[str, Callable[[Algebra, int], Form]] = {
    "B": lambda of, i: variable(f"B{i}"),
    "S": _sum_of_halves,
    "K": _folded,
    "C1": lambda of, i: _pair(of, i, 0),
    "C2": lambda of, i: _pair(of, i, 1),
    "R": _key_term,
    "H": lambda of, i: of.entry("B", i).moves(untwist_moves(of.order), 128),
    "N": lambda of, i: of.entry("H", i).moves(of.memory, 128),
}
"""What a cell of a table may hold: for each kind, the cell for H^i in the bits of B1, B2, …."""

KINDS = tuple(CELLS)
"""The kinds of cells."""

"""The specification's side of a theorem: `field`'s functions on registers, as exact forms.

A linear map is determined by its values on the basis x^0 … x^127, a bilinear one by its values on
the 128 × 128 pairs of the basis. So `algebra.field.gf128` is called only on basis elements, and the
resulting forms hold for every input.

A register of w bits stands for a polynomial: in natural order bit k is the coefficient of x^k, in
reflected order that of x^(w-1-k).
"""

from collections.abc import Callable, Iterable, Sequence
from functools import cache

from ghashgen.algebra.field import gf2, gf128
from ghashgen.algebra.field.bitorder import Order, exponent_of_bit, register_from_element
from ghashgen.algebra.ops.forms import QUAD_BITS, VAR_BITS, Form, Moves, concat, constant, set_bits
from ghashgen.algebra.ops.symbolic import SymbolicOps
from ghashgen.algebra.schemes.core import Shape

LIMIT = 1 << 64
"""Faults are below this, so that they fit a 64-bit digit."""


class PlantedOps(SymbolicOps):
    """Symbolic operations with a fault in every constant that a scheme asks for.

    The fault goes into both halves, because a constant may be used by either half alone. If a
    scheme asks for no constant, `unplanted` leaves the fault to the specification, for P.
    """

    def __init__(self, fault: int) -> None:
        if not 0 <= fault < LIMIT:
            raise ValueError(f"a fault has at most 64 bits, not {fault:#x}")
        self._fault = fault
        self._asked = False

    @property
    def unplanted(self) -> int:
        """The fault if no constant has been asked for, else 0."""
        return 0 if self._asked else self._fault

    def _planted(self, value: int) -> int:
        self._asked = True
        return value ^ self._fault ^ self._fault << 64

    def const(self, value: int, name: str) -> Form:
        """Return the constant form, fault included."""
        return super().const(self._planted(value), name)

    def and_const(self, a: Form, value: int, name: str, note: str = "") -> Form:
        """Return the selected bits, fault included."""
        return super().and_const(a, self._planted(value), name, note)


def _packed(positions: Iterable[int], bits: int) -> int:
    """Return an integer with these bits toggled."""
    data = bytearray(-(-bits // 8))
    for position in positions:
        data[position >> 3] ^= 1 << (position & 7)
    return int.from_bytes(data, "little")


def linear_map(images: Sequence[int]) -> int:
    """Pack a linear map of the bits of a variable: bit u goes to `images[u]`, of 128 bits."""
    ones = (k * VAR_BITS + u for u, image in enumerate(images) for k in set_bits(image))
    return _packed(ones, 128 * VAR_BITS)


def linear_form(images: Sequence[int], name: str) -> Form:
    """Return 128 bits, linear in the variable `name`: its bit u adds `images[u]`."""
    return Form(128, 0, {name: linear_map(images)})


def moves(images: Sequence[int]) -> Moves:
    """Return the map that takes bit k of a register to `images[k]`, as shifts and masks."""
    kept: dict[int, int] = {}
    for k, image in enumerate(images):
        for m in set_bits(image):
            kept[m - k] = kept.get(m - k, 0) | 1 << m
    return tuple(sorted(kept.items()))


def exponent(k: int, width: int, order: Order) -> int:
    """Return the exponent of x whose coefficient is bit k of a register of `width` bits."""
    return k if order is Order.NATURAL else width - 1 - k


def element_map(of: Callable[[int], int], order: Order) -> list[int]:
    """Return a linear map of elements as a map of 128-bit registers: the image of each bit."""
    return [register_from_element(of(1 << exponent_of_bit(k, order)), order) for k in range(128)]


@cache
def residues(width: int, order: Order, fault: int = 0) -> tuple[int, ...]:
    """Return, for each bit of a register of `width` bits, its power of x mod P as a register.

    The fault goes into the tail of P.
    """
    P = gf128.P ^ fault
    powers = (gf2.mod(1 << exponent(k, width, order), P) for k in range(width))
    return tuple(register_from_element(power, order) for power in powers)


def joined(lo: Form, hi: Form, shape: Shape) -> Form:
    """Return the register of `shape.bits` bits that (lo, hi) represent."""
    bits = shape.bits
    return lo.resize(bits) ^ hi.resize(bits).shift(bits - 128)


def reduced(register: Form, order: Order, fault: int = 0) -> Form:
    """Return the 128-bit register of the same polynomial mod P."""
    return register.moves(moves(residues(register.width, order, fault)), 128)


@cache
def _tensor(order: Order, factor: int, fault: int) -> int:
    # x^u·x^v = x^(u+v) in GF(2)[x]; the real P is left to gf128
    powers = [gf2.mod(1 << e, gf128.P ^ fault) for e in range(2 * 128 - 1)] if fault else []

    def product(u: int, v: int) -> int:
        i, j = exponent_of_bit(u, order), exponent_of_bit(v, order)
        ab = powers[i + j] if fault else gf128.mul(1 << i, 1 << j)
        return ab if factor == 1 else gf128.mul(ab, factor)

    def positions() -> Iterable[int]:
        for u in range(VAR_BITS):
            for v in range(VAR_BITS):
                for e in set_bits(product(u, v)):
                    yield exponent_of_bit(e, order) * QUAD_BITS + u * VAR_BITS + v

    return _packed(positions(), 128 * QUAD_BITS)


def field_product(a: str, b: str, order: Order, factor: int = 1, fault: int = 0) -> Form:
    """Return the register of a·b·factor mod P for the registers `a` and `b`, two variables.

    The fault goes into the tail of P, in the product a·b. `a` must sort before `b`.
    """
    if a >= b:
        raise ValueError(f"forms keep a pair of variables sorted: {a!r} is not before {b!r}")
    return Form(128, 0, {}, {(a, b): _tensor(order, factor, fault)})


def reflect(form: Form) -> Form:
    """Return the form with bit k moved to bit width-1-k."""

    def rows(value: int, stride: int) -> int:
        step = stride // 8
        data = value.to_bytes(form.width * step, "little")
        starts = range(len(data) - step, -1, -step)
        return int.from_bytes(b"".join(data[i : i + step] for i in starts), "little")

    return Form(
        form.width,
        gf2.bit_reflect(form.constant, form.width),
        {name: rows(value, VAR_BITS) for name, value in form.linear.items()},
        {pair: rows(value, QUAD_BITS) for pair, value in form.quadratic.items()},
    )


def digit(form: Form, index: int) -> Form:
    """Return 64-bit digit `index`, as the papers write X[index]."""
    return form.slice(64 * index, 64)


def digits(form: Form, last: int, first: int) -> Form:
    """Return digits first … last joined, as the papers write X[last:first]."""
    return concat(*(digit(form, i) for i in range(first, last + 1)))


def placed(form: Form, power: int, width: int) -> Form:
    """Return form·x^power in `width` bits."""
    return form.resize(width).shift(power)


def word(value: int) -> Form:
    """Return a 64-bit constant."""
    return constant(value, 64)

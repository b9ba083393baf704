"""Exact polynomials of degree <= 2 over GF(2), packed: one for every bit of a register.

A `Form` of width n is n polynomials in the bits of named 128-bit variables. Because x·x = x over
GF(2), a polynomial is a set of monomials 1, u, u·v (u < v), and addition is the symmetric
difference of sets. So two forms are equal for every input exactly if their sets are equal. The n
sets are packed side by side in one Python integer for each variable (or pair of variables), so that
adding two registers is one big-integer XOR:

    linear[g]        bit k·128 + u             <-> bit k contains g_u
    quadratic[g, h]  bit k·128² + u·128 + v    <-> bit k contains g_u·h_v   (g < h, or g = h, u < v)

The product of two linear forms is exact; a product of degree 3 or more is refused.

A quadratic part is an integer of up to 2^22 bits, and a kernel repeats the same few in every block:
A_1·B_8, A_2·B_7, … differ only in names. So equal integers are kept once (`_shared`), and each
operation on a pair of them is done once (`_once`).
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache, lru_cache
from typing import TypeVar

K = TypeVar("K", str, tuple[str, str])

VAR_BITS = 128
QUAD_BITS = VAR_BITS * VAR_BITS

Linear = Mapping[str, int]
Quadratic = Mapping[tuple[str, str], int]


class DegreeError(ValueError):
    """A product would have degree above 2, which these forms cannot hold."""


Moves = tuple[tuple[int, int], ...]
"""A linear map of bits: the sum, over pairs (shift, keep), of (value << shift) & keep."""

LARGE = 1 << 16
"""Integers with at least this many bits are shared."""

BUDGET = 1 << 30
"""Shared integers to hold, in bits, before starting afresh: 128 MiB."""


class _Shared:
    """Large integers by value, and results by the identity of their operands."""

    def __init__(self) -> None:
        self.by_value: dict[int, int] = {}
        # Values hold the operands, so that no identity in a key is reused.
        self.results: dict[tuple[object, ...], tuple[int, int, int]] = {}
        self.held = 0

    def keep(self, value: int) -> int:
        """Return the shared object with this value."""
        known = self.by_value.setdefault(value, value)
        if known is value:
            self.held += value.bit_length()
        return known

    def once(self, key: tuple[object, ...], a: int, b: int, compute: Callable[[], int]) -> int:
        """Return the result of an operation on these two objects, computed only the first time."""
        hit = self.results.get(key)
        if hit is not None:
            return hit[2]
        if self.held > BUDGET:
            self.by_value.clear()
            self.results.clear()
            self.held = 0
        result = self.keep(compute())
        self.results[key] = (a, b, result)
        return result


_SHARED = _Shared()

shared = _SHARED.keep
"""Returns the one integer of a value: what is equal to it compares at once."""


def _xor(a: int, b: int) -> int:
    if a is b:
        return 0
    if a.bit_length() < LARGE or b.bit_length() < LARGE:
        return a ^ b
    key = ("xor", id(a), id(b)) if id(a) < id(b) else ("xor", id(b), id(a))
    return _SHARED.once(key, a, b, lambda: a ^ b)


def _apply(value: int, moves: Moves, stride: int) -> int:
    """Return the packed `value`, rows of `stride` bits, with every row moved."""
    if value.bit_length() < LARGE:
        return _moved_small(value, moves, stride) if value else 0
    key = "moves", id(value), moves, stride
    return _SHARED.once(key, value, 0, lambda: _moved(value, moves, stride))


@lru_cache(maxsize=1 << 12)
def _moved_small(value: int, moves: Moves, stride: int) -> int:
    return _moved(value, moves, stride)


def _moved(value: int, moves: Moves, stride: int) -> int:
    out = 0
    for shift, keep in moves:
        moved = value << shift * stride if shift >= 0 else value >> -shift * stride
        out ^= moved & _spread_mask(keep, stride)
    return out


@cache
def _ones(count: int) -> int:
    return (1 << count) - 1


@cache
def _every(count: int, stride: int) -> int:
    """Return an integer with bits 0, stride, …, (count-1)·stride set."""
    return sum(1 << i * stride for i in range(count))


def _add(a: Mapping[K, int], b: Mapping[K, int]) -> dict[K, int]:
    out = dict(a)
    for key, value in b.items():
        old = out.get(key)
        total = value if old is None else _xor(old, value)
        if total:
            out[key] = total
        else:
            out.pop(key, None)
    return out


def _toggle(target: dict[K, int], key: K, value: int) -> None:
    old = target.pop(key, 0)
    total = _xor(old, value) if old else value
    if total:
        target[key] = total


def set_bits(value: int) -> Iterator[int]:
    """Yield the positions of the one bits of `value`, lowest first."""
    while value:
        low = value & -value
        yield low.bit_length() - 1
        value ^= low


@dataclass(frozen=True)
class Form:
    """`width` polynomials of degree <= 2 over GF(2); see the module for the packing."""

    width: int
    constant: int = 0
    linear: Linear = field(default_factory=dict)
    quadratic: Quadratic = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.constant >> self.width:
            raise ValueError(f"constant wider than {self.width} bits")

    @property
    def degree(self) -> int:
        """The largest degree of a monomial present; 0 for a constant."""
        return 2 if self.quadratic else 1 if self.linear else 0

    def __xor__(self, other: "Form") -> "Form":
        if self.width != other.width:
            raise ValueError(f"widths differ: {self.width} and {other.width}")
        return Form(
            self.width,
            self.constant ^ other.constant,
            _add(self.linear, other.linear),
            _add(self.quadratic, other.quadratic),
        )

    def _remap(self, width: int, shift: int, keep: int) -> "Form":
        """Move bit k to bit k + shift, then keep only the bits that `keep` selects."""
        return self.moves(((shift, keep),), width)

    def moves(self, moves: Moves, width: int) -> "Form":
        """Return the sum, over (shift, keep), of the bits moved up by `shift` and selected by
        `keep`.

        Every linear map of bits is such a sum; `keep` must fit in `width`.
        """
        linear = {g: m for g, v in self.linear.items() if (m := _apply(v, moves, VAR_BITS))}
        quadratic = {p: m for p, v in self.quadratic.items() if (m := _apply(v, moves, QUAD_BITS))}
        return Form(width, _apply(self.constant, moves, 1), linear, quadratic)

    def shift(self, count: int) -> "Form":
        """Shift left by `count` bits (right if negative) within the width."""
        return self._remap(self.width, count, _ones(self.width))

    def mask(self, keep: int) -> "Form":
        """Keep the bits selected by `keep`, zero the others."""
        return self._remap(self.width, 0, keep & _ones(self.width))

    def slice(self, start: int, width: int) -> "Form":
        """Return bits [start, start + width) as a form of that width."""
        return self._remap(width, -start, _ones(width))

    def resize(self, width: int) -> "Form":
        """Zero-extend or cut to `width` bits."""
        return self._remap(width, 0, _ones(min(width, self.width)))


def _spread_mask(keep: int, stride: int) -> int:
    return _wide_mask(keep, stride) if stride == QUAD_BITS else _narrow_mask(keep, stride)


@lru_cache(maxsize=1 << 14)
def _narrow_mask(keep: int, stride: int) -> int:
    return _widened(keep, stride)


@lru_cache(maxsize=256)
def _wide_mask(keep: int, stride: int) -> int:
    return _widened(keep, stride)


def _widened(keep: int, stride: int) -> int:
    """Return `keep` with every bit widened to `stride` bits."""
    out = 0
    run_start = None
    for k in range(keep.bit_length() + 1):
        if keep >> k & 1:
            run_start = k if run_start is None else run_start
        elif run_start is not None:
            out |= _ones((k - run_start) * stride) << run_start * stride
            run_start = None
    return out


def constant(value: int, width: int) -> Form:
    """Return the constant form."""
    return Form(width, value)


def variable(name: str, width: int = VAR_BITS) -> Form:
    """Return bits 0 … width-1 of the fresh variable `name`, width <= 128."""
    if not 0 < width <= VAR_BITS:
        raise ValueError(f"a variable has 1 to {VAR_BITS} bits, not {width}")
    return Form(width, 0, {name: _every(width, VAR_BITS + 1)})


def concat(*parts: Form) -> Form:
    """Join forms, the first in the lowest bits."""
    width = sum(part.width for part in parts)
    out = Form(width)
    at = 0
    for part in parts:
        out = out ^ part._remap(width, at, _ones(part.width) << at)
        at += part.width
    return out


def _spread(linear: int, width: int, row_stride: int, var_stride: int) -> int:
    """Repack a linear part so that (k, v) sits at k·row_stride + v·var_stride."""
    out = 0
    for k in range(width):
        row = linear >> k * VAR_BITS & _ones(VAR_BITS)
        if var_stride != 1:
            row = sum(1 << v * var_stride for v in set_bits(row))
        out |= row << k * row_stride
    return out


def _rows(linear: int, width: int) -> list[tuple[int, int]]:
    """List (bit k, variable index u) for every monomial of a linear part."""
    mask = _ones(VAR_BITS)
    return [(k, u) for k in range(width) for u in set_bits(linear >> k * VAR_BITS & mask)]


def multiply(a: Form, b: Form) -> Form:
    """Return the carry-less product of two forms of degree <= 1, width a.width + b.width.

    A constant factor allows any degree of the other.

    Raises:
        DegreeError: the product has degree above 2.
    """
    if a.degree + b.degree > 2:
        raise DegreeError(f"carry-less product of degrees {a.degree} and {b.degree}")
    width = a.width + b.width
    out = Form(width)
    for i in set_bits(a.constant):
        out = out ^ b._remap(width, i, _ones(b.width) << i)
    variable_a = Form(a.width, 0, a.linear, a.quadratic)
    for j in set_bits(b.constant):
        out = out ^ variable_a._remap(width, j, _ones(a.width) << j)
    linear = dict(out.linear)
    quadratic = dict(out.quadratic)
    for g, rows_g in a.linear.items():
        for h, rows_h in b.linear.items():
            if g == h:
                _square(linear, quadratic, g, (rows_g, a.width), (rows_h, b.width))
            elif g < h:
                _cross(quadratic, (g, h), (rows_g, a.width), (rows_h, b.width))
            else:
                _cross(quadratic, (h, g), (rows_h, b.width), (rows_g, a.width))
    return Form(width, out.constant, linear, quadratic)


def _cross(
    quadratic: dict[tuple[str, str], int],
    pair: tuple[str, str],
    first: tuple[int, int],
    second: tuple[int, int],
) -> None:
    """Add Σ first_i·second_j at bit i + j, for linear parts in two different variables."""
    _toggle(quadratic, pair, _cross_product(first, second))


@lru_cache(maxsize=256)
def _cross_product(first: tuple[int, int], second: tuple[int, int]) -> int:
    first_rows, second_rows = _rows(*first), _rows(*second)
    total = 0
    # One big shift for each monomial of one side: iterate over the side with fewer.
    if len(first_rows) <= len(second_rows):
        spread = _spread(*second, QUAD_BITS, 1)
        for i, u in first_rows:
            total ^= spread << i * QUAD_BITS + u * VAR_BITS
    else:
        spread = _spread(*first, QUAD_BITS, VAR_BITS)
        for j, v in second_rows:
            total ^= spread << j * QUAD_BITS + v
    return _SHARED.keep(total)


@cache
def _triangle(u: int, rows: int) -> tuple[int, int, int]:
    """Masks over `rows` bits for the partners v > u (as v), v < u (as u) and v = u (linear)."""
    every_row = _every(rows, QUAD_BITS)
    above = (_ones(VAR_BITS) >> u + 1 << u + 1) * every_row
    below = _every(u, VAR_BITS) * every_row if u else 0
    return above, below, _every(rows, VAR_BITS) << u


def _square(
    linear: dict[str, int],
    quadratic: dict[tuple[str, str], int],
    g: str,
    first: tuple[int, int],
    second: tuple[int, int],
) -> None:
    """Add Σ first_i·second_j at bit i + j, both in the variable g: u·v = v·u and u·u = u."""
    total, diagonal = _square_product(first, second)
    _toggle(quadratic, (g, g), total)
    _toggle(linear, g, diagonal)


@lru_cache(maxsize=64)
def _square_product(first: tuple[int, int], second: tuple[int, int]) -> tuple[int, int]:
    """Return the quadratic and the linear part of Σ first_i·second_j at bit i + j."""
    first_rows, second_rows = _rows(*first), _rows(*second)
    if len(second_rows) < len(first_rows):
        first_rows, first, second = second_rows, second, first
    as_v = _spread(*second, QUAD_BITS, 1)
    as_u = _spread(*second, QUAD_BITS, VAR_BITS)
    rows = second[1]
    total = diagonal = 0
    for i, u in first_rows:
        above, below, same = _triangle(u, rows)
        total ^= (as_v & above) << i * QUAD_BITS + u * VAR_BITS
        total ^= (as_u & below) << i * QUAD_BITS + u
        diagonal ^= (second[0] & same) << i * VAR_BITS
    return _SHARED.keep(total), diagonal

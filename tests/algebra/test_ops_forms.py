"""Forms: every operation against `evaluate` at random points, and the refusals."""

import random

import pytest

from ghashgen.algebra.field.gf2 import clmul
from ghashgen.algebra.ops import forms
from ghashgen.algebra.ops.forms import DegreeError, Form, concat, constant, multiply, variable
from ghashgen.algebra.ops.monomials import evaluate, monomials_of

NAMES = ("A", "B", "C")
WIDTH = 128
ONES = (1 << WIDTH) - 1


def points(seed: int, count: int = 1) -> list[dict[str, int]]:
    rng = random.Random(seed)
    return [{name: rng.getrandbits(WIDTH) for name in NAMES} for _ in range(count)]


def linear(rng: random.Random) -> Form:
    """A random affine form: shifted and masked variables, and a constant."""
    out = constant(rng.getrandbits(WIDTH), WIDTH)
    for name in rng.sample(NAMES, rng.randrange(1, 4)):
        out ^= variable(name).shift(rng.randrange(-100, 100)).mask(rng.getrandbits(WIDTH))
    return out


def quadratic(rng: random.Random) -> Form:
    a, b = linear(rng), linear(rng)
    return multiply(a.slice(0, 64), b.slice(64, 64)) ^ linear(rng)


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("make", [linear, quadratic])
def test_linear_operations(make: object, seed: int) -> None:
    rng = random.Random(seed)
    a, b = make(rng), make(rng)  # type: ignore[operator]
    shift, keep = rng.randrange(1, 128), rng.getrandbits(WIDTH)
    moves = ((3, keep), (-7, ONES >> 9), (0, 1))
    for at in points(seed):
        x, y = evaluate(a, at), evaluate(b, at)
        assert evaluate(a ^ b, at) == x ^ y
        assert evaluate(a.shift(shift), at) == x << shift & ONES
        assert evaluate(a.shift(-shift), at) == x >> shift
        assert evaluate(a.mask(keep), at) == x & keep
        assert evaluate(a.slice(shift % 64, 64), at) == x >> shift % 64 & (1 << 64) - 1
        assert evaluate(a.resize(200), at) == x
        assert evaluate(a.resize(40), at) == x & (1 << 40) - 1
        assert evaluate(concat(a, b), at) == x | y << WIDTH
        moved = (x << 3 & keep) ^ (x >> 7 & ONES >> 9) ^ (x & 1)
        assert evaluate(a.moves(moves, WIDTH), at) == moved


@pytest.mark.parametrize("seed", range(4))
def test_products(seed: int) -> None:
    rng = random.Random(seed)
    a, b, q = linear(rng).slice(0, 64), linear(rng).slice(64, 64), quadratic(rng).slice(5, 64)
    fixed = rng.getrandbits(64)
    for at in points(seed):
        assert evaluate(multiply(a, b), at) == clmul(evaluate(a, at), evaluate(b, at))
        assert evaluate(multiply(a, a), at) == clmul(evaluate(a, at), evaluate(a, at))
        assert evaluate(multiply(q, constant(fixed, 64)), at) == clmul(evaluate(q, at), fixed)
        assert evaluate(multiply(constant(fixed, 64), q), at) == clmul(evaluate(q, at), fixed)


def test_squaring_a_sum_leaves_no_cross_terms() -> None:
    a = (variable("A") ^ variable("B")).slice(0, 64)
    assert multiply(a, a).degree == 1


def test_a_product_of_degree_three_is_refused() -> None:
    a, b, c = (variable(name).slice(0, 64) for name in NAMES)
    with pytest.raises(DegreeError):
        multiply(multiply(a, b).slice(0, 64), c)


def test_equal_polynomials_are_equal_forms() -> None:
    a, b, c = (variable(name).slice(0, 64) for name in NAMES)
    assert multiply(a, b) == multiply(b, a)
    assert multiply(a, b ^ c) == multiply(a, b) ^ multiply(a, c)
    assert multiply(a, b) != multiply(a, c)
    assert (multiply(a, b) ^ multiply(b, a)) == Form(WIDTH)


def test_results_survive_an_emptied_store(monkeypatch: pytest.MonkeyPatch) -> None:
    """The store of shared integers is emptied when full; what is computed does not change."""
    rng, at = random.Random(7), points(7, 1)[0]
    before = [quadratic(rng) for _ in range(3)]
    monkeypatch.setattr(forms, "BUDGET", 0)
    rng = random.Random(7)
    after = [quadratic(rng) for _ in range(3)]
    assert after == before
    assert [evaluate(f.shift(1), at) for f in after] == [
        evaluate(f, at) << 1 & ONES for f in before
    ]


def test_terms_name_the_monomials_of_a_bit() -> None:
    product = multiply(variable("A").slice(0, 2), variable("B").slice(0, 2)) ^ constant(2, 4)
    assert monomials_of(product, 1) == {(), (("A", 0), ("B", 1)), (("A", 1), ("B", 0))}
    assert monomials_of(product, 3) == frozenset()
    assert monomials_of(variable("A"), 5) == {(("A", 5),)}


def test_widths_must_agree() -> None:
    with pytest.raises(ValueError, match="widths differ"):
        variable("A") ^ constant(0, 64)
    with pytest.raises(ValueError, match="1 to 128 bits"):
        variable("A", 129)
    with pytest.raises(ValueError, match="wider than"):
        constant(4, 2)

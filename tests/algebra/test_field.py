"""GF(2)[x] and GF(2^128) against galois, against counts, and against planted faults."""

import importlib
import itertools
import random
from typing import Any

import pytest
from helpers.irreducible import gcd, is_irreducible

from ghashgen.algebra.field import gf2, gf128, powers

# Test case 2 of the GCM specification, in natural bit order: H, C and H·C.
H = int(f"{0x66E94BD4EF8A2C3B884CFA59CA342B2E:0128b}"[::-1], 2)
C = int(f"{0x0388DACE60B6A392F328C2B971B2FE78:0128b}"[::-1], 2)
H_TIMES_C = int(f"{0x5E2EC746917062882C85B0685353DEB7:0128b}"[::-1], 2)

EDGES = (0, 1, 2, 0x87, 1 << 64, (1 << 64) - 1, 1 << 127, (1 << 128) - 1)


def random_elements(seed: int, count: int) -> list[int]:
    rng = random.Random(seed)
    return [rng.getrandbits(128) for _ in range(count)]


@pytest.fixture(scope="module")
def galois() -> Any:
    """The library, which takes seconds to import: only where a test asks for it."""
    return importlib.import_module("galois")


@pytest.fixture(scope="module")
def GF(galois: Any) -> Any:
    # x generates the multiplicative group; naming it spares galois the search.
    return galois.GF(2**128, irreducible_poly=(1 << 128) | 0x87, primitive_element=2, verify=False)


def test_mul_agrees_with_galois(GF: Any) -> None:
    a = [*random_elements(1, 200), *(e for e in EDGES for _ in EDGES)]
    b = [*random_elements(2, 200), *(e for _ in EDGES for e in EDGES)]
    assert [gf128.mul(x, y) for x, y in zip(a, b, strict=True)] == [int(z) for z in GF(a) * GF(b)]


def test_square_power_and_inverse_agree_with_galois(GF: Any) -> None:
    for a in (*random_elements(3, 4), *EDGES[1:]):
        assert powers.square(a) == int(GF(a) ** 2)
        assert powers.inverse(a) == int(GF(1) / GF(a))
        assert gf128.mul(a, powers.inverse(a)) == 1
        for n in (0, 1, 2, 3, 48, 2**64 + 1):
            assert powers.power(a, n) == int(GF(a) ** n)
    assert powers.power(0, 0) == 1
    assert powers.power(0, 5) == 0


def test_mul_gives_the_known_product() -> None:
    assert gf128.mul(H, C) == H_TIMES_C


def test_mul_notices_any_wrong_bit_of_the_field_polynomial(monkeypatch: pytest.MonkeyPatch) -> None:
    right = gf128.P
    for bit in range(129):
        monkeypatch.setattr(gf128, "P", right ^ (1 << bit))
        assert gf128.mul(H, C) != H_TIMES_C


def test_constants_are_the_powers_of_x_that_they_claim() -> None:
    assert gf2.mod(1 << 128, gf128.P) == gf128.Q
    assert gf128.mul(gf128.X, gf128.X_INVERSE) == 1
    assert powers.inverse(gf128.X) == gf128.X_INVERSE


def test_identities_notice_any_wrong_bit_of_the_constants() -> None:
    for bit in range(128):
        assert gf2.mod(1 << 128, gf128.P) != gf128.Q ^ (1 << bit)
        assert gf128.mul(gf128.X, gf128.X_INVERSE ^ (1 << bit)) != 1


def test_field_polynomial_is_irreducible() -> None:
    assert is_irreducible(gf128.P)


def test_is_irreducible_refuses_products_of_every_shape() -> None:
    assert not any(is_irreducible(p) for p in (0, 1))
    assert not is_irreducible(gf2.clmul(gf128.P, gf128.P))
    assert not is_irreducible(gf128.P ^ 1)
    # x^(2^128) = x holds modulo two distinct factors of degree 64: only the gcd sees them.
    of_degree_64 = (p for p in itertools.count(1 << 64) if is_irreducible(p))
    first, second = next(of_degree_64), next(of_degree_64)
    assert not is_irreducible(gf2.clmul(first, second))


def test_is_irreducible_agrees_with_trial_division() -> None:
    for p in range(2, 1 << 9):
        divisible = any(gf2.mod(p, d) == 0 for d in range(2, p) if gf2.degree(d) < gf2.degree(p))
        assert is_irreducible(p) is not divisible


def test_clmul_divmod_and_gcd_agree_with_galois(galois: Any) -> None:
    rng = random.Random(4)
    for _ in range(20):
        a, b, common = rng.getrandbits(60), rng.getrandbits(40) | 1, rng.getrandbits(9) | 1
        pa, pb, pc = galois.Poly.Int(a), galois.Poly.Int(b), galois.Poly.Int(common)
        assert gf2.clmul(a, b) == int(pa * pb)
        assert gf2.divmod_(a, b) == tuple(int(part) for part in divmod(pa, pb))
        assert gf2.mod(a, b) == int(pa % pb)
        divisor = galois.gcd(pa * pc, pb * pc)
        assert gcd(gf2.clmul(a, common), gf2.clmul(b, common)) == int(divisor)


def test_clmul_of_ones_is_known() -> None:
    # (x + 1)^2 = x^2 + 1, and (2^64 - 1)^2 spreads the bits apart.
    assert gf2.clmul(0b11, 0b11) == 0b101
    assert gf2.clmul(2**64 - 1, 2**64 - 1) == sum(1 << 2 * k for k in range(64))


def test_zero_polynomial() -> None:
    assert gf2.degree(0) == -1
    assert gf2.degree(1) == 0
    assert gf2.clmul(0, 5) == gf2.clmul(5, 0) == 0
    assert gcd(0, 0) == 0
    assert gcd(0, 6) == gcd(6, 0) == 6
    assert gf2.divmod_(0, 1) == (0, 0)


@pytest.mark.parametrize("width", [1, 8, 64, 127, 128])
def test_product_of_reflections_is_the_reflection_of_the_product(width: int) -> None:
    rng = random.Random(width)
    for _ in range(20):
        a, b = rng.getrandbits(width), rng.getrandbits(width)
        ra, rb = gf2.bit_reflect(a, width), gf2.bit_reflect(b, width)
        assert ra == int(f"{a:0{width}b}"[::-1], 2)
        assert gf2.bit_reflect(ra, width) == a
        assert gf2.clmul(ra, rb) == gf2.bit_reflect(gf2.clmul(a, b), 2 * width - 1)
        # In a register of 2·width bits that reflection is the product times x.
        assert gf2.clmul(ra, rb) == gf2.bit_reflect(gf2.clmul(a, b) << 1, 2 * width)


def test_refusals() -> None:
    with pytest.raises(ZeroDivisionError, match="zero polynomial"):
        gf2.mod(5, 0)
    with pytest.raises(ZeroDivisionError, match="no inverse"):
        powers.inverse(0)
    for a, b in ((-1, 1), (1, -1)):
        for operation in (gf2.clmul, gf2.mod, gcd):
            with pytest.raises(ValueError, match="non-negative"):
                operation(a, b)
    for value in (-1, 1 << 8):
        with pytest.raises(ValueError, match="8 bits"):
            gf2.bit_reflect(value, 8)
    for bad in (-1, 1 << 128):
        with pytest.raises(ValueError, match="128 bits"):
            gf128.mul(bad, 1)
        with pytest.raises(ValueError, match="128 bits"):
            gf128.mul(1, bad)
        with pytest.raises(ValueError, match="128 bits"):
            powers.power(bad, 0)
    with pytest.raises(ValueError, match="exponent"):
        powers.power(2, -1)

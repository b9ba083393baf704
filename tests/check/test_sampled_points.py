"""Random points: the bound, the field's formulas, and the points that the harness draws."""

import itertools
import random
import re
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest
from helpers.cpus import AS_FOUND
from helpers.emulating import needs_emulator
from helpers.sampling import NARROW, subject_of_kernel, text_of

from ghashgen.algebra.field.bitorder import (
    Order,
    block_from_element,
    byte_reverse,
    element_from_block,
)
from ghashgen.algebra.field.ghash import ghash_padded
from ghashgen.algebra.field.polyval import mulX_GHASH, polyval
from ghashgen.algebra.field.powers import power
from ghashgen.algebra.ops.monomials import evaluate
from ghashgen.check.sampled import points, runs
from ghashgen.check.sampled.cells import LINEAR, Cell, linear_cell
from ghashgen.check.sampled.points import Point, Structure
from ghashgen.check.sampled.subject import Sampled, least_bits, plan, points_for
from ghashgen.kernels.hash.catalogue import catalogue
from ghashgen.kernels.hash.kernel import Kernel
from ghashgen.run.harness import build
from ghashgen.support.errors import GhashgenError
from ghashgen.support.paths import project_root
from ghashgen.verify.meaning.algebra import Algebra

pytestmark = needs_emulator

# -- the bound -----------------------------------------------------------------------------------


@pytest.mark.parametrize("degree", [2, 3, 4, 5, 6, 8])
def test_so_many_points_are_enough_and_one_less_is_not(degree: int) -> None:
    count = points_for(degree)
    unseen = 1 - Fraction(1, 2**degree)
    assert unseen**count <= Fraction(1, 2**128) < unseen ** (count - 1)
    assert degree != 4 or count <= 1400


def test_the_page_states_these_numbers() -> None:
    text = (project_root() / "docs/validation.md").read_text()
    rows = re.findall(r"^\| (\d+) \| ([\d,]+) \|$", text, re.MULTILINE)
    assert [int(degree) for degree, _ in rows] == [2, 3, 4, 5, 6, 8, 16]
    for degree, count in rows:
        assert int(count.replace(",", "")) == points_for(int(degree))


def test_the_page_states_what_is_run_emulated(
    object_of: Callable[[str], bytes], folder: Path
) -> None:
    text = " ".join((project_root() / "docs/validation.md").read_text().split())
    assert runs.EMULATED_INSTRUCTIONS == 8_000_000
    assert "as eight million instructions pay for" in text
    stated = re.findall(r"([\d,]+) points and (2\^-\d+) for `(ghash_\w+_x\d+)`", text)
    assert len(stated) == 3
    kernels = {kernel.name: kernel for kernel in catalogue()}
    for points_there, bound, name in stated:
        obj = folder / f"{name}.o"
        obj.write_bytes(object_of(text_of(kernels[name])))
        p = plan(replace(subject_of_kernel(kernels[name]), obj=obj))
        count = runs.affordable(p, runs.EMULATED_INSTRUCTIONS)
        assert p.highest == 4
        assert int(points_there.replace(",", "")) == count(4)
        bits, weakest = least_bits(p, count)
        assert Sampled(name, "emulated", 0, bits, weakest, p.highest).bound == bound


def test_polynomials_of_a_degree_differ_at_one_point_of_two_to_the_degree() -> None:
    """The lemma for every polynomial of 4 variables; and where a smaller share would be claimed."""
    variables = 4
    inputs = list(itertools.product((0, 1), repeat=variables))
    for degree in range(variables + 1):
        monomials = [
            sum(1 << k for k, point in enumerate(inputs) if all(point[v] for v in chosen))
            for d in range(degree + 1)
            for chosen in itertools.combinations(range(variables), d)
        ]
        least, value = 2**variables, 0
        for number in range(1, 2 ** len(monomials)):
            # Gray code: one monomial more or less each time.
            value ^= monomials[(number & -number).bit_length() - 1]
            least = min(least, value.bit_count())
        assert least == 2 ** (variables - degree)


def test_the_probability_is_rounded_up() -> None:
    def bound(bits: float) -> str:
        return Sampled("k", "native", 1, bits, "mul", 2).bound

    assert (bound(128.9), bound(0.0457), bound(4)) == ("2^-128", "0.969", "2^-4")


# -- the field -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("order", "op"), [*((order, "ghash") for order in Order), (Order.REFLECTED, "polyval")]
)
def test_cells_are_what_the_prover_takes_them_for(order: Order, op: str) -> None:
    """Two formulas written apart: in the field here, in registers there."""
    algebra, rng = Algebra(order, op), random.Random(5)
    powers = [rng.randbytes(16) for _ in range(5)]
    values = {
        f"B{i}": int.from_bytes(linear_cell("B", element_from_block(block), order, op), "little")
        for i, block in enumerate(powers, 1)
    }
    cells = [Cell(kind, i) for kind in (*LINEAR, "R") for i in range(1, 6)]
    cells += [Cell("R", 5, 2), Cell("R", 4, 2), Cell("R", 5, 4)]
    found = points.table(cells, powers, order, op)
    for c, got in zip(cells, found, strict=True):
        kind = c.kind if c.step == 1 else f"R/{c.step}"
        assert int.from_bytes(got, "little") == evaluate(algebra.entry(kind, c.power), values), c


STRUCTURES = (
    Structure(1),
    Structure(3),
    Structure(4, 2),
    Structure(8, 4),
    Structure(4, 1, (1,)),
    Structure(8, 1, (4, 1)),
)


def _point(powers: list[bytes], rng: random.Random) -> Point:
    x, y, p = (rng.randbytes(16) for _ in range(3))
    return Point(x, y, p, tuple(powers), rng.randbytes(400), b"", b"", (), ())


@pytest.mark.parametrize("structure", STRUCTURES, ids=lambda s: s.text)
def test_a_structure_is_the_hash_where_the_powers_are_powers(structure: Structure) -> None:
    rng = random.Random(6)
    h = rng.randbytes(16)
    H = element_from_block(h)
    point = _point([block_from_element(power(H, i)) for i in range(1, 9)], rng)
    for length in (0, 5, 16, 33, 64, 143, 160, 250, 400):
        expected = ghash_padded(h, point.x, point.data[:length])
        assert points.update(point, structure, "ghash", length) == expected


def test_polyval_is_polyval_where_the_powers_are_powers() -> None:
    rng = random.Random(7)
    h = rng.randbytes(16)
    H = element_from_block(mulX_GHASH(byte_reverse(h)))
    point = _point([block_from_element(power(H, i)) for i in range(1, 5)], rng)
    point = replace(point, x=bytes(16))
    assert points.update(point, Structure(4), "polyval", 160) == polyval(h, point.data[:160])
    for function, operand in ((points.product, h), (points.combined, point.p)):
        x, y = rng.randbytes(16), bytes(16) if function is points.product else point.y
        moved = polyval(operand, x)
        right = bytes(a ^ b for a, b in zip(moved, y, strict=True))
        assert function(replace(point, x=x), "polyval") == right


def test_degrees_of_structures_count_reductions() -> None:
    n = 16
    at = {1: 2, 256: 2, 257: 3, 512: 3, 513: 4, 543: 4}
    assert {length: Structure(n).degree(length) for length in at} == at
    assert Structure(1).degree(63) == 5
    assert Structure(8, 1, (4, 1)).groups(8 * 16 + 7 * 16 + 3) == [8, 4, 1, 1, 1, 1]


# -- the harness's points ------------------------------------------------------------------------


DRAWN = (
    Kernel("sse", "winograd", "clmul1", 3),
    Kernel("sse", "karatsuba", "clmul2", 2, op="polyval"),
    Kernel("avx512", "winograd", "clmul1", 8, fold="end"),
    Kernel("avx512", "k", "clmul1", 6, order="natural"),
    Kernel("avx512", "winograd", "clmul1", 4, order="natural", fold="end"),
)


@pytest.mark.cpu(AS_FOUND)
@pytest.mark.parametrize("kernel", DRAWN, ids=lambda k: k.name)
def test_the_harness_computes_what_the_field_does(kernel: Kernel, folder: Path) -> None:
    subject = subject_of_kernel(kernel)
    drawn = runs.draw(build([], folder), [subject], 2, "field")
    assert drawn[0].powers != drawn[1].powers
    every = range(0, subject.bound + 1, 7)
    arguments = (subject.structure, subject.order, subject.op, [subject.cells], every)
    points.check(drawn[1], *arguments)
    for wrong in (
        replace(drawn[1], mul=drawn[0].mul),
        replace(drawn[1], combine=drawn[0].combine),
        replace(drawn[1], update=drawn[0].update),
        replace(drawn[1], tables=drawn[0].tables),
    ):
        with pytest.raises(GhashgenError, match="disagree"):
            points.check(wrong, *arguments)


@pytest.mark.cpu(AS_FOUND)
def test_pieces_of_a_rest_are_what_the_field_says(folder: Path) -> None:
    subject = subject_of_kernel(Kernel("sse", "k", "clmul1", 8), Structure(8, 1, (4, 1)))
    (drawn,) = runs.draw(build([], folder), [subject], 1, "pieces")
    points.check(
        drawn, subject.structure, subject.order, "ghash", [subject.cells], range(0, 288, 5)
    )


@pytest.mark.cpu(AS_FOUND)
def test_a_seed_decides_the_points(folder: Path) -> None:
    subject, harness = subject_of_kernel(NARROW), build([], folder)
    one, same, other = (runs.draw(harness, [subject], 1, s)[0] for s in ("1", "1", "2"))
    assert one == same
    assert one.powers != other.powers


def test_it_imports_nothing_of_the_prover() -> None:
    paths = list((project_root() / "ghashgen" / "check" / "sampled").glob("*.py"))
    assert project_root() / "ghashgen" / "check" / "sampled" / "runs.py" in paths
    for path in paths:
        text = path.read_text()
        assert "from ghashgen.verify" not in text
        assert "import ghashgen.verify" not in text

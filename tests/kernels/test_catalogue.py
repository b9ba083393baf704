"""The shipped variants, and the choice among them."""

import contextlib
import random
from dataclasses import fields, replace

import pytest

from ghashgen.algebra.schemes.registry import multiplies, reduces
from ghashgen.arch.registry import DEFAULT, isas
from ghashgen.kernels import selection
from ghashgen.kernels.core import Point
from ghashgen.kernels.families import in_order
from ghashgen.kernels.hash.axes import AXES, NAMED
from ghashgen.kernels.hash.catalogue import PAPER, catalogue
from ghashgen.kernels.hash.kernel import Kernel
from ghashgen.kernels.selection import Choice, choose, choose_of, look_up, look_up_of
from ghashgen.support.errors import GhashgenError

CATALOGUE = catalogue()


def test_every_shipped_kernel_makes_sense_and_has_a_name_of_its_own() -> None:
    assert [replace(kernel) for kernel in CATALOGUE] == list(CATALOGUE)
    names = [kernel.name for kernel in CATALOGUE]
    assert len(set(names)) == len(names)


@pytest.mark.parametrize("isa", ["sse", "avx"])
def test_narrow_sets_ship_every_listed_scheme_with_every_fitting_reduction(isa: str) -> None:
    for multiply in multiplies().values():
        for reduce in reduces().values():
            fits = multiply.shape is reduce.shape and multiply.listed
            sizes = [
                kernel.blocks
                for kernel in CATALOGUE
                if (kernel.isa, kernel.multiply, kernel.reduce) == (isa, multiply.name, reduce.name)
                and (not fits or kernel == Kernel(isa, multiply.name, reduce.name, kernel.blocks))
            ]
            assert sizes == ([1, 2, 4, 6, 8, 12, 16] if fits else [])


def test_every_instruction_set_ships_something() -> None:
    assert {kernel.isa for kernel in CATALOGUE} == set(isas(DEFAULT))


def test_the_two_kernels_of_the_paper_are_shipped() -> None:
    assert [kernel.name for kernel in PAPER] == ["paper_baseline", "paper_optimized"]
    assert set(PAPER) <= set(CATALOGUE)
    baseline, optimized = (replace(kernel, alias="") for kernel in PAPER)
    assert baseline == Kernel("avx", "schoolbook", "clmul3", 1)
    assert optimized == Kernel("avx", "k", "clmul1", 1)


def test_no_choice_is_the_whole_catalogue_in_its_order() -> None:
    assert choose_of(Kernel, Choice()) == CATALOGUE
    assert catalogue() == CATALOGUE


def test_the_axes_are_those_of_a_kernel() -> None:
    names = {axis.name for axis in AXES}
    assert names == {field.name for field in fields(Kernel)} - {"alias"}
    assert sorted(NAMED, key=AXES.index) == list(AXES)
    for axis in AXES:
        assert axis.default is None or axis.default in axis.values(), axis
        assert axis.is_flag == (axis.values() == (False, True))


def test_axes_filter_what_is_shipped() -> None:
    found = choose_of(Kernel, Choice(isa=("sse",), multiply=("k", "winograd"), blocks=(4, 8)))
    assert found
    assert all(
        kernel.isa == "sse" and kernel.multiply in ("k", "winograd") and kernel.blocks in (4, 8)
        for kernel in found
    )
    assert set(found) == {
        kernel
        for kernel in CATALOGUE
        if kernel.isa == "sse" and kernel.multiply in ("k", "winograd") and kernel.blocks in (4, 8)
    }


def test_a_size_that_is_not_shipped_is_made() -> None:
    found = choose_of(Kernel, Choice(isa=("avx",), multiply=("k",), blocks=(5,)))
    assert found == (Kernel("avx", "k", "clmul1", 5),)
    assert not set(found) & set(CATALOGUE)


def test_a_choice_is_the_union_of_the_choices_of_single_values() -> None:
    multiply, blocks = ("winograd", "schoolbook"), (1, 3, 5)
    found = look_up_of(Kernel, Choice(isa=("avx", "sse"), multiply=multiply, blocks=blocks))
    each = [
        choose_of(Kernel, Choice(isa=(isa,), multiply=(m,), blocks=(b,)))
        for isa in ("avx", "sse")
        for m in multiply
        for b in blocks
    ]
    assert all(each)
    assert set(found.kernels) == {kernel for kernels in each for kernel in kernels}
    assert {kernel.blocks for kernel in found.kernels} == set(blocks)
    assert set(found.made) == set(found.kernels) - set(CATALOGUE)
    assert found.left_out == ()
    # The catalogue's first and in its order, then what is made.
    ours = [kernel for kernel in CATALOGUE if kernel in found.kernels]
    assert list(found.kernels) == [*ours, *found.made]


def test_a_combination_of_the_values_that_makes_no_sense_is_left_out_with_its_reason() -> None:
    found = look_up_of(
        Kernel, Choice(isa=("sse", "avx2"), order=("natural",), multiply=("k",), blocks=(4,))
    )
    assert [kernel.name for kernel in found.kernels] == ["ghash_avx2_k_clmul1_x4_natural"]
    (item,) = found.left_out
    assert str(item) == "isa sse, multiply k, blocks 4, order natural"
    assert "needs GFNI" in item.why.cause


def test_a_reason_is_not_about_a_value_that_nobody_gave() -> None:
    # clmul1, the first reduction, does not fit schoolbook; nobody asked for it.
    with pytest.raises(GhashgenError, match="needs GFNI"):
        choose_of(Kernel, Choice(isa=("sse",), multiply=("schoolbook",), order=("natural",)))


def test_globs_choose_names_and_axes_narrow_them_down() -> None:
    wanted = [k for k in CATALOGUE if k.name.startswith("ghash_sse_k_")]
    assert list(choose_of(Kernel, Choice(name=("ghash_sse_k_*",)))) == wanted
    named = Choice(name=("*_k_clmul1_x8", "ghash_sse_k_*"), isa=("sse",))
    first = Kernel("sse", "k", "clmul1", 8)
    found = choose_of(Kernel, named)
    assert found[0] == first
    assert set(found) == {*wanted, replace(first, op="polyval")}
    assert len(found) == len(set(found))
    assert choose_of(Kernel, Choice(name=("paper_[bo]*",))) == PAPER


def test_names_choose_in_the_order_given() -> None:
    names = ("paper_optimized", "ghash_sse_k_clmul1_x4")
    assert tuple(kernel.name for kernel in choose_of(Kernel, Choice(name=names))) == names


def test_a_name_that_the_catalogue_lacks_makes_its_kernel() -> None:
    """Kernels with axes drawn at random, of every family."""
    rng = random.Random(3)
    for family in in_order():
        drawn: dict[str, Point] = {}
        while len(drawn) < 25:
            values = {
                axis.name: axis.default
                if axis.default is not None and rng.random() < 0.7
                else rng.choice(list(axis.values()))
                for axis in family.axes
            }
            with contextlib.suppress(GhashgenError):
                kernel = family.make(**values)
                drawn[kernel.name] = kernel
        found = look_up(Choice(name=tuple(drawn)))
        assert found.kernels == tuple(drawn.values())
        assert set(found.made) == {*found.kernels} - {*selection.catalogue()}
    for name in ("ghash_avx2_k_clmul1_x99", "ghash_avx2_k_x12", "gcm512_avx_k_clmul1_x8", "x12"):
        with pytest.raises(GhashgenError, match=f"no kernel is called '{name}'"):
            look_up(Choice(name=(name,)))


@pytest.mark.parametrize(
    ("choice", "words"),
    [
        (Choice(name=("ghash_best",)), "no kernel is called 'ghash_best'"),
        (Choice(name=("ghash_avx_karatuba*",)), "did you mean ghash_avx_karatsuba_"),
        (Choice(name=("none_*",)), "no kernel of the catalogue matches 'none_*'; see ghashgen"),
        (Choice(name=("ghash_avx_k*",), isa=("sse",)), "the axes exclude all of 'ghash_avx_k*'"),
        # A filter leaves the family of these out; they are in the catalogue all the same.
        (
            Choice(name=("gcm128_avx_k*",), op=("polyval",)),
            "the axes exclude all of 'gcm128_avx_k*'",
        ),
        (Choice(isa=("avx1024",)), "unknown isa 'avx1024'"),
        (Choice(multiply=("wynograd",)), "did you mean winograd? choose one of"),
        (Choice(isa=("sse",), order=("natural",), blocks=(3, 5)), "none of the 2 combinations"),
        (Choice(multiply=("x",), isa=("avx",)), "unknown multiply 'x'"),
        (Choice(reduce=("x",)), "unknown reduce 'x'"),
        (Choice(order=("x",)), "unknown order 'x'"),
        (Choice(blocks=(0,)), "blocks must be 1 to 48, not 0"),
        (Choice(blocks=(4, 49)), "blocks must be 1 to 48, not 49"),
        (Choice(multiply=("k",), reduce=("clmul2",)), "reduce 'clmul2' takes a 256-bit product"),
        (Choice(isa=("sse",), order=("natural",)), "order 'natural'"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_choice_of_nothing_says_why(choice: Choice, words: str) -> None:
    with pytest.raises(GhashgenError) as refusal:
        choose_of(Kernel, choice)
    assert words in str(refusal.value)
    assert "\n" not in str(refusal.value)


def test_a_family_that_leaves_a_name_out_is_named() -> None:
    with pytest.raises(GhashgenError, match="--family excludes all of 'gcm128_avx_k"):
        choose(Choice(name=("gcm128_avx_k*",), family=("ctr",)))

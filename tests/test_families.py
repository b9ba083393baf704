"""Families of kernels: the one that is there, and one from outside the package as a folder."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from ghashgen import kernels as package
from ghashgen.arch.x86_64.abi import SYSV, WIN64
from ghashgen.compiler.pipeline import compile_kernel
from ghashgen.kernels import selection
from ghashgen.kernels.axes import Axis
from ghashgen.kernels.families import families, family_of, functions_of
from ghashgen.kernels.hash.catalogue import catalogue
from ghashgen.kernels.hash.kernel import Kernel
from ghashgen.kernels.selection import (
    Choice,
    all_axes,
    choose,
    choose_of,
    look_up,
    values_of,
)
from ghashgen.support.errors import GhashgenError

TOYS = Path(__file__).parent / "toys" / "family"


@pytest.fixture
def toy(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    before = set(sys.modules)
    monkeypatch.setattr(package, "__path__", [*package.__path__, str(TOYS)])
    yield
    for module in sys.modules.keys() - before:
        if module.startswith(f"{package.__name__}.toy_"):
            del sys.modules[module]


def test_the_families_are_these() -> None:
    assert list(families()) == ["gcm", "hash"]
    kernel = Kernel("avx", "k", "clmul1", 8)
    assert family_of(kernel).catalogue() == catalogue()
    assert family_of(kernel).theorems(kernel) == [
        "aggregate-k-clmul1-reflected",
        "horner-n",
        "multiply-k-reflected",
        "reduce-clmul1-reflected",
    ]


@pytest.mark.usefixtures("toy")
@pytest.mark.parametrize("abi", [SYSV, WIN64], ids=lambda abi: abi.name)
def test_a_family_of_ones_own_is_found_and_compiled(abi: object) -> None:
    assert list(families()) == ["gcm", "hash", "toy-copy"]
    small, large = families()["toy-copy"].catalogue()
    assert list(functions_of(large)) == ["copy"]
    codes = {
        kernel.name: [
            op.code
            for op in compile_kernel(kernel, abi)["copy"].function.ops  # type: ignore[arg-type]
        ]
        for kernel in (small, large)
    }
    one = ["movdqu.load", "movdqu.store"]
    assert codes == {"copy_x1": ["endbr64", *one, "ret"], "copy_x2": ["endbr64", *one, *one, "ret"]}
    with pytest.raises(GhashgenError, match="blocks must be 1 to 4, not 9"):
        type(small)(9)


@pytest.mark.usefixtures("toy")
def test_a_choice_is_among_all_families() -> None:
    assert {kernel.family for kernel in choose(Choice())} == {"hash", "toy-copy"}
    names = [kernel.name for kernel in choose(Choice())]
    assert len(set(names)) == len(names)
    both = choose(Choice(blocks=(2,)))
    assert {kernel.family for kernel in both} == {"hash", "toy-copy"}
    assert {kernel.blocks for kernel in both} == {2}  # type: ignore[attr-defined]
    # What one family alone has leaves it alone, by axis, by value and by name.
    assert {kernel.family for kernel in choose(Choice(blocks=(2,), isa=("avx",)))} == {"hash"}
    assert {kernel.family for kernel in choose(Choice(blocks=(16,)))} == {"hash"}
    assert [kernel.name for kernel in choose(Choice(name=("copy_*",)))] == ["copy_x1", "copy_x2"]
    assert values_of("blocks") == tuple(map(str, range(1, 49)))


@pytest.mark.usefixtures("toy")
def test_what_is_made_is_of_the_default_family_unless_another_is_named() -> None:
    found = look_up(Choice(blocks=(3,), isa=("avx",), multiply=("k",)))
    assert [kernel.name for kernel in found.made] == ["ghash_avx_k_clmul1_x3"]
    assert {kernel.family for kernel in look_up(Choice(blocks=(3,))).made} == {"hash"}
    (own,) = look_up(Choice(family=("toy-copy",), blocks=(3,))).made
    assert (own.name, own.family) == ("copy_x3", "toy-copy")


@pytest.mark.usefixtures("toy")
@pytest.mark.parametrize(
    ("choice", "cause"),
    [
        (
            Choice(family=("toy-cpoy",)),
            "unknown family 'toy-cpoy'; choose one of gcm, hash, toy-copy",
        ),
        (Choice(family=("toy-copy",), isa=("avx",)), "unknown axis 'isa'; choose one of blocks"),
        (Choice(family=("toy-copy",), blocks=(9,)), "blocks must be 1 to 4, not 9"),
        (Choice(blocks=(49,)), "blocks must be 1 to 48, not 49"),
    ],
)
def test_a_choice_that_no_family_has_is_refused(choice: Choice, cause: str) -> None:
    with pytest.raises(GhashgenError) as refusal:
        look_up(choice)
    assert str(refusal.value).startswith(cause)


@pytest.mark.usefixtures("toy")
def test_what_works_on_one_family_refuses_kernels_of_others() -> None:
    assert len(choose_of(Kernel, Choice())) == len(catalogue())
    for choice in (Choice(family=("toy-copy",)), Choice(name=("copy_x1",))):
        with pytest.raises(GhashgenError, match="works on GHASH and POLYVAL alone"):
            choose_of(Kernel, choice)


@pytest.mark.usefixtures("toy")
def test_families_that_differ_on_the_kind_of_an_axis_are_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    other = replace(families()["toy-copy"], axes=(Axis("wipe", "", lambda: ("a", "b"), "a"),))
    monkeypatch.setattr(selection, "_in_order", lambda: [families()["hash"], other])
    with pytest.raises(ValueError, match="differ on the kind of values that wipe has"):
        all_axes()


AXES = {
    "number": Axis("blocks", "", lambda: range(1, 9)),
    "word": Axis("fold", "", lambda: ("group", "end"), "group"),
    "flag": Axis("wipe", "", lambda: (False, True), False),
}


@pytest.mark.parametrize(
    ("axis", "value", "option"),
    [
        ("number", 8, "--blocks 8"),
        ("word", "end", "--fold end"),
        ("flag", True, "--wipe"),
        ("flag", False, "--no-wipe"),
    ],
)
def test_a_value_has_an_option(axis: str, value: object, option: str) -> None:
    AXES[axis].require(value)
    assert AXES[axis].option(value) == option


@pytest.mark.parametrize(
    ("axis", "value", "cause"),
    [
        ("number", 9, "blocks must be 1 to 8, not 9"),
        ("word", "ends", "unknown fold 'ends'; choose one of group, end"),
        ("flag", "yes", "unknown wipe 'yes'"),
    ],
)
def test_a_value_that_no_kernel_has_is_refused(axis: str, value: object, cause: str) -> None:
    with pytest.raises(GhashgenError) as refusal:
        AXES[axis].require(value)
    assert str(refusal.value).startswith(cause)

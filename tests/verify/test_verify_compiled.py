"""GHASH in C, by intrinsics: what compilers make of it is proved, or the flag to add is named."""

from pathlib import Path

import pytest
from helpers.compiled_c import compiled

from ghashgen.algebra.field.bitorder import Order
from ghashgen.support.errors import GhashgenError
from ghashgen.verify.advice import advised
from ghashgen.verify.core.refutation import Category, Refutation
from ghashgen.verify.difference import explain
from ghashgen.verify.prove import prove_object
from ghashgen.verify.statements.hash import FunctionSpec, KernelSpec


def refuted(obj: Path, blocks: int, multiple: int) -> Refutation | None:
    functions = (
        FunctionSpec("init", "c_init", ("table", "subkey")),
        FunctionSpec("mul", "c_mul", ("state", "table")),
        FunctionSpec("update", "c_update", ("state", "table", "input", "length"), multiple),
    )
    cells = tuple(("H", power + 1) for power in range(blocks))
    spec = KernelSpec("c", "sysv", Order.REFLECTED, blocks, cells, 16 * blocks, functions)
    return prove_object(obj, spec).refutation


@pytest.mark.parametrize("tail", [False, True], ids=["whole blocks", "a tail"])
@pytest.mark.parametrize("blocks", [1, 4])
@pytest.mark.parametrize("cc", ["gcc", "clang"])
def test_what_a_compiler_makes_is_proved(cc: str, blocks: int, tail: bool, tmp_path: Path) -> None:
    obj = compiled(cc, "-O2 -mavx", tmp_path, blocks, *(["-DTAIL"] if tail else []))
    refutation = refuted(obj, blocks, 1 if tail else 16)
    assert refutation is None, str(refutation)


@pytest.mark.parametrize("cc", ["gcc", "clang"])
def test_a_fault_in_the_source_is_refused(cc: str, tmp_path: Path) -> None:
    refutation = refuted(compiled(cc, "-O2 -mavx", tmp_path, 4, "-DFAULT"), 4, 16)
    assert refutation is not None
    assert refutation.category is Category.FUNCTION, str(refutation)
    assert "the state is wrong" in str(refutation)


@pytest.mark.parametrize("cc", ["gcc", "clang"])
def test_without_avx_it_is_proved_or_the_flag_is_named(cc: str, tmp_path: Path) -> None:
    """GCC stores integers by MOVUPS then, which is not on the list of data-independent timing."""
    refutation = refuted(compiled(cc, "-O2 -mssse3", tmp_path, 4), 4, 16)
    if refutation is not None:
        assert refutation.category is Category.TIMING, str(refutation)
        explain(refutation)
        assert "-mavx" in refutation.message


NAMED = {
    "-O2 -mavx -fstack-protector-all": "-fno-stack-protector",
    "-O2 -mavx -flto": "-fno-lto",
    "-O2 -mavx -fprofile-arcs": "-fprofile-arcs",
}
"""Flags with which GCC writes what is not proved, and what the refusal names."""


@pytest.mark.parametrize("flags", NAMED)
def test_a_refusal_names_the_flag(flags: str, tmp_path: Path) -> None:
    obj = compiled("gcc", flags, tmp_path, 4)
    try:
        said = str(refuted(obj, 4, 16))
    except GhashgenError as error:
        said = str(advised(error))
    assert NAMED[flags] in said

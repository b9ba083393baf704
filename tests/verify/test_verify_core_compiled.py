"""What a compiler makes of GHASH in C, by certificates: loops that call leave old addresses."""

import copy
from pathlib import Path

import pytest
from helpers.compiled_c import compiled
from helpers.core_checking import accepted, checked, function_of, refusals

from ghashgen.algebra.field.bitorder import Order
from ghashgen.verify.core.refutation import Refutation
from ghashgen.verify.statements.hash import FunctionSpec, KernelSpec
from ghashgen.verify.x86_64.elf import load_image

FLAGS = "-O2 -mavx"


def stated(blocks: int, multiple: int) -> KernelSpec:
    """Return what the C code claims."""
    functions = (
        FunctionSpec("init", "c_init", ("table", "subkey")),
        FunctionSpec("mul", "c_mul", ("state", "table")),
        FunctionSpec("update", "c_update", ("state", "table", "input", "length"), multiple),
    )
    cells = tuple(("H", power + 1) for power in range(blocks))
    return KernelSpec("c", "sysv", Order.REFLECTED, blocks, cells, 16 * blocks, functions)


@pytest.mark.parametrize("tail", [False, True], ids=["whole blocks", "a tail"])
@pytest.mark.parametrize("blocks", [1, 4])
@pytest.mark.parametrize("cc", ["gcc", "clang"])
def test_what_a_compiler_makes_is_proved(cc: str, blocks: int, tail: bool, tmp_path: Path) -> None:
    obj = compiled(cc, FLAGS, tmp_path, blocks, *(["-DTAIL"] if tail else []))
    assert list(refusals(obj.read_bytes(), stated(blocks, 1 if tail else 16))) == []


@pytest.mark.parametrize("cc", ["gcc", "clang"])
def test_a_fault_in_the_source_is_refused(cc: str, tmp_path: Path) -> None:
    obj = compiled(cc, FLAGS, tmp_path, 4, "-DFAULT")
    assert list(refusals(obj.read_bytes(), stated(4, 16)))


@pytest.mark.parametrize("said", ["!", ["v", "r"]])
def test_an_old_return_address_is_read_by_no_assertion(said: object, tmp_path: Path) -> None:
    image = load_image(compiled("gcc", FLAGS, tmp_path, 1).read_bytes())
    spec = stated(1, 16)
    update = function_of(spec, "update")
    right = accepted(image, spec, update)
    places = right["assertions"]["loop"]["places"]
    kept = [place for place, v in places.items() if place.startswith("stack") and v == "?"]
    assert kept
    wrong = copy.deepcopy(right)
    wrong["assertions"]["loop"]["places"][kept[0]] = said
    with pytest.raises(Refutation, match="return address"):
        checked(image, spec, update, wrong)

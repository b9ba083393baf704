"""Whole kernels by certificates: every flavour, columns, Windows, each beside a wrong twin."""

import copy
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import Any

import pytest
import test_columns
import test_win64
from helpers.compiling import emitted_text
from helpers.core_checking import accepted, checked, function_of, kernel_object, refusals, spec_of
from helpers.verify_objects import ASM, assembled
from test_verify_ahead import FAR, PLANTED, text_of

from ghashgen.check.proofs import statement
from ghashgen.check.statements import load_spec
from ghashgen.kernels.hash.catalogue import catalogue
from ghashgen.kernels.hash.kernel import Kernel
from ghashgen.kernels.target import runnable
from ghashgen.verify.core.refutation import Refutation
from ghashgen.verify.statements.hash import KernelSpec
from ghashgen.verify.x86_64.elf import load_image


def flavour(kernel: Kernel) -> tuple[object, ...]:
    """Return all that a kernel is, but for its set, its multiplication and its blocks."""
    return (
        kernel.order, kernel.op, kernel.fold, kernel.swap, kernel.powers, kernel.pipeline,
        kernel.schedule, kernel.wipe, kernel.segments,
    )  # fmt: skip


def smallest() -> list[Kernel]:
    """Return a small kernel of each flavour in the catalogue."""
    found: dict[tuple[object, ...], Kernel] = {}
    for kernel in sorted(catalogue(), key=lambda kernel: kernel.blocks):
        found.setdefault(flavour(kernel), replace(kernel, blocks=min(kernel.blocks, 8)))
    return list(found.values())


def stated(kernel: Kernel, abi: str, *operations: str) -> KernelSpec:
    """Return a kernel's statement, about some of its functions or all."""
    spec = statement(kernel, kernel.name, abi)
    assert isinstance(spec, KernelSpec)
    chosen = tuple(f for f in spec.functions if f.operation in operations or not operations)
    return replace(spec, functions=chosen)


@pytest.mark.parametrize("kernel", smallest(), ids=lambda kernel: kernel.name)
def test_every_function_of_every_flavour_is_proved(kernel: Kernel) -> None:
    data = assembled(emitted_text(kernel, runnable("sysv")))
    assert list(refusals(data, stated(kernel, "sysv"))) == []


# Columns.

COLUMNS = (
    *(replace(test_columns.KERNEL, isa=isa) for isa in ("sse", "avx2", "avx512vl", "avx512")),
    *(replace(test_columns.KERNEL, columns=n) for n in (2, 4, 8)),
    replace(test_columns.WIDE, fold="end", wipe=True),
    replace(test_columns.WIDE, blocks=7, order="natural"),
    replace(test_columns.WIDE, powers="registers", pipeline="ahead"),
    replace(test_columns.KERNEL, multiply="k", op="polyval", blocks=1),
)


@pytest.mark.parametrize("kernel", COLUMNS, ids=lambda kernel: kernel.name)
@pytest.mark.parametrize("abi", ["sysv", "win64"])
def test_a_column_is_proved(kernel: Kernel, abi: str) -> None:
    data = assembled(emitted_text(kernel, runnable(abi)))
    assert list(refusals(data, stated(kernel, abi, "column"))) == []


@pytest.mark.parametrize("name", sorted(test_columns.FAULTS))
def test_a_wrong_column_is_refused(name: str) -> None:
    kernel, change, _ = test_columns.FAULTS[name]
    before, lines, after = test_columns.parts(emitted_text(kernel, runnable("sysv")), kernel)
    wrong = assembled(before + change(lines) + after)
    assert list(refusals(wrong, stated(kernel, "sysv", "column")))


@pytest.mark.parametrize("row", [64, 128])
def test_rows_of_another_length_are_another_statement(row: int) -> None:
    kernel = test_columns.KERNEL
    spec = stated(kernel, "sysv", "column")
    longer = tuple(replace(f, length_multiple=row) for f in spec.functions)
    data = assembled(emitted_text(kernel, runnable("sysv")))
    assert list(refusals(data, replace(spec, functions=longer)))


# Windows.


@pytest.mark.parametrize("kernel", test_win64.KERNELS, ids=lambda kernel: kernel.name)
def test_a_kernel_for_windows_is_proved(kernel: Kernel) -> None:
    assert list(refusals(assembled(test_win64.text(kernel)), stated(kernel, "win64"))) == []


@pytest.mark.parametrize("name", sorted(test_win64.FAULTS))
def test_a_wrong_kernel_for_windows_is_refused(name: str) -> None:
    index, mark, occurrence = test_win64.FAULTS[name]
    kernel = test_win64.KERNELS[index]
    source = test_win64.text(kernel)
    start = source.index(f"{kernel.name}_update:\n")
    end = source.index("\n.end:", start)
    body = test_win64.without(source[start:end], mark, occurrence).rstrip("\n")
    wrong = assembled(source[:start] + body + source[end:])
    assert list(refusals(wrong, stated(kernel, "win64", "update")))


@pytest.mark.parametrize("abi", ["sysv", "win64"])
def test_a_kernel_of_the_other_convention_is_refused(abi: str) -> None:
    kernel = Kernel("avx", "k", "clmul1", 2)
    other = assembled(emitted_text(kernel, runnable("win64" if abi == "sysv" else "sysv")))
    for function in stated(kernel, abi).functions:
        assert list(refusals(other, stated(kernel, abi, function.operation)))


# Loops that carry blocks ahead of the hash.


def pipelined(text: str) -> list[str]:
    """Return why foreign_ghash is not proved."""
    spec = load_spec(ASM / "foreign.toml")
    update = tuple(f for f in spec.functions if f.operation == "update")
    return list(refusals(assembled(text), replace(spec, functions=update)))


@pytest.mark.parametrize("name", ["ahead", "far_ahead"])
def test_a_pipelined_loop_is_proved(name: str) -> None:
    assert pipelined(text_of(name)) == []


@pytest.mark.parametrize(
    ("name", "old", "new", "occurrence"),
    [
        *(("ahead", old, new, k) for old, new, k, _ in PLANTED if "wrong" not in new),
        *(("far_ahead", old, new, 0) for old, new in FAR),
    ],
)
def test_a_wrong_block_ahead_is_refused(name: str, old: str, new: str, occurrence: int) -> None:
    parts = text_of(name).split(old)
    assert len(parts) > occurrence + 1
    assert pipelined(old.join(parts[: occurrence + 1]) + new + old.join(parts[occurrence + 1 :]))


# The assertion behind the loop.

SMALL = "ghash_sse_k_clmul1_x2"


@cache
def right() -> dict[str, Any]:
    """Return the certificate of update that is found."""
    spec = spec_of(SMALL)
    return accepted(load_image(kernel_object(SMALL)), spec, function_of(spec, "update"))


def hashed(**changes: Any) -> Callable[[dict[str, Any]], None]:
    """Return an edit of what is said of the state."""
    return lambda a: a["ghosts"]["x"].update(changes)


WRONG: dict[str, Callable[[dict[str, Any]], None]] = {
    "a group more": hashed(hashed="32*t+32"),
    "no group": hashed(hashed="0"),
    "all of the message": hashed(hashed="length"),
    "a power ahead": hashed(ahead=1),
    "no turn from the loop": lambda a: a["from"].update(loop=[{"length": "length", "t": "t"}]),
    "a turn from the entry": lambda a: a["from"].update(entry=[{"length": "length", "t": "1"}]),
    "nothing from the entry": lambda a: a["from"].pop("entry"),
    "nothing from the loop": lambda a: a["from"].pop("loop"),
    "a byte less is left": lambda a: a.update(facts=["length-32*t", "-1*length+32*t+30"]),
    "something is left": lambda a: a.update(facts=["length-32*t-1", "-1*length+32*t+31"]),
    "a whole group may be left": lambda a: a.update(facts=["length-32*t", "-1*length+32*t+48"]),
    "anything may be left": lambda a: a.update(facts=[]),
    "it is above the loop": lambda a: a.update(level=2),
    "it is beside the loop": lambda a: a.update(level=1),
}


@pytest.mark.parametrize("name", sorted(WRONG))
def test_a_wrong_assertion_behind_the_loop_is_refused(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ghashgen.verify.rules.check.MOST_RUNS", 400)
    data = copy.deepcopy(right())
    WRONG[name](data["assertions"]["rest"])
    assert data != right()
    spec = spec_of(SMALL)
    with pytest.raises(Refutation):
        checked(load_image(kernel_object(SMALL)), spec, function_of(spec, "update"), data)

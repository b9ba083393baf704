"""Whole kernels by certificates: every flavour, and what is said of the state behind the loop."""

import copy
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import Any

import pytest
from helpers.compiling import emitted_text
from helpers.core_checking import accepted, checked, function_of, kernel_object, refusals, spec_of
from helpers.verify_objects import assembled

from ghashgen.check.proofs import statement
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


@pytest.mark.parametrize("abi", ["sysv", "win64"])
def test_a_kernel_of_the_other_convention_is_refused(abi: str) -> None:
    kernel = Kernel("avx", "k", "clmul1", 2)
    other = assembled(emitted_text(kernel, runnable("win64" if abi == "sysv" else "sysv")))
    for function in stated(kernel, abi).functions:
        assert list(refusals(other, stated(kernel, abi, function.operation)))


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

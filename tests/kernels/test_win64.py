"""Wide kernels of the Microsoft x64 convention: proved, run in the emulator, and faults found."""

from dataclasses import replace
from pathlib import Path

import pytest
from helpers.compiling import emitted_text
from helpers.verbs import called
from helpers.verify_objects import assembled

from ghashgen.arch.x86_64.abi import WIN64
from ghashgen.check.proofs import statement
from ghashgen.check.validation.cases import every_length
from ghashgen.check.validation.runners import Emulated
from ghashgen.kernels.hash.kernel import Kernel
from ghashgen.kernels.target import runnable
from ghashgen.run.built import Built, build
from ghashgen.support.errors import GhashgenError
from ghashgen.support.paths import project_root
from ghashgen.verify.core.refutation import Category
from ghashgen.verify.prove import prove_object

SAVING, LEAVING = 1, 3
"""Of KERNELS, one that saves vector registers in its frame, and one that leaves its own as they are
(the other wipes them, upper halves and all)."""

KERNELS = (
    Kernel("avx", "winograd", "clmul1", 4, swap="stack", wipe=True),
    Kernel("avx2", "winograd", "clmul1", 4, segments=True, wipe=True),
    Kernel("avx2", "k", "clmul1", 4, order="natural", fold="end"),
    Kernel("avx512vl", "winograd", "clmul1", 4, segments=True),
    # More registers than the convention leaves free: xmm6 and up are saved by EVEX moves.
    Kernel("avx512vl", "karatsuba", "clmul2", 10, powers="registers"),
    Kernel("avx512", "winograd", "clmul1", 8, wipe=True),
)
each = pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: kernel.name)


def text(kernel: Kernel) -> str:
    return emitted_text(kernel, runnable("win64"))


@each
def test_a_wide_kernel_is_proved(kernel: Kernel) -> None:
    proof = prove_object(assembled(text(kernel)), statement(kernel, kernel.name, "win64"))
    assert proof.refutation is None
    assert {t.symbol for t in proof.theorems if t.what == "abi"} == {
        f"{kernel.name}_{name}"
        for name in ("init", "mul", "update", *(("power", "combine") if kernel.segments else ()))
    }


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Built]:
    folder = tmp_path_factory.mktemp("win64")
    made = build(KERNELS, runnable("win64"), project_root() / "generated", folder)
    return {item.kernel.name: item for item in made}


@each
def test_a_wide_kernel_runs_in_the_emulator(
    kernel: Kernel, built: dict[str, Built], emulated: Emulated
) -> None:
    item = built[kernel.name]
    assert item.abi == "win64"
    chosen = list(every_length((2 * kernel.blocks + 1) * 16 + 15))[::9]
    states = emulated.updates(item, [case.vector for case in chosen])
    assert all(case.accepts(state) for case, state in zip(chosen, states, strict=True))
    assert emulated.check(item) == []


def without(source: str, mark: str, occurrence: int) -> str:
    """Drop one of the lines that hold `mark`; a negative occurrence counts from the end."""
    lines = source.splitlines()
    found = [k for k, line in enumerate(lines) if mark in line]
    del lines[found[occurrence]]
    return "\n".join(lines) + "\n"


FAULTS = {
    "xmm6 not restored": (SAVING, "xmm6, [rsp]", -1),
    "xmm7 not saved": (SAVING, "[rsp + 16], xmm7", 0),
    "the frame not released": (SAVING, "add         rsp", -1),
    "upper halves in use": (LEAVING, "vzeroupper", -1),
}


@pytest.mark.parametrize("name", sorted(FAULTS))
def test_a_broken_convention_is_rejected_and_noticed(
    name: str, built: dict[str, Built], emulated: Emulated, tmp_path: Path
) -> None:
    """The same fault is refused by the proof and seen by the emulated run."""
    index, mark, occurrence = FAULTS[name]
    kernel = KERNELS[index]
    source = text(kernel)
    start = source.index(f"{kernel.name}_update:\n")
    end = source.index("\n.end:", start)
    body = source[start:end]
    assert mark in body
    wrong = source[:start] + without(body, mark, occurrence).rstrip("\n") + source[end:]
    spec = statement(kernel, kernel.name, WIN64.name)
    update = tuple(f for f in spec.functions if f.operation == "update")
    refutation = prove_object(assembled(wrong), replace(spec, functions=update)).refutation
    assert refutation is not None
    assert refutation.category in (Category.ABI, Category.MEMORY)
    obj = tmp_path / "wrong.o"
    obj.write_bytes(assembled(wrong))
    try:
        faults = emulated.check(replace(built[kernel.name], obj=obj))
    except GhashgenError as error:
        faults = [str(error)]
    assert faults


def test_the_verb_takes_the_convention() -> None:
    words = ["--abi", "win64", "--name", "ghash_avx512vl_k_clmul1_x2"]
    result = called("prove", *words)
    assert "1 of 1 kernel proved" in result.output

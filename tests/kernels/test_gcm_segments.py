"""AES-GCM kernels with segments: what puts a text together is proved, validated, and well named."""

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path
from types import ModuleType

import pytest
from helpers.cpus import AS_FOUND, need

from ghashgen.arch.x86_64.assemblers import find_nasm
from ghashgen.check.proofs import statement
from ghashgen.check.validation.gcm import validator
from ghashgen.check.validation.runners import native
from ghashgen.check.validation.trials import faults
from ghashgen.ir.builder import Builder
from ghashgen.ir.program import VReg
from ghashgen.kernels.families import functions_of
from ghashgen.kernels.gcm.kernel import GcmKernel
from ghashgen.kernels.hash.functions import combine, power, update
from ghashgen.kernels.target import runnable, target
from ghashgen.output.artefact import make
from ghashgen.run.built import build
from ghashgen.support.toolchain import assemble_text
from ghashgen.verify.prove import THEOREMS, Proof, prove_object

NAMES = ("hash", "power", "combine")
OPERATIONS = ("update", "power", "combine")

AVX = GcmKernel(128, "avx", "winograd", "clmul1", 2, segments=True)
SETS = (
    replace(AVX, isa="sse", multiply="karatsuba", reduce="shift-xor", blocks=3, wipe=True),
    replace(AVX, key=192, order="reflected", blocks=4),
    replace(AVX, key=256, isa="avx2", multiply="k", blocks=4, wipe=True),
    replace(AVX, isa="avx512vl", order="natural", messages=False),
    replace(AVX, key=256, isa="avx512", multiply="schoolbook", reduce="clmul3", blocks=8),
)


@cache
def text_of(kernel: GcmKernel, abi: str = "sysv") -> str:
    return make(kernel, target(abi, "elf64"), find_nasm()).text


def proved(kernel: GcmKernel, text: str, abi: str = "sysv") -> Proof:
    stated = statement(kernel, kernel.name, abi)
    chosen = tuple(f for f in stated.functions if f.operation in OPERATIONS)
    elf = assemble_text(find_nasm(), kernel.name, text, "elf64")
    return prove_object(elf, replace(stated, functions=chosen))


def test_only_kernels_with_segments_export_them() -> None:
    assert AVX.name == "gcm128_avx_winograd_clmul1_x2_segments"
    assert [*functions_of(AVX)][-3:] == [*NAMES]
    assert not {*NAMES} & {*functions_of(replace(AVX, segments=False))}


@pytest.mark.parametrize("kernel", SETS, ids=lambda kernel: kernel.name)
@pytest.mark.parametrize("abi", ["sysv", "win64"])
def test_they_are_proved_in_every_set(kernel: GcmKernel, abi: str) -> None:
    proof = proved(kernel, text_of(kernel, abi), abi)
    assert proof.refutation is None, str(proof.refutation)
    assert tuple(f.operation for f in proof.functions) == OPERATIONS
    assert {t.what for t in proof.theorems} == {*THEOREMS, *(["wipe"] if kernel.wipe else [])}


PLANTED = (
    ("hash", "vpshufb ", "vpaddb ", "the state"),
    ("hash", "[rdi + 16]", "[rdi]", "the state"),
    ("power", "shr ", "shl ", "power"),
    ("power", "_unit]", "_unit_twisted]", "power"),
    ("combine", "0x11", "0x10", "the state"),
)
"""Function, a text in it, what stands at its first place instead, and words of the refusal."""


@pytest.mark.parametrize(("function", "old", "new", "said"), PLANTED)
def test_a_planted_fault_is_refused(function: str, old: str, new: str, said: str) -> None:
    kernel = replace(AVX, multiply="k")
    head, label, tail = text_of(kernel).partition(f"\n{kernel.name}_{function}:\n")
    assert proved(kernel, head + label + tail).refutation is None
    assert old in tail.partition("\n.end:")[0]
    proof = proved(kernel, head + label + tail.replace(old, new, 1))
    assert proof.refutation is not None
    words = said, "no certificate"
    assert any(word in str(proof.refutation) for word in words), str(proof.refutation)


def none_of_the_state(b: Builder, kernel: object, base: VReg, **names: str) -> VReg:
    """Return zeros in place of what a function loads."""
    return b.zero("X")


FAULTS: tuple[tuple[str, ModuleType, str, Callable[..., object]], ...] = (
    ("hash", update, "load_block", none_of_the_state),
    ("power", power, "_unit", lambda b, kernel, twisted: b.const(2, "unit")),
    ("combine", combine, "load_block", none_of_the_state),
)
"""Function, and what is another in the module that builds it."""


@pytest.mark.cpu(AS_FOUND)
@pytest.mark.parametrize(("function", "module", "name", "other"), FAULTS)
def test_trials_tell_a_planted_fault(
    function: str,
    module: ModuleType,
    name: str,
    other: Callable[..., object],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    harness_folder: Path,
) -> None:
    trials = [*validator.SUITES[function](validator.wanted_of(AVX, 0, 1))]
    found = []
    for right in (True, False):
        if not right:
            monkeypatch.setattr(module, name, other)
        folder = tmp_path / str(right)
        folder.mkdir()
        (built,) = build([AVX], runnable("sysv"), tmp_path / "none", folder)
        need(built.features)
        runner = native([built], harness_folder)
        found.append([*faults(runner, built, trials)])
    assert found[0] == []
    assert len(found[1]) > 100


def test_two_functions_mean_one_value_by_the_name_of_a_constant(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The unit of the field and the step of a counter were both called one."""
    monkeypatch.setattr(power, "_unit", lambda b, kernel, twisted: b.const(2, "one"))
    with pytest.raises(ValueError, match="two values for the constant one"):
        make(AVX, target("sysv", "elf64"), find_nasm())

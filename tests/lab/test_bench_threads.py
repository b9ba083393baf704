"""Texts that are sealed and opened in threads are checked before they are measured."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from helpers.benching import ANY
from helpers.compiling import emitted_text
from helpers.cpus import AS_FOUND, lacking

from ghashgen.arch.x86_64.assemblers import find_nasm
from ghashgen.kernels.gcm.kernel import GcmKernel
from ghashgen.kernels.target import target
from ghashgen.lab.bench.threads import MODE, bench_threads
from ghashgen.records.core import Results
from ghashgen.run.built import build
from ghashgen.run.table import HarnessKernel
from ghashgen.support.errors import GhashgenError
from ghashgen.support.toolchain import assemble

KERNEL = GcmKernel(128, "avx", "winograd", "clmul1", 4, segments=True)
NEEDS = ("aesni", "avx", "pclmulqdq")
WAYS = tuple(
    f"{function}{way}"
    for function in ("seal", "open")
    for way in (" 1", "-pool 1", "-pool 3", "-sleeping 2")
)
JUDGED, LONG = 4000, 70_000
"""Bytes that are sealed by the letter of SP 800-38D too, and that are not."""


@pytest.fixture(scope="module")
def right(folder: Path) -> HarnessKernel:
    (made,) = build((KERNEL,), target(), folder, folder)
    return made.harness_kernel


def measured(kernel: HarnessKernel, ways: Sequence[str], folder: Path, *sizes: int) -> Results:
    only = [f"{kernel.name} {way}" for way in ways]
    return bench_threads([kernel], (), sizes, None, 1, effort=ANY, out_dir=folder, only=only)


@pytest.mark.cpu(AS_FOUND)
def test_texts_are_measured_in_every_way(right: HarnessKernel, folder: Path) -> None:
    found = measured(right, WAYS, folder, JUDGED, LONG)
    if lacking(NEEDS):
        assert len(found.missing) == len(WAYS)
        return
    cells = {(cell.name, cell.size, cell.mode) for cell in found.cells}
    names = {f"{KERNEL.name} {way}" for way in WAYS}
    # With more threads than cores the system may disturb all samples of a way, and of no other.
    assert cells <= {(name, size, MODE) for name in names for size in (JUDGED, LONG)}
    assert found.cell(f"{KERNEL.name} seal-pool 3", JUDGED, MODE) or not cells


FAULTS = {
    "seal 1": ("seal", "dec r8"),
    "open 1": ("open", "xor eax, eax\n    ret"),
    "seal-pool 3": ("encrypt", "xor byte [rdx], 128"),
    "seal-sleeping 2": ("power", "inc rdx"),
    "open-pool 3": ("decrypt", "xor byte [rdx], 128"),
}
"""By way: a function that it takes, and what is put first there."""


@pytest.mark.cpu(AS_FOUND)
@pytest.mark.parametrize("way", FAULTS)
def test_what_is_wrong_is_not_measured(
    way: str, right: HarnessKernel, folder: Path, tmp_path: Path
) -> None:
    function, first = FAULTS[way]
    text = emitted_text(KERNEL, target()).replace(KERNEL.name, "faulty")
    head = f"\nfaulty_{function}:\n    endbr64\n"
    assert text.count(head) == 1
    source = tmp_path / "faulty.asm"
    source.write_text(text.replace(head, f"{head}    {first}\n"))
    assemble(find_nasm(), source, tmp_path / "faulty.o")
    fault = replace(right, name="faulty", symbol="faulty", obj=tmp_path / "faulty.o")
    if lacking(NEEDS):
        assert measured(fault, [way], folder, JUDGED).missing
        return
    with pytest.raises(GhashgenError, match=f"{way} gives a wrong result for {JUDGED} bytes"):
        measured(fault, [way], folder, JUDGED)


@pytest.mark.cpu(AS_FOUND)
@pytest.mark.parametrize("way", ["one 1", "pool 2", "interleaved 2"])
def test_a_kernel_is_asked_for_what_it_has(way: str, right: HarnessKernel, folder: Path) -> None:
    if lacking(NEEDS):
        pytest.skip("this CPU runs no such kernel: " + ", ".join(lacking(NEEDS)))
    with pytest.raises(GhashgenError, match="a kernel that has no such way"):
        measured(right, [way], folder, JUDGED)

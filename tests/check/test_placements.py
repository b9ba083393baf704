"""Bounds, convention and alignment of any function, from its parameters alone: faults are seen."""

import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from helpers.cpus import too_little
from helpers.emulating import needs_emulator, pooled
from helpers.plugging import plugged

from ghashgen.check.validation.placements import lengths, numbers_for
from ghashgen.check.validation.runners import Runner, native
from ghashgen.kernels.core import LENGTH, Counted, Param
from ghashgen.kernels.hash import functions as package
from ghashgen.kernels.hash.kernel import Kernel
from ghashgen.kernels.target import runnable
from ghashgen.output.artefact import make
from ghashgen.run.built import Built, build
from ghashgen.run.emulate import Emulator
from ghashgen.support.toolchain import Tool, assemble_text

TOYS = Path(__file__).parents[1] / "toys"
KERNEL = Kernel("sse", "k", "clmul1", 1)
PROBE, CHAIN = "result/toy_probe.py", "function/toy_chain.py"

Toy = Callable[[str, str, str], None]

PLANTED = [
    (CHAIN, "b.load(Mem(base=source))", "b.load(Mem(base=source, disp=1))",
     "behind them: .*in.16, 1 byte past the end"),
    (CHAIN, "b.load(Mem(base=source))", "b.load(Mem(base=source, disp=-1))",
     "before them: .*in-1, 1 byte before the start|another result"),
    (CHAIN, "    b.store(Mem(base=x), X)", "    b.store(Mem(base=y), X)", "y.*inside it"),
    (CHAIN, "b.store(Mem(base=out), X)", "b.store(Mem(base=out, disp=1), X)", "past the end"),
    (CHAIN, "b.store(Mem(base=out), X)", "b.store(Mem(base=out, disp=-1), X)", "before the start"),
    (CHAIN, "b.load(Mem(base=y))", "Mem(base=y, align=16)", "y at every distance"),
    (PROBE, 'b.gpr("gpr_shr", total, 33)', 'b.gpr("gpr_and", x, 31)', "another result"),
]  # fmt: skip
"""(toy, what stands there, a fault, how it is told)"""


@pytest.fixture
def toy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Toy]:
    """Lets the family find a toy function, edited."""
    folder = tmp_path / "toys"
    folder.mkdir()

    def put(name: str, old: str, new: str) -> None:
        text = (TOYS / name).read_text(encoding="utf-8")
        assert text.count(old) == 1 or not old
        (folder / Path(name).name).write_text(text.replace(old, new) if old else text)

    for _ in plugged(package, folder, monkeypatch):
        yield put


def made(abi: str, folder: Path) -> Built:
    (built,) = build([KERNEL], runnable(abi), folder / "none", folder)
    return built


def told(built: Built, harness_folder: Path, as_cpu: str) -> list[str] | None:
    """Return what the harness finds, None where the CPU lacks what the kernel needs."""
    runner = native([built], harness_folder)
    attempt = lambda: runner.calls(built, "mul", [{"table": bytes(32), "x": bytes(16)}])  # noqa: E731
    return None if too_little(as_cpu, built.features, attempt) else runner.check(built)


@pytest.mark.cpu
@pytest.mark.parametrize("abi", ["sysv", "win64"])
@pytest.mark.parametrize(("name", "old", "new", "words"), PLANTED)
def test_a_planted_fault_is_found(
    name: str,
    old: str,
    new: str,
    words: str,
    abi: str,
    toy: Toy,
    tmp_path: Path,
    harness_folder: Path,
    as_cpu: str,
) -> None:
    toy(name, old, new)
    found = told(made(abi, tmp_path), harness_folder, as_cpu)
    assert found is None or any(re.search(words, line) for line in found), found


@pytest.mark.cpu
@pytest.mark.parametrize("name", [PROBE, CHAIN])
@pytest.mark.parametrize("abi", ["sysv", "win64"])
def test_a_right_function_passes(
    name: str, abi: str, toy: Toy, tmp_path: Path, harness_folder: Path, as_cpu: str
) -> None:
    toy(name, "", "")
    assert not told(made(abi, tmp_path), harness_folder, as_cpu)


@pytest.mark.cpu
@pytest.mark.parametrize("stated", [False, True])
def test_a_function_is_called_with_the_numbers_that_it_allows(
    stated: bool, toy: Toy, tmp_path: Path, harness_folder: Path, as_cpu: str
) -> None:
    """It reads in[1] whatever it is told: right where two blocks are the least allowed."""
    toy(CHAIN, "b.load(Mem(base=y))", "b.load(Mem(base=source, disp=16))")
    path = Path(package.__path__[-1]) / "toy_chain.py"
    counter = 'Param("blocks", "length", LENGTH, secret=False'
    text = path.read_text()
    assert counter in text
    path.write_text(text.replace(counter, f"{counter}, allowed=(2, 3)") if stated else text)
    found = told(made("sysv", tmp_path), harness_folder, as_cpu)
    assert found is None or bool(found) is not stated, found


def test_numbers_are_drawn_from_those_that_are_allowed() -> None:
    tag = Param("tag_len", "tag_length", LENGTH, secret=False, allowed=(4, 8, *range(12, 17)))
    assert numbers_for(tag, lengths(4)) == [4, 8, *range(12, 17)]
    assert numbers_for(replace(tag, allowed=()), (0, 1, 77)) == (0, 1, 77)
    assert numbers_for(replace(tag, allowed=range(1, 2**61)), (0, 1, 2**61)) == [1]
    assert list(numbers_for(replace(tag, allowed=range(1000, 2000)), (0, 1))) == [1000, 1001]
    with pytest.raises(ValueError, match="in allows numbers that cannot"):
        Param("in", "input", Counted("len"), allowed=(1,))


@pytest.mark.cpu
def test_a_register_that_is_not_restored_is_found(
    toy: Toy, tmp_path: Path, harness_folder: Path, as_cpu: str, nasm: Tool
) -> None:
    toy(PROBE, "", "")
    built = made("sysv", tmp_path)
    text = make(KERNEL, runnable("sysv"), nasm).text
    label = f"{KERNEL.name}_toyprobe:\n"
    assert text.count(label) == 1
    obj = tmp_path / "spoiled.o"
    obj.write_bytes(
        assemble_text(nasm, "spoiled", text.replace(label, f"{label} xor ebx, ebx\n"), "elf64")
    )
    found = told(replace(built, obj=obj), harness_folder, as_cpu)
    assert found is None or any("toyprobe: rbx changed" in line for line in found), found


@needs_emulator[0]
@pytest.mark.parametrize(("name", "old", "new", "words"), PLANTED)
def test_a_planted_fault_is_found_in_the_emulator(
    name: str, old: str, new: str, words: str, toy: Toy, tmp_path: Path
) -> None:
    del words  # the emulator has its own
    toy(name, old, new)
    built = made("sysv", tmp_path)
    with Emulator() as emulator:
        runner: Runner = pooled(emulator)
        assert runner.check(built)


def test_lengths_are_on_every_way_around_a_group() -> None:
    for blocks in (1, 4, 48):
        found = lengths(blocks)
        assert {0, 1, 15, 16, 17, 16 * blocks - 1, 16 * blocks, 32 * blocks} <= {*found}
        assert found[-1] > 48 * blocks

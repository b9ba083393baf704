"""A function that returns a number: one file, and everything that is emitted, called or refused."""

import random
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from helpers.aarch64 import WHERE, gas, machine
from helpers.cpus import too_little
from helpers.emulating import needs_emulator, pooled
from helpers.plugging import plugged

from ghashgen.arch.x86_64 import ARCH
from ghashgen.check.attack.leaks import leaks
from ghashgen.check.validation.runners import Runner, native
from ghashgen.compiler.pipeline import compile_kernel
from ghashgen.kernels.core import Function, Result
from ghashgen.kernels.exported import found_in
from ghashgen.kernels.families import functions_of
from ghashgen.kernels.hash import functions as package
from ghashgen.kernels.hash.kernel import Kernel
from ghashgen.kernels.target import runnable
from ghashgen.output.generate import produce
from ghashgen.output.peachpy.encode import check
from ghashgen.run.built import Built, build
from ghashgen.run.emulate import Emulator
from ghashgen.support.errors import GhashgenError

__all__ = ["gas", "machine"]

TOYS = Path(__file__).parents[1] / "toys" / "result"
KERNEL = Kernel("sse", "k", "clmul1", 1)
WIPING = replace(KERNEL, wipe=True)
PMULL = Kernel("pmull", "k", "clmul1", 1)
conventions = pytest.mark.parametrize("abi", ["sysv", "win64"])
kernels = pytest.mark.parametrize("kernel", [KERNEL, WIPING], ids=["plain", "wipe"])

pytestmark = pytest.mark.usefixtures("toys")


@pytest.fixture
def toys(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Let the family look into a folder of toys, and forget them afterwards."""
    yield from plugged(package, TOYS, monkeypatch)


def made(kernel: Kernel, abi: str, folder: Path) -> Built:
    (built,) = build([kernel], runnable(abi), folder / "none", folder)
    return built


def toy() -> Function[Kernel]:
    return found_in(package)["toyprobe"]


@conventions
def test_it_is_declared_with_its_type(abi: str) -> None:
    output = produce([KERNEL], runnable(abi), {}, True)
    (artefact,) = output.artefacts
    declared = f"int {KERNEL.name}_toyprobe(const void *table, const uint8_t x[16], "
    assert f"; {declared}" in artefact.text
    assert f"\n{declared}" in output.files["ghashgen.h"]
    assert "    int (*toyprobe)(const void *table, " in output.files["ghashgen_dispatch.h"]


@kernels
@conventions
def test_it_is_in_its_register_at_every_return(kernel: Kernel, abi: str) -> None:
    """A number that an early path returns is moved there, others are made there."""
    function = compile_kernel(kernel, ARCH.abis[abi])["toyprobe"].function
    assert ARCH.result in function.generals
    ends = [i for i, op in enumerate(function.ops) if op.code == "ret"]
    assert len(ends) == 3
    assert not any(op.operands for op in function.ops if op.code == "ret")


def test_wiping_leaves_it_and_nothing_else(tmp_path: Path) -> None:
    left = {
        kernel: made(kernel, "sysv", tmp_path).audit.left["toyprobe"] for kernel in (KERNEL, WIPING)
    }
    assert left[KERNEL].registers
    assert "rax" not in left[KERNEL].registers
    assert left[WIPING].names == ()


def require_right(runner: Runner, built: Built) -> None:
    rng = random.Random(3)
    x, y = rng.randbytes(16), rng.randbytes(16)
    table = runner.calls(built, "init", [{"h": y}])[0]
    assert table.result is None
    for count, mark in (
        (0, 0),
        (1, 0),
        (5, 0),
        (2, 2**16 - 1),
        (0, 2**16),
        (2, 2**63 + 2**31),
        (3, 2**32 - 2),
    ):
        source = [rng.randbytes(16) for _ in range(count)]
        values = {
            "table": table["table"],
            "x": x,
            "y": y,
            "z": y,
            "in": b"".join(source),
            "mark": mark,
        }
        (answer,) = runner.calls(built, "toyprobe", [values])
        low = [int.from_bytes(block[:8], "little") for block in [x, *source]]
        total = sum(low[1:]) - count * low[0]
        wanted = (total % 2**64 >> 33) if count else -1
        if mark >= 2**16:
            wanted = (mark % 2**32 + 2**31) % 2**32 - 2**31
        assert answer.result == wanted, (count, mark)
        assert answer.buffers == {}


@pytest.mark.cpu
@kernels
@conventions
def test_it_comes_back_from_this_cpu(
    kernel: Kernel, abi: str, tmp_path: Path, as_cpu: str, harness_folder: Path
) -> None:
    built = made(kernel, abi, tmp_path)
    runner = native([built], harness_folder)
    attempt = lambda: runner.calls(built, "mul", [{"table": bytes(32), "x": bytes(16)}])  # noqa: E731
    if not too_little(as_cpu, built.features, attempt):
        require_right(runner, built)


@needs_emulator[0]
@kernels
@conventions
def test_it_comes_back_from_the_emulator(kernel: Kernel, abi: str, tmp_path: Path) -> None:
    built = made(kernel, abi, tmp_path)
    with Emulator() as emulator:
        runner = pooled(emulator)
        require_right(runner, built)
        assert runner.check(built) == []
        assert leaks(emulator, emulator.load(built.obj), built)[1] == ""


@needs_emulator[0]
def test_a_secret_above_the_number_is_a_leak(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As many bits as the type has are the caller's; the others are looked at."""
    text = (TOYS / "toy_probe.py").read_text(encoding="utf-8")
    assert text.count('b.gpr("gpr_shr", total, 33)') == 1
    folder = tmp_path / "toys"
    folder.mkdir()
    (folder / "toy_probe.py").write_text(text.replace('b.gpr("gpr_shr", total, 33)', "X"))
    monkeypatch.setattr(package, "__path__", [*list(package.__path__)[:-1], str(folder)])
    sys.modules.pop(f"{package.__name__}.toy_probe", None)
    built = made(WIPING, "sysv", tmp_path)
    with Emulator() as emulator:
        found = leaks(emulator, emulator.load(built.obj), built)[1]
    assert "a register depends on a secret on return" in found


@pytest.mark.usefixtures("gas", "machine")
def test_it_comes_back_on_another_architecture(tmp_path: Path, harness_folder: Path) -> None:
    (built,) = build([PMULL], WHERE, tmp_path / "none", tmp_path)
    require_right(native([built], harness_folder), built)


def test_peachpy_refuses_it() -> None:
    with pytest.raises(GhashgenError, match="a return value, and toyprobe has one"):
        check(replace(KERNEL, isa="avx"))


@pytest.mark.parametrize("returns", [None, Result("status")])
def test_a_function_returns_what_it_says_or_is_refused(returns: Result | None) -> None:
    function = toy() if returns is None else functions_of(KERNEL)["mul"]
    wrong = replace(function, returns=returns)
    with pytest.raises(ValueError, match=f"{function.name} ends by return"):
        wrong.program(KERNEL)


@pytest.mark.parametrize(
    ("ctype", "register", "number"),
    [
        ("int", 0xFFFF_FFFF_0000_0001, 1),
        ("int", 0x0000_0001_FFFF_FFFF, -1),
        ("uint32_t", 2**64 - 1, 2**32 - 1),
        ("size_t", 2**64 - 1, 2**64 - 1),
    ],
)
def test_a_number_is_what_c_reads(ctype: str, register: int, number: int) -> None:
    assert Result("r", ctype).number(register) == number


def test_a_type_that_no_register_returns_is_refused() -> None:
    with pytest.raises(ValueError, match="float is not one of int"):
        Result("r", "float")

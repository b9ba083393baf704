"""An instruction set and a syntax from outside the package: one file each, no edit."""

import platform
from collections.abc import Iterator
from pathlib import Path

import pytest
from helpers.compiling import Job, assembled, emitted_text
from helpers.cpus import too_little
from helpers.plugging import TOYS, plugged

from ghashgen.arch.objects import read_object
from ghashgen.arch.registry import isas, syntaxes
from ghashgen.arch.x86_64 import sets as isa_package
from ghashgen.arch.x86_64 import syntax as syntax_package
from ghashgen.kernels.hash.kernel import Kernel
from ghashgen.kernels.selection import Choice, choose_of
from ghashgen.kernels.target import target
from ghashgen.run.harness import build
from ghashgen.support.toolchain import Tool, assemble_text


@pytest.fixture
def toy_isa(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    yield from plugged(isa_package, TOYS / "isa", monkeypatch)


@pytest.fixture
def toy_syntax(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    yield from plugged(syntax_package, TOYS / "syntax", monkeypatch)


def test_the_toys_are_not_there_by_themselves() -> None:
    assert "toy-narrow" not in isas()
    assert "toy-upper" not in syntaxes()


@pytest.mark.usefixtures("toy_isa")
def test_an_isa_of_ones_own_ships_kernels() -> None:
    assert "toy-narrow" in isas()
    found = choose_of(
        Kernel, Choice(isa=("toy-narrow",), multiply=("k",), op=("ghash",), swap=("register",))
    )
    assert Kernel("toy-narrow", "k", "clmul1", 3) in found


@pytest.mark.cpu
@pytest.mark.usefixtures("toy_isa")
@pytest.mark.skipif(
    platform.machine() not in ("x86_64", "AMD64"), reason="the kernel is x86-64 code"
)
@pytest.mark.parametrize(("multiply", "reduce"), [("k", "clmul1"), ("karatsuba", "clmul2")])
def test_a_kernel_of_an_isa_of_ones_own_is_right(
    multiply: str, reduce: str, nasm: Tool, harness_folder: Path, tmp_path: Path, as_cpu: str
) -> None:
    item = assembled(nasm, Job(Kernel("toy-narrow", multiply, reduce, 3)))
    assert item.symbol == f"ghash_toynarrow_{multiply}_{reduce}_x3"
    registers = {name for used in item.audit.registers.values() for name in used}
    assert {name for name in registers if name.startswith("xmm")} <= {f"xmm{n}" for n in range(8)}
    program = build([item.harness_kernel(tmp_path)], harness_folder)
    if too_little(as_cpu, item.features, lambda: program.check(item.symbol)):
        return
    report = program.check(item.symbol)
    assert report.ok, report


@pytest.mark.usefixtures("toy_syntax")
def test_a_syntax_of_ones_own_prints_the_same_instructions(nasm: Tool) -> None:
    kernel = Kernel("avx", "winograd", "clmul1", 2)
    toy, plain = (emitted_text(kernel, target(syntax=name)) for name in ("toy-upper", "nasm"))
    assert "VPCLMULQDQ" in toy
    codes = [
        read_object(assemble_text(nasm, kernel.name, made, "elf64")).code for made in (toy, plain)
    ]
    assert codes[0] == codes[1]

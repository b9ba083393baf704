"""What the tests of the benchmark share: an effort that waits for nothing, and planted kernels."""

import subprocess
from pathlib import Path

from ghashgen.arch.x86_64.assemblers import find_nasm
from ghashgen.kernels.hash.kernel import Kernel
from ghashgen.kernels.target import target
from ghashgen.lab.bench import Effort, bench
from ghashgen.run.harness import MissingFeatures
from ghashgen.run.table import HarnessKernel
from ghashgen.support.toolchain import assemble
from helpers.compiling import emitted_text
from helpers.cpus import too_little

# Whatever the machine is busy with: nothing is waited for, nothing is dropped for shared slots.
ANY = Effort(samples=5, cycles=2000, patience=0, nops=0)
NEEDS = ("avx", "pclmulqdq")
PLAIN = Kernel("avx", "winograd", "clmul1", 4)


def left_out(as_cpu: str, kernel: HarnessKernel, folder: Path) -> bool:
    """Whether the CPU cannot run the kernel, which the run then names with what is lacking."""

    def attempt() -> None:
        found = bench([kernel], (), (16,), ("throughput",), 1, effort=ANY, out_dir=folder)
        assert all(cell.name != kernel.name for cell in found.cells)
        words = found.missing[kernel.name].removeprefix("this CPU lacks ")
        raise MissingFeatures("left out", tuple(words.split()))

    return too_little(as_cpu, kernel.needs, attempt)


def output(command: list[str], text: str = "") -> str:
    return subprocess.run(
        command, input=text, capture_output=True, text=True, check=True, timeout=60
    ).stdout


def planted(folder: Path, name: str, first: str) -> HarnessKernel:
    """A right kernel but for instructions put first in its update."""
    text = emitted_text(PLAIN, target()).replace(PLAIN.name, name)
    head = f"\n{name}_update:\n    endbr64\n"
    assert text.count(head) == 1
    source = folder / f"{name}.asm"
    source.write_text(text.replace(head, head + first))
    obj = source.with_suffix(".o")
    assemble(find_nasm(), source, obj)
    return HarnessKernel.of_kernel(PLAIN, obj, NEEDS, abi="sysv", symbol=name, name=name)

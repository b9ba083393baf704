"""What the tests of the benchmark of AES-GCM share: kernels, and faults planted in them."""

from dataclasses import replace
from functools import cache
from pathlib import Path

from ghashgen.arch.x86_64.assemblers import find_nasm
from ghashgen.kernels.gcm.kernel import GcmKernel
from ghashgen.kernels.target import target
from ghashgen.run.built import build
from ghashgen.run.table import HarnessKernel
from ghashgen.support.toolchain import assemble
from helpers.compiling import emitted_text

NEEDS = ("aesni", "avx", "pclmulqdq")
KERNELS = tuple(
    GcmKernel(key, "avx", "karatsuba", "clmul2", 4, streams=key == 128, many=many)
    for key, many in ((128, "none"), (256, "each"))
)


@cache
def assembled(folder: Path) -> tuple[HarnessKernel, ...]:
    return tuple(item.harness_kernel for item in build(KERNELS, target(), folder, folder))


@cache
def emitted(kernel: GcmKernel) -> str:
    return emitted_text(kernel, target())


def planted(folder: Path, kernel: GcmKernel, function: str, first: str) -> HarnessKernel:
    """A kernel called faulty, right but for instructions put first in a function."""
    name = "faulty"
    text = emitted(kernel).replace(kernel.name, name)
    head = f"\n{name}_{function}:\n    endbr64\n"
    assert text.count(head) == 1
    source = folder / f"{name}.asm"
    source.write_text(text.replace(head, head + first))
    obj = source.with_suffix(".o")
    assemble(find_nasm(), source, obj)
    right = next(item for item in assembled(folder) if item.name == kernel.name)
    return replace(right, name=name, symbol=name, obj=obj)

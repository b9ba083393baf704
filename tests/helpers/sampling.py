"""What the tests of random points share: a small kernel, and kernels as subjects."""

from pathlib import Path

from ghashgen.check.sampled.cells import cell
from ghashgen.check.sampled.points import Structure
from ghashgen.check.sampled.subject import SAMPLED, Function, Subject, structure_of
from ghashgen.kernels.families import functions_of
from ghashgen.kernels.hash.kernel import Kernel
from ghashgen.kernels.target import runnable
from helpers.compiling import emitted_text, plain

NARROW = Kernel("sse", "k", "clmul1", 4)
SSE = ("sse2", "ssse3", "pclmulqdq")


def subject_of_kernel(kernel: Kernel, structure: Structure | None = None) -> Subject:
    return Subject(
        name=kernel.name,
        obj=Path(),
        abi="sysv",
        op=kernel.op,
        order=kernel.bit_order,
        structure=structure or structure_of(kernel),
        cells=tuple(cell(text) for text in kernel.layout.cells),
        table_bytes=kernel.table_bytes,
        functions={
            name: Function(f"{kernel.name}_{name}", functions_of(kernel)[name].roles)
            for name in SAMPLED
            if name in functions_of(kernel)
        },
    )


def text_of(kernel: Kernel) -> str:
    return plain(emitted_text(kernel, runnable("sysv", "")))

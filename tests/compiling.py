"""What the tests of the compiler share: kernels compiled, assembled and ready for the harness."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from ghashgen.arch.core import Abi
from ghashgen.arch.objects import ObjectCode, read_object
from ghashgen.arch.rows import Isa
from ghashgen.arch.x86_64.formats import FORMATS
from ghashgen.compiler.allocate import Allocation, allocate
from ghashgen.compiler.frame import frame
from ghashgen.compiler.fuse import fuse
from ghashgen.compiler.hoist import hoist
from ghashgen.compiler.pipeline import Compiled, compile_kernel
from ghashgen.compiler.recheck import recheck
from ghashgen.compiler.select import select
from ghashgen.cost.audit import Audit, audit
from ghashgen.kernels.families import functions_of
from ghashgen.kernels.hash.kernel import Kernel
from ghashgen.kernels.target import Target, target
from ghashgen.output.place import place
from ghashgen.output.render import RenderedFunction, listing
from ghashgen.run.harness import HarnessKernel
from ghashgen.support.toolchain import Tool, assemble_text

PAIRS = (
    ("k", "clmul1"),
    ("karatsuba", "clmul2"),
    ("karatsuba", "clmul3"),
    ("karatsuba", "shift-xor"),
    ("schoolbook", "clmul2"),
    ("schoolbook", "clmul3"),
    ("schoolbook", "shift-xor"),
    ("winograd", "clmul1"),
)
ISAS = ("avx", "sse")


@dataclass(frozen=True)
class Job:
    """A kernel to compile, its target as names, and the vector registers allowed (0: all)."""

    kernel: Kernel
    abi: str = "sysv"
    prefix: str = ""
    vectors: int = 0
    table_align: int = 0

    @property
    def target(self) -> Target:
        """ELF whatever the convention: what the harness links."""
        return target(self.abi, "elf64", self.prefix, table_align=self.table_align)


@dataclass(frozen=True)
class Assembled:
    """A kernel as an ELF object, and what the compiler says about it."""

    job: Job
    text: str
    functions: tuple[RenderedFunction, ...]
    elf: bytes

    @property
    def kernel(self) -> Kernel:
        return self.job.kernel

    @property
    def features(self) -> tuple[str, ...]:
        return self.audit.features

    @property
    def symbol(self) -> str:
        return self.job.target.symbol(self.kernel.name)

    @cached_property
    def code(self) -> ObjectCode:
        return read_object(self.elf)

    @cached_property
    def audit(self) -> Audit:
        return audit(self.kernel, self.symbol, self.code)

    def harness_kernel(self, folder: Path) -> HarnessKernel:
        """Write the object and return what the harness must know."""
        obj = folder / f"{self.symbol}.o"
        obj.write_bytes(self.elf)
        return HarnessKernel(
            name=self.symbol,
            isa=self.kernel.isa,
            abi=self.job.abi,
            needs=self.features,
            blocks=self.kernel.blocks,
            table_bytes=self.kernel.table_bytes,
            table_align=self.job.target.table_align_of(self.kernel),
            obj=obj,
            functions=tuple(functions_of(self.kernel)),
        )


def allocated(
    kernel: Kernel, function: str, abi: Abi, vectors: int
) -> tuple[Compiled, Allocation, Isa]:
    """Compile one function with the first so many vector registers, re-checked."""
    abstract = functions_of(kernel)[function].program(kernel)
    selected = select(hoist(fuse(abstract, kernel.set)), kernel.set)
    allocation = allocate(selected, kernel.set, abi, vectors)
    recheck(selected, allocation.program, allocation.slots, kernel.set, abi)
    finished = frame(allocation, kernel.set, abi, kernel.wipe)
    return Compiled(abstract, selected, finished), allocation, kernel.set


def compiled(job: Job) -> dict[str, Compiled]:
    if not job.vectors:
        return compile_kernel(job.kernel, job.target.abi, job.table_align)
    return {
        name: allocated(job.kernel, name, job.target.abi, job.vectors)[0]
        for name in functions_of(job.kernel)
    }


def assembled(nasm: Tool, job: Job) -> Assembled:
    """Compile, render, place and assemble one job."""
    made = place(listing(job.kernel, job.target, compiled(job)), nasm).listing
    assert job.target.fmt is FORMATS["elf64"]
    elf = assemble_text(nasm, job.kernel.name, made.text, "elf64")
    return Assembled(job, made.text, made.functions, elf)

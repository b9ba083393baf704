"""What the tests of the compiler share: kernels compiled, assembled and ready for the harness."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path

from ghashgen.algebra.schemes.registry import multiplies, reduces
from ghashgen.arch.core import Abi
from ghashgen.arch.objects import ObjectCode, read_object
from ghashgen.arch.rows import Isa
from ghashgen.arch.x86_64.formats import FORMATS
from ghashgen.compiler.allocate import Allocation
from ghashgen.compiler.pipeline import Compiled, Measure, compile_programs
from ghashgen.cost.audit import Audit, audit
from ghashgen.kernels.core import Point
from ghashgen.kernels.families import functions_of
from ghashgen.kernels.hash.kernel import Kernel
from ghashgen.kernels.target import Target, target
from ghashgen.output.artefact import finish, make
from ghashgen.output.render import RenderedFunction
from ghashgen.run.table import HarnessKernel
from ghashgen.support.toolchain import Tool, assemble_text, find_assembler

PAIRS = tuple(
    (multiply.name, reduce.name)
    for multiply in multiplies().values()
    for reduce in reduces().values()
    if multiply.shape is reduce.shape
)
"""The schemes that go together."""
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
        return HarnessKernel.of_kernel(
            self.kernel,
            obj,
            self.features,
            abi=self.job.abi,
            table_align=self.job.target.table_align_of(self.kernel),
            symbol=self.symbol,
            name=self.symbol,
        )


SPILLED = tuple(
    Job(Kernel(isa, multiply, reduce, blocks, wipe=wipe), abi, f"few{vectors}_{abi}_", vectors)
    for vectors, blocks, abi, wipe, pairs in (
        (6, 2, "sysv", False, PAIRS),
        (8, 4, "win64", True, PAIRS[::3]),
    )
    for isa in ISAS
    for multiply, reduce in pairs
)
"""Kernels that may use few vector registers, so that values live in stack slots."""

BUFFERED = tuple(
    Job(Kernel("avx", multiply, "clmul1", 8, swap="stack"), "sysv", f"few{vectors}_", vectors)
    for multiply, vectors in (("k", 6), ("winograd", 8))
)
"""The same, with a stack buffer and with registers wider than a slot."""

FRAMED = tuple(
    Job(Kernel(isa, multiply, reduce, blocks, wipe=wipe), abi, f"{abi}_")
    for abi, wipe, blocks, pairs in (
        ("win64", True, 6, PAIRS[::2]),
        ("win64", False, 5, PAIRS[1::2]),
        ("sysv", True, 4, PAIRS[::2]),
    )
    for isa in ISAS
    for multiply, reduce in pairs
)
"""Kernels with a prologue: another convention, or wiping."""


def allocated(
    kernel: Kernel, function: str, abi: Abi, vectors: int
) -> tuple[Compiled, Allocation, Isa]:
    """Compile one function with the first so many vector registers, re-checked."""
    programs = {function: functions_of(kernel)[function].program(kernel)}
    item = compile_programs(programs, kernel, abi, vectors=vectors)[function]
    return item, item.allocation, kernel.instruction_set


def assembled(nasm: Tool, job: Job) -> Assembled:
    """Make and assemble one job."""
    kernel, where = job.kernel, job.target
    assert where.fmt is FORMATS["elf64"]

    def compiling(measure: Measure) -> Mapping[str, Compiled]:
        programs = {name: f.program(kernel) for name, f in functions_of(kernel).items()}
        return compile_programs(
            programs, kernel, where.abi, where.table_align, measure, vectors=job.vectors
        )

    made = finish(kernel, where, nasm, compiling)
    elf = assemble_text(nasm, kernel.name, made.text, "elf64")
    return Assembled(job, made.text, made.functions, elf)


@cache
def emitted_text(kernel: Point, where: Target) -> str:
    """The file of a kernel as it ships."""
    return make(kernel, where, find_assembler(where.syntax.assembler)).text


def plain(text: str) -> str:
    """A text with one space for every run of spaces and tabs: columns are no matter of a fault."""
    return re.sub(r"[ \t]+", " ", text)

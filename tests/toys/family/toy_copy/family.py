"""A toy family of one axis and one function, which copies blocks."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from ghashgen.arch.registry import isas
from ghashgen.arch.rows import Isa
from ghashgen.ir.builder import Builder
from ghashgen.ir.program import Mem
from ghashgen.kernels.axes import Axis
from ghashgen.kernels.core import Direction, Family, Fixed, Function, Layout, Param, Words

BLOCKS = Axis("blocks", "Blocks to copy.", lambda: range(1, 5))


@dataclass(frozen=True)
class Copy:
    """A kernel that copies blocks."""

    family: ClassVar[str] = "toy-copy"

    blocks: int
    wipe: bool = False
    schedule: str = "written"

    def __post_init__(self) -> None:
        BLOCKS.require(self.blocks)

    @property
    def name(self) -> str:
        """Its name."""
        return f"copy_x{self.blocks}"

    @property
    def instruction_set(self) -> Isa:
        """Legacy SSE."""
        return isas()["sse"]

    @property
    def widest(self) -> int:
        """One lane."""
        return 1

    @property
    def layout(self) -> Layout:
        """No table."""
        return Layout()

    @property
    def best_align(self) -> int:
        """Of no table."""
        return 1


def build(b: Builder, kernel: Copy) -> None:
    """Record the function of a kernel."""
    source, out = b.params
    for i in range(kernel.blocks):
        b.store(Mem(base=out, disp=16 * i), b.load(Mem(base=source, disp=16 * i)))


def functions() -> Mapping[str, Function[Copy]]:
    """Return its one function."""
    params = (Param("in", "input", Fixed(16)), Param("out", "output", Fixed(16), Direction.OUT))
    copy: Function[Copy] = Function("copy", 1, params, lambda kernel: "out = in", build)
    return {"copy": copy}


FAMILY = Family(
    name=Copy.family,
    order=90,
    title="copies, a toy",
    axes=(BLOCKS,),
    make=Copy,
    functions=functions,
    catalogue=lambda: tuple(Copy(blocks) for blocks in (1, 2)),
    theorems=lambda kernel: [],
    words=lambda kernel: Words(f"copies of {kernel.blocks} blocks", closing=("It takes no time.",)),
    line=lambda values: f"copies of {values['blocks']} blocks",
    notes=lambda entries: ("Copies of blocks, a toy.",),
)
"""The family."""

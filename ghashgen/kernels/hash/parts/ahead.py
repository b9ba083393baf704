"""Software pipelining of the group loop: a group prepares the first parts of the next one.

It prepares everything that does not wait for the state: the load, the byte swap and, in schemes
that multiply sums of the block and of the table (A + C1, A + C2), these sums. They are in registers
at the loop's head, so a group begins with its products.

The registers that are free at the head limit how much fits (`plan`). With `fold` "end" only blocks
are prepared, because the last group meets other table entries.
"""

from dataclasses import dataclass

from ghashgen.algebra.field.bitorder import BLOCK_BYTES
from ghashgen.algebra.schemes import aggregate
from ghashgen.ir.builder import Builder
from ghashgen.ir.program import VReg
from ghashgen.kernels.hash.kernel import Kernel
from ghashgen.kernels.hash.parts.group import Given, Keys, registers
from ghashgen.kernels.hash.parts.interface import in_register, load_block


@dataclass(frozen=True)
class Part:
    """One register of a group that is prepared ahead."""

    number: int
    """Counted from 1, as in `aggregate.group`."""
    whole: bool
    """Whether all operands of its products are prepared, or only the block."""


def plan(kernel: Kernel) -> tuple[Part, ...]:
    """Return what is prepared ahead, in the order of use, as free registers allow.

    The part that meets the state is prepared as a block: its operands wait for the sum.
    """
    count = len(registers(kernel.blocks, kernel.lane_count))
    width = len(kernel.multiplier.operands)
    room = kernel.room
    out = []
    for number in aggregate.sequence(count):
        if room < 1:
            break
        whole = number != 1 and kernel.fold == "group" and width <= room
        out.append(Part(number, whole))
        room -= width if whole else 1
    return tuple(out)


class Ahead:
    """The loop-carried registers that hold the first parts of a group."""

    def __init__(self, b: Builder, kernel: Kernel, source: VReg, keys: Keys) -> None:
        """Record the preparation of the group at `source`."""
        self._b, self._kernel, self._source, self._keys = b, kernel, source, keys
        self._places = registers(kernel.blocks, kernel.lane_count)
        self._plan = plan(kernel)
        names = kernel.multiplier.operands
        self._held = {
            part.number: [
                b.variable(value, f"{name} of part {part.number}")
                for name, value in zip(names, self._prepare(part, 0), strict=False)
            ]
            for part in self._plan
        }
        b.about("")

    def _prepare(self, part: Part, offset: int) -> list[VReg]:
        b, kernel = self._b, self._kernel
        at, lanes = self._places[part.number - 1]
        b.about(f"ahead: C{part.number}")
        block = load_block(b, kernel, self._source, offset + BLOCK_BYTES * at, "C", lanes)
        if not part.whole:
            return [block]
        multiply = kernel.multiplier
        entries = self._keys(len(self._places) + 1 - part.number)[: len(multiply.entries)]
        operands = multiply.prepared(b, block, entries, kernel.bit_order)
        return [in_register(operand) for operand in operands]

    def given(self, *, prepare_next: bool) -> Given:
        """Return what a group finds prepared; with `prepare_next`, fill the registers again."""
        return Given(
            operands={part.number: self._held[part.number] for part in self._plan if part.whole},
            blocks={part.number: self._held[part.number][0] for part in self._plan},
            meanwhile=self._refill if prepare_next else lambda: None,
        )

    def _refill(self) -> None:
        for part in self._plan:
            values = self._prepare(part, BLOCK_BYTES * self._kernel.blocks)
            for register, value in zip(self._held[part.number], values, strict=True):
                self._b.assign(register, value)

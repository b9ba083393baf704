"""A kernel as one small value, from which its name, its table and its refusals derive."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

from ghashgen.algebra.field.bitorder import Order
from ghashgen.algebra.schemes.core import Multiply, Reduce
from ghashgen.algebra.schemes.registry import multiplies, reduces
from ghashgen.arch.registry import isas
from ghashgen.arch.rows import Isa
from ghashgen.arch.schedules import WRITTEN, label_of
from ghashgen.kernels import core
from ghashgen.kernels.axes import Refusals, name_of, require_valid
from ghashgen.kernels.core import CELL_BYTES
from ghashgen.kernels.hash import axes
from ghashgen.kernels.hash.definition import DEFINITIONS, Definition
from ghashgen.support.errors import GhashgenError

ENTRY_BYTES = CELL_BYTES

ZERO_CELL = "0"
"""A cell of the table that holds zeros."""

LOOP = "@loop"
"""Marks the arrays that the group loop uses if lanes are added up at the end."""

WORKING_REGISTERS = 10
"""Registers of a group besides its powers: state, accumulators, a block's values, two constants."""


@dataclass(frozen=True)
class Layout(core.Layout):
    """The table: one array for each entry, with descending powers. So a run of m powers down to H^1
    is the end of the array for every m, at any register width.

    A cell is an entry and a power, such as "K3"; "0" is zeros; "R16/4" is the sum of the key terms
    of H^16, H^12, H^8 and H^4. `top` is a multiple of the lanes; an array begins with that power.
    """

    def offset(self, entry: str, power: int) -> int:
        """Byte offset of an entry of H^power; powers from 0 down are the padding after the
        array.
        """
        return self.arrays[entry] + ENTRY_BYTES * (self.top - power)


def table_layout(kernel: "Kernel", powers: int) -> Layout:
    """Return the layout of a kernel's table with at least this many powers of H."""
    lanes = kernel.lane_count
    top = -(-powers // lanes) * lanes
    cells: list[str] = []
    arrays: dict[str, int] = {}

    def array(name: str, powers: Iterable[int], padding: int) -> None:
        arrays[name] = ENTRY_BYTES * len(cells)
        cells.extend(f"{name.partition('@')[0]}{power}" for power in powers)
        cells.extend([ZERO_CELL] * padding)

    # A tail in one register multiplies all of it: the lanes past H^1 must see zero keys.
    padding = lanes if kernel.padded and kernel.instruction_set.partial_registers else 0
    for entry in kernel.multiplier.entries:
        array(entry, range(top, 0, -1), padding)
    if kernel.multiplier.key_term:
        array("R", range(top, 0, -1), 0)
    if kernel.fold == "end":
        # The same power in every lane, from H^n down in steps of L.
        steps = range(kernel.blocks, 0, -lanes)
        for entry in kernel.multiplier.entries:
            array(entry + LOOP, [power for power in steps for _ in range(lanes)], 0)
        if kernel.multiplier.key_term:
            arrays["R" + LOOP] = ENTRY_BYTES * len(cells)
            cells.extend([f"R{kernel.blocks}/{lanes}"] * lanes)
    return Layout(tuple(cells), top, arrays)


@dataclass(frozen=True)
class Kernel:
    """One variant of a GHASH or POLYVAL kernel: a valid combination of axes.

    Raises:
        GhashgenError: the combination is invalid; names the axis, the reason and what to choose
            instead.
    """

    family: ClassVar[str] = "hash"
    """See `kernels.hash.family`."""

    reverses: ClassVar[bool] = False
    """Whether the state has its bytes reversed in memory, as a host may have it."""

    padded: ClassVar[bool] = True
    """Whether zeros follow H^1, if registers may be partly filled. A host may have no room."""

    isa: str
    multiply: str
    reduce: str
    blocks: int
    order: str = axes.ORDER.default
    wipe: bool = axes.WIPE.default
    alias: str = ""
    """A separate name, for the kernels of a paper."""
    op: str = axes.OP.default
    fold: str = axes.FOLD.default
    swap: str = axes.SWAP.default
    powers: str = axes.POWERS.default
    pipeline: str = axes.PIPELINE.default
    schedule: str = axes.SCHEDULE.default
    segments: bool = axes.SEGMENTS.default
    columns: int = axes.COLUMNS.default

    def __post_init__(self) -> None:
        _check(self)

    @cached_property
    def name(self) -> str:
        """Derived from the axes; an axis at its default adds nothing."""
        return self.alias or name_of(axes.NAMED, self)

    @property
    def instruction_set(self) -> Isa:
        """The instruction set."""
        return isas()[self.isa]

    @property
    def definition(self) -> Definition:
        """The definition of its operation."""
        return DEFINITIONS[self.op]

    @property
    def multiplier(self) -> Multiply:
        """The multiply scheme."""
        return multiplies()[self.multiply]

    @property
    def reducer(self) -> Reduce:
        """The reduction."""
        return reduces()[self.reduce]

    @property
    def bit_order(self) -> Order:
        """The bit order of registers."""
        return Order(self.order)

    @property
    def lane_count(self) -> int:
        """Blocks in one register."""
        return self.instruction_set.lanes

    @property
    def widest(self) -> int:
        """Lanes of the widest register in use."""
        return max(self.lane_count, 2 if self.swap == "stack" else 1)

    @property
    def room(self) -> int:
        """Vector registers that a group leaves free to prepare the next one."""
        kept = self.power_registers if self.powers == "registers" else 0
        # A sum of three waits for two parts' products, a sum of two for one's.
        waiting = 4 if "xor3" in self.instruction_set.supported else 1
        return self.instruction_set.vector_registers - WORKING_REGISTERS - waiting - kept

    @property
    def power_registers(self) -> int:
        """Registers that hold a group's powers."""
        return -(-self.blocks // self.lane_count) * len(self.multiplier.entries)

    @cached_property
    def layout(self) -> Layout:
        """The layout of the table."""
        return table_layout(self, self.blocks)

    @property
    def table_bytes(self) -> int:
        """Bytes of the table."""
        return ENTRY_BYTES * len(self.layout.cells)

    @property
    def best_align(self) -> int:
        """Alignment of the table, in bytes, at which no whole register of a group crosses a cache
        line.

        This only affects speed; `Target.table_align_of` is what a kernel needs.
        """
        return ENTRY_BYTES * self.lane_count


def _refusals(kernel: Kernel) -> Refusals:
    isa, lanes = kernel.instruction_set, kernel.lane_count
    yield (
        kernel.op == "polyval" and kernel.bit_order is Order.NATURAL,
        "op 'polyval' reads blocks as reflected registers already: order 'natural' undoes that",
        "choose order reflected",
    )
    yield (
        kernel.fold == "end" and lanes == 1,
        f"fold 'end' adds up lanes, and isa {isa.name!r} has one",
        "choose fold group, or a wide isa",
    )
    yield (
        kernel.fold == "end" and kernel.blocks % lanes != 0,
        f"fold 'end' needs whole registers: {kernel.blocks} blocks do not fill {lanes} lanes each",
        f"choose a multiple of {lanes}",
    )
    yield (
        kernel.swap == "stack" and "shuffle_bytes@256" not in isa.lower,
        f"swap 'stack' swaps two blocks in one wide register, which isa {isa.name!r} cannot use",
        "choose swap register, or isa avx",
    )
    yield (
        kernel.swap == "stack" and kernel.op == "polyval",
        "op 'polyval' swaps no bytes",
        "choose swap register",
    )
    registers, room = kernel.power_registers, isa.vector_registers - WORKING_REGISTERS
    if kernel.schedule != WRITTEN:
        width = isa.lanes * 128
        rows = [isa.rows[step.row] for step in isa.steps("clmul", width, 0)]
        lacking = {name.upper() for row in rows for name in row.features}
        lacking -= label_of(kernel.schedule).features
        yield (
            bool(lacking),
            f"schedule {kernel.schedule!r} is for a CPU without {', '.join(sorted(lacking))}, "
            f"which isa {isa.name!r} needs",
            "choose the schedule of another CPU, or another isa",
        )
    yield (
        kernel.powers == "registers" and registers > room,
        f"powers 'registers' would take {registers} of {isa.vector_registers} vector registers, "
        f"and a group needs {WORKING_REGISTERS} more",
        f"choose powers memory, or at most {room // len(kernel.multiplier.entries) * lanes} blocks",
    )
    yield (
        kernel.pipeline == "ahead" and kernel.swap == "stack",
        "pipeline 'ahead' keeps swapped blocks in registers, and swap 'stack' in memory",
        "choose swap register, or pipeline none",
    )
    yield (
        kernel.columns > 1 and not kernel.segments,
        f"{kernel.columns} columns need the powers of H^{kernel.columns}, and the kernel does not "
        "export power",
        "add --segments",
    )
    yield (
        kernel.pipeline == "ahead" and kernel.room < 1,
        f"pipeline 'ahead' finds no free register among {isa.vector_registers}",
        "choose powers memory, or fewer blocks",
    )


def _check(kernel: Kernel) -> None:
    for axis in axes.AXES:
        axis.require(getattr(kernel, axis.name))
    multiply, reduce = kernel.multiplier, kernel.reducer
    if reduce.shape is not multiply.shape:
        fitting = [r.name for r in reduces().values() if r.shape is multiply.shape]
        raise GhashgenError(
            f"reduce {reduce.name!r} takes a {reduce.shape.bits}-bit product, but multiply "
            f"{multiply.name!r} makes a {multiply.shape.bits}-bit one",
            f"choose reduce {' or '.join(fitting)}",
        )
    if kernel.bit_order not in reduce.orders:
        raise GhashgenError(
            f"reduce {reduce.name!r} exists only for order {reduce.orders[0].value!r}",
            "choose another reduce or order",
        )
    require_valid((), kernel, _refusals(kernel))
    can_reverse = (
        kernel.instruction_set.mirrors or "reverse_bits" in kernel.instruction_set.supported
    )
    if kernel.bit_order is Order.NATURAL and not can_reverse:
        raise GhashgenError(
            f"order 'natural' needs GFNI to reverse the bits of a byte, which isa {kernel.isa!r} "
            "lacks",
            "choose order reflected",
        )

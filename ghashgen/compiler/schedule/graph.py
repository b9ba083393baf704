"""The dependences of a region: which operations must stay before which.

Registers may be written more than once, so there are true, anti and output dependences. The flags
are one more register. Two accesses to slots, or from one base value, are independent if their bytes
are disjoint. Slots, constants and memory behind a register never overlap, nor do parts of two named
objects (`ir.program.Mem.within`). Otherwise a store keeps its place. Loads may pass each other.

One more kind of dependence keeps code short: if a copy's source dies, earlier readers of the source
stay before the copy, so that both registers can share one place and the copy vanishes.
"""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass

from ghashgen.arch.rows import MEMORY_BYTES, Row
from ghashgen.compiler.liveness import Liveness
from ghashgen.compiler.schedule.regions import FLAGS, Machine, Region
from ghashgen.ir.program import Mem, Op, Program, Reg, Slot

SLOT_BYTES = 16
"""Bytes of a stack slot for each lane of the instruction set's registers."""


@dataclass(frozen=True)
class Access:
    """One access to memory."""

    space: Hashable
    """Slots, a constant's name, or "behind registers"."""
    base: Hashable
    """The address that `start` counts from, as (register, version) pairs."""
    start: int
    end: int
    writes: bool
    within: str = ""
    """See `ir.program.Mem.within`."""

    def conflicts(self, other: "Access") -> bool:
        """Return whether the order of the two may matter."""
        if not (self.writes or other.writes) or self.space != other.space:
            return False
        if self.within and other.within and self.within != other.within:
            return False
        return self.base != other.base or (self.start < other.end and other.start < self.end)


@dataclass(frozen=True)
class Value:
    """A version of a register, from one write to the next."""

    reg: Hashable
    maker: int
    """The operation that writes it; -1 if it exists before the region."""
    readers: tuple[int, ...]
    lives_on: bool
    """Whether it is read after the region."""


@dataclass(frozen=True)
class Graph:
    """The operations of a region and their dependences."""

    ops: tuple[Op, ...]
    before: tuple[frozenset[int], ...]
    """For each operation, those that must stay before it."""
    feeds: tuple[frozenset[int], ...]
    """For each operation, those whose result it reads; a part of `before`."""
    values: tuple[Value, ...]


def accesses(op: Op, row: Row, version: Mapping[Hashable, int], slot_bytes: int) -> list[Access]:
    """Return what an operation reads or writes in memory."""
    out = []
    for spec, operand in zip(row.operands, op.operands, strict=True):
        if "addr" in spec.kinds or not isinstance(operand, Mem | Slot):
            continue
        size = MEMORY_BYTES[spec.memory] or op.width // 8
        writes = "w" in spec.role
        if isinstance(operand, Slot):
            start = slot_bytes * operand.index
            out.append(Access("slots", "frame", start, start + size, writes))
        elif operand.symbol is not None:
            out.append(Access(("constant", operand.symbol), "", 0, size, writes))
        else:
            at = [(reg, version.get(reg, -1)) for reg in (operand.base, operand.index)]
            start = operand.disp
            base = (*at, operand.scale)
            out.append(
                Access("behind registers", base, start, start + size, writes, operand.within)
            )
    return out


def graph(
    ops: Sequence[Op], rows: Mapping[str, Row], live_out: frozenset[Reg], slot_bytes: int
) -> Graph:
    """Return the dependences of a region after which `live_out` is live."""
    before: list[set[int]] = [set() for _ in ops]
    feeds: list[set[int]] = [set() for _ in ops]
    maker: dict[Hashable, int] = {}
    readers: dict[Hashable, list[int]] = {}
    memory: list[tuple[int, Access]] = []
    values: list[Value] = []
    copies: list[tuple[int, Hashable]] = []

    def end(reg: Hashable, lives_on: bool) -> None:
        values.append(Value(reg, maker.get(reg, -1), tuple(readers.get(reg, ())), lives_on))

    for i, op in enumerate(ops):
        row = rows[op.code]
        reads, writes = (list[Hashable](regs) for regs in row.effects(op))
        if "r" in row.flags:
            reads.append(FLAGS)
        if "w" in row.flags:
            writes.append(FLAGS)
        for access in accesses(op, row, maker, slot_bytes):
            before[i] |= {j for j, other in memory if access.conflicts(other)}
            memory.append((i, access))
        for reg in dict.fromkeys(reads):
            if reg in maker:
                before[i].add(maker[reg])
                feeds[i].add(maker[reg])
            readers.setdefault(reg, []).append(i)
        if row.copy:
            copies += [(i, reg) for reg in reads]
        for reg in dict.fromkeys(writes):
            before[i] |= {j for j in readers.get(reg, ()) if j != i}
            if reg in maker:
                before[i].add(maker[reg])
            if reg in maker or reg in readers:
                end(reg, False)
            maker[reg] = i
            readers[reg] = []
    for reg in dict.fromkeys((*maker, *readers, *sorted(live_out, key=str))):
        end(reg, reg in live_out)
    for i, reg in copies:
        value = next(value for value in values if value.reg == reg and i in value.readers)
        if not value.lives_on and max(value.readers) == i:
            before[i] |= {j for j in value.readers if j != i}
    return Graph(
        tuple(ops), tuple(map(frozenset, before)), tuple(map(frozenset, feeds)), tuple(values)
    )


def region_graph(program: Program, region: Region, isa: Machine, live: Liveness) -> Graph:
    """Return the dependences of a region."""
    ops = program.blocks[region.block].ops[region.start : region.end]
    after = frozenset[Reg](live.after[region.block][region.end - 1])
    return graph(ops, isa.rows, after, SLOT_BYTES * isa.lanes)

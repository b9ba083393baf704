"""Verifies an order by replay: every operation still computes from the same values.

It is independent of the graph and the scheduler, and uses neither dependences nor liveness. Both
orders of a block run on terms. A register holds the instruction that made it with the terms of its
operands; each different term is a number. Memory is the list of stores so far, in a normal form in
which two that cannot overlap have a fixed order; a load sees the stores that it may overlap.

The orders agree if they have the same operations, every operation has the same operand terms in
both (including memory at loads), and control stays in place with the same registers, flags and
memory.
"""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field

from ghashgen.arch.rows import MEMORY_BYTES, OperandSpec
from ghashgen.compiler.schedule.regions import Machine
from ghashgen.ir.program import Block, Flow, Mem, Op, Program, Slot, VReg
from ghashgen.support.errors import GhashgenError

SLOT_BYTES = 16

Where = tuple[Hashable, int, int, str]
"""(base of the address, first byte, byte after the last, name of the object that it is part of
(`ir.program.Mem.within`)).
"""


class ScheduleError(GhashgenError):
    """A scheduled program does not compute what the selected one does: a bug in this tool."""

    def __init__(self, cause: str, remedy: str = "report this") -> None:
        super().__init__(cause, remedy)


@dataclass
class _Terms:
    """Numbers for terms: equal terms, equal numbers."""

    known: dict[Hashable, int] = field(default_factory=dict)

    def number(self, term: Hashable) -> int:
        return self.known.setdefault(term, len(self.known))


@dataclass
class _Run:
    """The state of one order while it runs through a block."""

    isa: Machine
    terms: _Terms
    registers: dict[Hashable, int] = field(default_factory=dict)
    stores: list[tuple[Where, int]] = field(default_factory=list)
    inputs: dict[int, Hashable] = field(default_factory=dict)
    """What each operation read, by origin."""
    control: list[tuple[int, Hashable]] = field(default_factory=list)
    """Each place where control may leave, with everything known there."""

    def value(self, name: Hashable) -> int:
        """Return the term of a register; before any write, it is the block's input."""
        if name not in self.registers:
            return self.terms.number(("before", name))
        return self.registers[name]

    def where(self, op: Op, spec: OperandSpec, operand: Mem | Slot) -> Where:
        size = next(MEMORY_BYTES[k] for k in spec.kinds if k in MEMORY_BYTES) or op.width // 8
        if isinstance(operand, Slot):
            start = SLOT_BYTES * self.isa.lanes * operand.index
            return "frame", start, start + size, ""
        if operand.symbol is not None:
            return ("constant", operand.symbol), operand.disp, operand.disp + size, ""
        registers = (operand.base, operand.index)
        parts = tuple(None if reg is None else self.value(reg) for reg in registers)
        start, within = operand.disp, operand.within
        return ("behind", parts, operand.scale), start, start + size, within

    def step(self, op: Op) -> None:
        """Run one operation."""
        row = self.isa.rows[op.code]
        seen: list[Hashable] = [op.code, op.width]
        targets: list[Hashable] = []
        for spec, operand in zip(row.operands, op.operands, strict=True):
            if isinstance(operand, VReg):
                if "r" in spec.role:
                    seen.append(self.value(operand))
                if "w" in spec.role:
                    targets.append(operand)
            elif isinstance(operand, Mem) and "addr" in spec.kinds:
                seen.append((self.value(operand.base), self.value(operand.index), operand))
            elif isinstance(operand, Mem | Slot) and "addr" not in spec.kinds:
                place = self.where(op, spec, operand)
                seen.append((place, self._visible(place) if "r" in spec.role else None))
                if "w" in spec.role:
                    targets.append(place)
            else:
                seen.append(operand)
        if "r" in row.flags:
            seen.append(self.value("flags"))
        term = self.terms.number(tuple(seen))
        if op.origin in self.inputs:
            raise ScheduleError(f"operation {op.origin} appears twice")
        self.inputs[op.origin] = (term, op)
        if not op.operands or row.flow is not Flow.NEXT:
            self.control.append((op.origin, self._snapshot()))
        for target in targets:
            if isinstance(target, VReg):
                self.registers[target] = self.terms.number((term, targets.index(target)))
            else:
                self._store(target, term)  # type: ignore[arg-type]
        if "w" in row.flags:
            self.registers["flags"] = self.terms.number((term, "flags"))

    def _visible(self, place: Where) -> tuple[tuple[Where, int], ...]:
        return tuple(store for store in self.stores if not _apart(store[0], place))

    def _store(self, place: Where, term: int) -> None:
        """Insert a store as early as allowed, before the first later store to a greater place."""
        first = len(self.stores)
        while first and _apart(self.stores[first - 1][0], place):
            first -= 1
        key = self.terms.number((place, term))
        for at in range(first, len(self.stores)):
            if self.terms.number(self.stores[at]) > key:
                self.stores.insert(at, (place, term))
                return
        self.stores.append((place, term))

    def _snapshot(self) -> Hashable:
        return frozenset(self.registers.items()), tuple(self.stores)

    def end(self) -> Hashable:
        """Return everything known at the end."""
        return self._snapshot(), tuple(self.control)


def _apart(a: Where, b: Where) -> bool:
    """Return whether two places cannot overlap."""
    kinds = [place[0] if isinstance(place[0], str) else place[0][0] for place in (a, b)]  # type: ignore[index]
    if kinds[0] != kinds[1]:
        return True
    if a[3] and b[3] and a[3] != b[3]:
        return True
    if kinds[0] == "behind" and a[0] != b[0]:
        return False
    return a[0] != b[0] or a[2] <= b[1] or b[2] <= a[1]


def replay(selected: Program, ordered: Program, isa: Machine) -> None:
    """Verify that `ordered` is `selected` reordered without changing the result.

    Raises:
        ScheduleError: names the first block that differs, and the operation if one is at fault.
    """
    if ordered is selected:
        # As written: there is nothing to compare.
        return
    shape = [[(b.label, b.depth) for b in p.blocks] for p in (selected, ordered)]
    rest = [(p.name, p.params, dict(p.constants), p.slots) for p in (selected, ordered)]
    if shape[0] != shape[1] or rest[0] != rest[1]:
        raise ScheduleError(f"{selected.name}: not the same blocks, parameters and constants")
    for before, after in zip(selected.blocks, ordered.blocks, strict=True):
        _block(f"{selected.name}.{before.label}", before, after, isa)


def _block(name: str, before: Block, after: Block, isa: Machine) -> None:
    terms = _Terms()
    runs: list[_Run] = []
    for ops in (before.ops, after.ops):
        run = _Run(isa, terms)
        _steps(name, run, ops)
        runs.append(run)
    written, ordered = runs
    for origin in sorted(written.inputs.keys() ^ ordered.inputs.keys()):
        lost = origin in written.inputs
        raise ScheduleError(f"{name}: {'lost' if lost else 'stray'} operation {origin}")
    for op in after.ops:
        if written.inputs[op.origin] != ordered.inputs[op.origin]:
            operands = ", ".join(map(str, op.operands))
            raise ScheduleError(f"{name}: {op.code} {operands} has other operands than as written")
    if written.end() != ordered.end():
        raise ScheduleError(f"{name}: not the same registers, flags and memory at a branch")


def _steps(name: str, run: _Run, ops: Sequence[Op]) -> None:
    for op in ops:
        try:
            run.step(op)
        except ScheduleError as error:
            raise ScheduleError(f"{name}: {error.cause}") from None

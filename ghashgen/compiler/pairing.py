"""pairing: matches each allocated instruction with the selected one, and checks what that allows.

It is independent of the allocator. An allocated block is the selected one with three changes:
physical registers replace virtual ones, copies are dropped, and whole-register loads from and
stores to slots are added. This module checks everything that does not depend on the registers'
contents, once for each instruction: codes, widths, immediates, addresses, writable places.
`recheck`
replays the remaining steps over numbers: every virtual register and every place (physical register
or slot) has one.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from ghashgen.arch.rows import Isa, OperandSpec, Row
from ghashgen.compiler.liveness import targets
from ghashgen.ir.program import Argument, Block, Mem, Op, Operand, PReg, RegClass, Slot, VReg
from ghashgen.support.errors import GhashgenError

Place = PReg | Slot | Argument
_PLACE = (PReg, Slot)


class AllocationError(GhashgenError):
    """The allocated program does not compute what the selected one does: a bug in this tool."""

    def __init__(self, cause: str, remedy: str = "report this") -> None:
        super().__init__(cause, remedy)


class Move(NamedTuple):
    """A load or store: the place `target` now holds the content of the place `source`.

    It was added by the allocator, or it loads a parameter from the stack.
    """

    target: int
    source: int
    width: int


class Sets(NamedTuple):
    """What an instruction does to the bits of what it writes."""

    written: tuple[tuple[int, int], ...]
    """(virtual register, bits that the write covers; what lies above becomes zero)"""
    source: int
    """The copied register, or -1 if the instruction computes."""


class Vanished(NamedTuple):
    """A copy that was dropped."""

    target: int
    source: int
    width: int
    sets: Sets


class Instruction(NamedTuple):
    """A selected instruction in its allocated form."""

    selected: Op
    required: tuple[tuple[int, int, VReg, Operand], ...]
    """(virtual register, place that must hold it), and both by name."""
    lanes: tuple[tuple[int, int], ...]
    """(virtual register, bits of it that are read)"""
    writes: tuple[tuple[int, int], ...]
    """(virtual register, place)"""
    width: int
    sets: Sets
    branches: tuple[str, ...]


Step = Move | Vanished | Instruction


class _Numbers(dict[Operand, int]):
    """Gives every register and place a number when it is first asked for."""

    def __missing__(self, operand: Operand) -> int:
        number = self[operand] = len(self)
        return number


class Pairing:
    """Pairs the blocks of one function; numbers registers and places as they come."""

    def __init__(self, name: str, isa: Isa, writable: frozenset[Place]) -> None:
        """`writable` are the registers that a function may use, and the slots of its frame."""
        self._name = name
        self._isa = isa
        self._writable = writable
        (load,), (store,) = isa.lower["load_aligned"], isa.lower["store"]
        self._moves = frozenset({load.row, store.row})
        self._numbers = _Numbers()

    def number(self, operand: Operand) -> int:
        """Return the number of a virtual register or of a place."""
        return self._numbers[operand]

    def block(self, selected: Block, allocated: Block) -> list[Step]:
        """Return the steps of a block.

        Raises:
            AllocationError: the allocated block does not correspond to the selected one.
        """
        steps: list[Step] = []
        physical = iter(allocated.ops)
        current = next(physical, None)
        for op in selected.ops:
            while current is not None and current.origin < 0:
                steps.append(self._move(current))
                current = next(physical, None)
            if current is not None and current.origin == op.origin:
                arrives = op.operands and type(op.operands[-1]) is Argument
                steps.append((self._arrival if arrives else self._instruction)(op, current))
                current = next(physical, None)
            elif self._isa.rows[op.code].copy:
                steps.append(self._vanished(op))
            else:
                raise self._wrong(f"lost {show(op)}")
        while current is not None:
            if current.origin >= 0:
                raise self._wrong(f"stray {show(current)}")
            steps.append(self._move(current))
            current = next(physical, None)
        return steps

    def _wrong(self, cause: str) -> AllocationError:
        return AllocationError(f"{self._name}: {cause}")

    def _target(self, place: Place) -> int:
        if place not in self._writable:
            raise self._wrong(f"writes {place}, which is not the function's")
        return self.number(place)

    def _move(self, op: Op) -> Move:
        """Check an added instruction: only whole loads from and stores to slots are allowed."""
        match op.operands:
            case (PReg() | Slot() as target, PReg() | Slot() as source) if (
                op.code in self._moves
                and type(target) is not type(source)
                and op.width == 128 * self._isa.lanes
            ):
                return Move(self._target(target), self.number(source), op.width)
            case _:
                raise self._wrong(f"added {show(op)}")

    def _arrival(self, op: Op, physical: Op) -> Move:
        """Return a parameter's load; the replay knows which parameter is there, not this
        program.
        """
        kinds = [(spec.role, spec.kinds) for spec in self._isa.rows[op.code].operands]
        match physical.operands:
            case (PReg(cls=RegClass.GPR) as target, Argument() as source) if (
                physical.code == op.code
                and source == op.operands[1]
                and kinds == [("w", ("q",)), ("r", ("m64",))]
            ):
                return Move(self._target(target), self.number(source), 64)
            case _:
                raise self._wrong(f"{show(op)} became {show(physical)}")

    def _vanished(self, op: Op) -> Vanished:
        target, source = op.operands
        assert isinstance(target, VReg)
        assert isinstance(source, VReg)
        _, sets = self._widths(self._isa.rows[op.code], op)
        return Vanished(self.number(target), self.number(source), op.width, sets)

    def _instruction(self, op: Op, physical: Op) -> Instruction:
        row, numbers = self._isa.rows[op.code], self._numbers
        shape = (op.code, op.width, len(op.operands))
        if (physical.code, physical.width, len(physical.operands)) != shape:
            raise self._wrong(f"{show(op)} became {show(physical)}")
        required: list[tuple[int, int, VReg, Operand]] = []
        written: dict[Operand, Operand] = {}
        named: list[tuple[Operand, Operand]] = []
        for spec, virtual, actual in zip(row.operands, op.operands, physical.operands, strict=True):
            for reg, place in self._required(op, spec, virtual, actual):
                required.append((numbers[reg], numbers[place], reg, place))
            if "w" in spec.role:
                written[virtual] = actual
            elif spec.role == "n":
                named.append((virtual, actual))
        # A zeroing idiom must name the register that it writes.
        if any(written.get(virtual) != actual for virtual, actual in named):
            raise self._wrong(f"{show(op)} became {show(physical)}")
        writes = []
        for virtual, place in written.items():
            if isinstance(virtual, VReg):
                if not isinstance(place, PReg) or place.cls is not virtual.cls:
                    raise self._wrong(f"{show(op)} writes {place}")
                writes.append((self.number(virtual), self._target(place)))
        lanes, sets = self._widths(row, op)
        return Instruction(
            op, tuple(required), lanes, tuple(writes), op.width, sets, tuple(targets(physical))
        )

    def _widths(self, row: Row, op: Op) -> tuple[tuple[tuple[int, int], ...], Sets]:
        """Return (bits that a computing instruction reads, bits that it writes), by register."""
        reads, writes = row.effects(op)
        lanes, written = [], []
        for reg, width in row.widths(op):
            if isinstance(reg, VReg):
                if reg in reads and not row.copy:
                    lanes.append((self.number(reg), width))
                if reg in writes:
                    written.append((self.number(reg), width))
        source = op.operands[1] if row.copy else None
        copied = self.number(source) if isinstance(source, VReg) else -1
        return tuple(lanes), Sets(tuple(written), copied)

    def _required(
        self, op: Op, spec: OperandSpec, virtual: Operand, actual: Operand
    ) -> Sequence[tuple[VReg, Operand]]:
        """Return what must be held where; refuse an operand that cannot replace the other."""
        if isinstance(virtual, VReg):
            if isinstance(actual, Slot) and not (spec.role == "r" and spec.accepts(actual)):
                raise self._wrong(f"{show(op)} cannot use {actual}")
            if "r" not in spec.role:
                return ()
            if not isinstance(actual, _PLACE):
                raise self._wrong(f"{show(op)} reads {virtual} from {actual}")
            return ((virtual, actual),)
        if isinstance(virtual, Mem) and isinstance(actual, Mem):
            if replace(actual, base=virtual.base, index=virtual.index) != virtual:
                raise self._wrong(f"{show(op)} changed its address")
            out = []
            for reg, place in ((virtual.base, actual.base), (virtual.index, actual.index)):
                if isinstance(reg, VReg):
                    if not isinstance(place, PReg) or place.cls is not RegClass.GPR:
                        raise self._wrong(f"{show(op)} has {place} in its address")
                    out.append((reg, place))
                elif reg != place:
                    raise self._wrong(f"{show(op)} changed its address")
            return out
        if virtual != actual:
            raise self._wrong(f"{show(op)} changed an operand")
        return ()


def show(op: Op) -> str:
    """Return an operation in words for a message."""
    return f"{op.code} {', '.join(map(str, op.operands))}"

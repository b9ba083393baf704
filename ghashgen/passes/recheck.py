"""recheck: the allocated program computes what the selected one does, by replay.

Independent of the allocator: no liveness, no interference. It walks the allocated program and
keeps, for every physical register and stack slot, the set of virtual registers whose current value
it is known to hold. Each instruction is matched with its origin in the selected program: every
register that it reads must hold the virtual register that the origin reads. At joins the sets
intersect; a branch passes on what held where it stands, not what holds at the end of its block.
"""

from dataclasses import dataclass, replace

from ghashgen.abi import Abi
from ghashgen.errors import GhashgenError
from ghashgen.ir import Block, Mem, Op, Operand, PReg, Program, Reg, RegClass, Slot, VReg
from ghashgen.isa.core import Isa, OperandSpec
from ghashgen.passes.liveness import falls_through, positions, targets

Place = PReg | Slot
Holds = dict[Place, frozenset[VReg]]
_NOTHING: frozenset[VReg] = frozenset()


class AllocationError(GhashgenError):
    """The allocated program does not compute what the selected one does: a bug in this tool."""

    def __init__(self, cause: str) -> None:
        super().__init__(cause, "report this")


@dataclass(frozen=True)
class _Context:
    isa: Isa
    name: str
    writable: frozenset[Place]
    """Registers that a function may use, and the slots of its frame."""
    moves: frozenset[str]
    """Rows that may be added: the whole-register load and store of a slot."""


def recheck(selected: Program, allocated: Program, slots: int, isa: Isa, abi: Abi) -> None:
    """Verify an allocation whose frame has `slots` spill slots.

    Raises:
        AllocationError: names the first instruction that reads the wrong register.
    """
    (load,), (store,) = isa.lower["load_aligned"], isa.lower["store"]
    writable: list[Place] = [PReg(RegClass.VEC, number) for number in range(isa.vector_registers)]
    writable += [PReg(RegClass.GPR, number) for number in (*abi.volatile, *abi.saved)]
    writable += [PReg(RegClass.MASK, number) for number in range(1, 8)]
    writable += [Slot(index) for index in range(slots)]
    moves = frozenset({load.row, store.row})
    context = _Context(isa, allocated.name, frozenset(writable), moves)
    entry: Holds = {
        PReg(RegClass.GPR, number): frozenset({param})
        for number, param in zip(abi.params, selected.params, strict=False)
    }
    if [block.label for block in selected.blocks] != [block.label for block in allocated.blocks]:
        raise AllocationError(f"{allocated.name}: blocks differ")
    at = positions(allocated.blocks)
    states: dict[int, Holds] = {0: entry}
    pending = [0]
    while pending:
        index = pending.pop()
        pair = selected.blocks[index], allocated.blocks[index]
        end, branches = _block(context, *pair, states[index])
        leaving = [(at[label], holds) for label, holds in branches]
        if falls_through(allocated.blocks, index):
            leaving.append((index + 1, end))
        for following, holds in leaving:
            known = states.get(following)
            joined = holds if known is None else _join(known, holds)
            if joined != known:
                states[following] = joined
                pending.append(following)


def _join(a: Holds, b: Holds) -> Holds:
    return {place: a[place] & b[place] for place in a.keys() & b.keys()}


def _block(
    context: _Context, selected: Block, allocated: Block, start: Holds
) -> tuple[Holds, list[tuple[str, Holds]]]:
    """Replay one block; return what every place holds at its end, and where it branches away."""
    holds = dict(start)
    branches: list[tuple[str, Holds]] = []
    physical = iter(allocated.ops)
    current = next(physical, None)
    for op in selected.ops:
        while current is not None and current.origin < 0:
            _move(context, holds, current)
            current = next(physical, None)
        if current is not None and current.origin == op.origin:
            _match(context, holds, op, current)
            branches += [(label, dict(holds)) for label in targets(current)]
            current = next(physical, None)
        elif context.isa.rows[op.code].copy:
            _elided(holds, op)
        else:
            raise AllocationError(f"{context.name}: lost {_show(op)}")
    while current is not None:
        if current.origin >= 0:
            raise AllocationError(f"{context.name}: stray {_show(current)}")
        _move(context, holds, current)
        current = next(physical, None)
    return holds, branches


def _move(context: _Context, holds: Holds, op: Op) -> None:
    """An added instruction: only whole loads from and stores to slots are allowed."""
    match op.operands:
        case (PReg() | Slot() as target, PReg() | Slot() as source) if (
            op.code in context.moves and type(target) is not type(source)
        ):
            _write(context, holds, target, holds.get(source, _NOTHING))
        case _:
            raise AllocationError(f"{context.name}: added {_show(op)}")


def _write(context: _Context, holds: Holds, place: Place, values: frozenset[VReg]) -> None:
    if place not in context.writable:
        raise AllocationError(f"{context.name}: writes {place}, which is not the function's")
    holds[place] = values


def _elided(holds: Holds, op: Op) -> None:
    """A copy that vanished: wherever the source is, the target now is, and nowhere else."""
    target, source = op.operands
    assert isinstance(target, VReg)
    for place, values in holds.items():
        if source in values:
            holds[place] = values | {target}
        elif target in values:
            holds[place] = values - {target}


def _match(context: _Context, holds: Holds, op: Op, physical: Op) -> None:
    row = context.isa.rows[op.code]
    same = (op.code, op.width, len(op.operands))
    if (physical.code, physical.width, len(physical.operands)) != same:
        raise AllocationError(f"{context.name}: {_show(op)} became {_show(physical)}")
    pairs = list(zip(row.operands, op.operands, physical.operands, strict=True))
    for spec, virtual, actual in pairs:
        _operand(context, holds, op, spec, virtual, actual)
    written = {virtual: actual for spec, virtual, actual in pairs if "w" in spec.role}
    for spec, virtual, actual in pairs:
        # A zeroing idiom is one only while it names the register that it writes.
        if spec.role == "n" and written.get(virtual) != actual:
            raise AllocationError(f"{context.name}: {_show(op)} became {_show(physical)}")
    source = op.operands[1] if row.copy else None
    for virtual, place in written.items():
        if not isinstance(virtual, VReg):
            continue
        if not isinstance(place, PReg) or place.cls is not virtual.cls:
            raise AllocationError(f"{context.name}: {_show(op)} writes {place}")
        for other, values in holds.items():
            if virtual in values:
                holds[other] = values - {virtual}
        same_value = {source} if isinstance(source, VReg) else set()
        _write(context, holds, place, frozenset({virtual}) | same_value)


def _operand(
    context: _Context, holds: Holds, op: Op, spec: OperandSpec, virtual: Operand, actual: Operand
) -> None:
    def require(reg: Reg | None, place: Operand | None) -> None:
        held = holds.get(place, _NOTHING) if isinstance(place, PReg | Slot) else _NOTHING
        if isinstance(reg, VReg) and reg not in held:
            raise AllocationError(
                f"{context.name}: {_show(op)} reads {reg} from {place}, which does not hold it"
            )

    if isinstance(virtual, VReg):
        if "r" in spec.role:
            require(virtual, actual)
        if isinstance(actual, Slot) and not (spec.role == "r" and spec.accepts(actual)):
            raise AllocationError(f"{context.name}: {_show(op)} cannot use {actual}")
    elif isinstance(virtual, Mem) and isinstance(actual, Mem):
        require(virtual.base, actual.base)
        require(virtual.index, actual.index)
        if replace(actual, base=virtual.base, index=virtual.index) != virtual:
            raise AllocationError(f"{context.name}: {_show(op)} changed its address")
    elif virtual != actual:
        raise AllocationError(f"{context.name}: {_show(op)} changed an operand")


def _show(op: Op) -> str:
    return f"{op.code} {', '.join(map(str, op.operands))}"

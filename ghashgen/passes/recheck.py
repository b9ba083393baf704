"""recheck: the allocated program computes what the selected one does, by replay.

Independent of the allocator: no liveness, no interference. It walks the allocated program and
keeps, for every physical register and stack slot, the set of virtual registers whose current value
it is known to hold. Each instruction is matched with its origin in the selected program: every register
that it reads must hold the virtual register that the origin reads. At joins the sets intersect.
"""

from dataclasses import dataclass

from ghashgen.abi import Abi
from ghashgen.errors import GhashgenError
from ghashgen.ir import Block, Mem, Op, Operand, PReg, Program, Reg, RegClass, Slot, VReg
from ghashgen.isa.core import Isa, OperandSpec
from ghashgen.passes.liveness import successors

Place = PReg | Slot
Holds = dict[Place, frozenset[VReg]]


class AllocationError(GhashgenError):
    """The allocated program does not compute what the selected one does: a bug in this tool."""


@dataclass(frozen=True)
class _Context:
    isa: Isa
    name: str


def recheck(selected: Program, allocated: Program, isa: Isa, abi: Abi) -> None:
    """Verify an allocation.

    Raises:
        AllocationError: names the first instruction that reads the wrong register.
    """
    context = _Context(isa, allocated.name)
    entry: Holds = {
        PReg(RegClass.GPR, number): frozenset({param})
        for number, param in zip(abi.params, selected.params, strict=False)
    }
    if [block.label for block in selected.blocks] != [block.label for block in allocated.blocks]:
        raise AllocationError(f"{allocated.name}: blocks differ", "report this")
    states: dict[int, Holds] = {0: entry}
    pending = [0]
    while pending:
        index = pending.pop()
        end = _block(context, selected.blocks[index], allocated.blocks[index], states[index])
        for following in successors(allocated.blocks, index):
            known = states.get(following)
            joined = end if known is None else _join(known, end)
            if joined != known:
                states[following] = joined
                pending.append(following)


def _join(a: Holds, b: Holds) -> Holds:
    return {place: a[place] & b[place] for place in a.keys() & b.keys()}


def _block(context: _Context, selected: Block, allocated: Block, start: Holds) -> Holds:
    """Replay one block; return what every place holds at its end."""
    holds = dict(start)
    physical = iter(allocated.ops)
    current = next(physical, None)
    for op in selected.ops:
        while current is not None and current.origin < 0:
            _move(context, holds, current)
            current = next(physical, None)
        if current is not None and current.origin == op.origin:
            _match(context, holds, op, current)
            current = next(physical, None)
        elif context.isa.rows[op.code].copy:
            _elided(holds, op)
        else:
            raise AllocationError(f"{context.name}: lost {_show(op)}", "report this")
    while current is not None:
        if current.origin >= 0:
            raise AllocationError(f"{context.name}: stray {_show(current)}", "report this")
        _move(context, holds, current)
        current = next(physical, None)
    return holds


def _move(context: _Context, holds: Holds, op: Op) -> None:
    """An added instruction: only loads from and stores to slots are allowed."""
    target, source = op.operands
    pair = (isinstance(target, Slot), isinstance(source, Slot))
    if context.isa.rows[op.code].audit_class not in ("load", "store") or sum(pair) != 1:
        raise AllocationError(f"{context.name}: added {_show(op)}", "report this")
    assert isinstance(target, PReg | Slot)
    assert isinstance(source, PReg | Slot)
    holds[target] = holds.get(source, frozenset())


def _elided(holds: Holds, op: Op) -> None:
    """A copy that vanished: wherever the source is, the target now is, and nowhere else."""
    target, source = op.operands
    assert isinstance(target, VReg)
    for place, values in holds.items():
        holds[place] = values - {target} | ({target} if source in values else frozenset())


def _match(context: _Context, holds: Holds, op: Op, physical: Op) -> None:
    row = context.isa.rows[op.code]
    if physical.code != op.code or len(physical.operands) != len(op.operands):
        raise AllocationError(
            f"{context.name}: {_show(op)} became {_show(physical)}", "report this"
        )
    writes: list[tuple[Place, VReg]] = []
    for spec, virtual, actual in zip(row.operands, op.operands, physical.operands, strict=True):
        _operand(context, holds, op, spec, virtual, actual, writes)
    source = op.operands[1] if row.copy else None
    for place, reg in writes:
        for other, values in holds.items():
            holds[other] = values - {reg}
        same = frozenset({source}) if isinstance(source, VReg) else frozenset()
        holds[place] = frozenset({reg}) | same


def _operand(
    context: _Context,
    holds: Holds,
    op: Op,
    spec: OperandSpec,
    virtual: Operand,
    actual: Operand,
    writes: list[tuple[Place, VReg]],
) -> None:
    def require(reg: Reg | None, place: Operand | None) -> None:
        if isinstance(reg, VReg):
            assert isinstance(place, PReg | Slot)
            if reg not in holds.get(place, frozenset()):
                raise AllocationError(
                    f"{context.name}: {_show(op)} reads {reg} from {place}, which does not hold it",
                    "report this",
                )

    if isinstance(virtual, Mem):
        assert isinstance(actual, Mem)
        require(virtual.base, actual.base)
        require(virtual.index, actual.index)
    elif isinstance(virtual, VReg):
        if "r" in spec.role:
            require(virtual, actual)
        if "w" in spec.role:
            assert isinstance(actual, PReg)
            writes.append((actual, virtual))
    elif virtual != actual:
        raise AllocationError(f"{context.name}: {_show(op)} changed an operand", "report this")


def _show(op: Op) -> str:
    return f"{op.code} {', '.join(map(str, op.operands))}"

"""recheck: the allocated program computes what the selected one does, by replay.

Independent of the allocator: no liveness, no interference. It walks the allocated program and
keeps, for every physical register and stack slot, the set of virtual registers whose current value
it is known to hold. Each instruction is matched with its origin in the selected program: every
register that it reads must hold the virtual register that the origin reads. At joins the sets
intersect; a branch passes on what held where it stands, not what holds at the end of its block.
It also knows how many bits of a vector register may be set: a reload that is narrower than its
value does not count as one, and where a copy that was to cut off upper lanes has vanished, nobody
may read those lanes.
"""

from dataclasses import dataclass, replace

from ghashgen.abi import Abi
from ghashgen.errors import GhashgenError
from ghashgen.ir import Block, Mem, Op, Operand, PReg, Program, Reg, RegClass, Slot, VReg
from ghashgen.isa.core import Isa, OperandSpec
from ghashgen.passes.liveness import falls_through, positions, targets

Place = PReg | Slot
_NOTHING: frozenset[VReg] = frozenset()
_ALL = 1 << 30


@dataclass(frozen=True)
class _State:
    """What is known at one point; the two tables are the walk's own to change."""

    holds: dict[Place, frozenset[VReg]]
    bits: dict[VReg, int]
    """Above this bit a virtual vector register is zero."""
    valid: dict[VReg, int]
    """Above this bit the places that hold a virtual register may hold something else instead."""

    def copy(self) -> "_State":
        return _State(dict(self.holds), dict(self.bits), dict(self.valid))

    def held(self, place: Operand | None) -> frozenset[VReg]:
        return self.holds.get(place, _NOTHING) if isinstance(place, PReg | Slot) else _NOTHING

    def fits(self, reg: VReg, width: int) -> bool:
        """Whether a move of so many bits loses nothing of a register."""
        bits = self.bits.get(reg, 0)
        return min(bits, self.valid.get(reg, bits)) <= width

    def join(self, other: "_State") -> "_State":
        both = self.holds.keys() & other.holds.keys()
        a, b = self.bits, other.bits
        c, d = self.valid, other.valid
        return _State(
            {place: self.holds[place] & other.holds[place] for place in both},
            {reg: max(a.get(reg, 0), b.get(reg, 0)) for reg in {**a, **b}},
            {reg: min(c.get(reg, _ALL), d.get(reg, _ALL)) for reg in {**c, **d}},
        )


class AllocationError(GhashgenError):
    """The allocated program does not compute what the selected one does: a bug in this tool."""

    def __init__(self, cause: str, remedy: str = "report this") -> None:
        super().__init__(cause, remedy)


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
    # The first slots are a buffer of the program's own.
    writable += [Slot(index) for index in range(selected.slots, slots)]
    moves = frozenset({load.row, store.row})
    context = _Context(isa, allocated.name, frozenset(writable), moves)
    arguments = zip(abi.params, selected.params, strict=False)
    entry = _State({PReg(RegClass.GPR, at): frozenset({param}) for at, param in arguments}, {}, {})
    if [block.label for block in selected.blocks] != [block.label for block in allocated.blocks]:
        raise AllocationError(f"{allocated.name}: blocks differ")
    at = positions(allocated.blocks)
    states = {0: entry}
    pending = [0]
    while pending:
        index = pending.pop()
        pair = selected.blocks[index], allocated.blocks[index]
        end, branches = _block(context, *pair, states[index])
        leaving = [(at[label], state) for label, state in branches]
        if falls_through(allocated.blocks, index):
            leaving.append((index + 1, end))
        for following, state in leaving:
            known = states.get(following)
            joined = state if known is None else known.join(state)
            if joined != known:
                states[following] = joined
                pending.append(following)


def _block(
    context: _Context, selected: Block, allocated: Block, start: _State
) -> tuple[_State, list[tuple[str, _State]]]:
    """Replay one block; return what is known at its end, and where it branches away."""
    state = start.copy()
    branches: list[tuple[str, _State]] = []
    physical = iter(allocated.ops)
    current = next(physical, None)
    for op in selected.ops:
        while current is not None and current.origin < 0:
            _move(context, state, current)
            current = next(physical, None)
        if current is not None and current.origin == op.origin:
            _match(context, state, op, current)
            branches += [(label, state.copy()) for label in targets(current)]
            current = next(physical, None)
        elif context.isa.rows[op.code].copy:
            _elided(context, state, op)
        else:
            raise AllocationError(f"{context.name}: lost {_show(op)}")
    while current is not None:
        if current.origin >= 0:
            raise AllocationError(f"{context.name}: stray {_show(current)}")
        _move(context, state, current)
        current = next(physical, None)
    return state, branches


def _move(context: _Context, state: _State, op: Op) -> None:
    """An added instruction: only whole loads from and stores to slots are allowed."""
    match op.operands:
        case (PReg() | Slot() as target, PReg() | Slot() as source) if (
            op.code in context.moves
            and type(target) is not type(source)
            and op.width == 128 * context.isa.lanes
        ):
            whole = frozenset(reg for reg in state.held(source) if state.fits(reg, op.width))
            _write(context, state, target, whole)
        case _:
            raise AllocationError(f"{context.name}: added {_show(op)}")


def _write(context: _Context, state: _State, place: Place, values: frozenset[VReg]) -> None:
    if place not in context.writable:
        raise AllocationError(f"{context.name}: writes {place}, which is not the function's")
    state.holds[place] = values


def _elided(context: _Context, state: _State, op: Op) -> None:
    """A copy that vanished: wherever the source is, the target now is, and nowhere else."""
    target, source = op.operands
    assert isinstance(target, VReg)
    assert isinstance(source, VReg)
    cuts = not state.fits(source, op.width)
    for place, values in state.holds.items():
        if source in values:
            state.holds[place] = values | {target}
        elif target in values:
            state.holds[place] = values - {target}
    _set_bits(context, state, op)
    if cuts:
        state.valid[target] = op.width


def _set_bits(context: _Context, state: _State, op: Op) -> None:
    """Writes zero what lies above their width; a copy carries over what its source has."""
    row = context.isa.rows[op.code]
    written = dict(row.widths(op))
    for reg in row.effects(op)[1]:
        if isinstance(reg, VReg) and reg in written:
            state.bits[reg] = written[reg]
            state.valid.pop(reg, None)
            if row.copy and isinstance(source := op.operands[1], VReg):
                state.bits[reg] = min(written[reg], state.bits.get(source, written[reg]))
                if state.valid.get(source, _ALL) < written[reg]:
                    state.valid[reg] = state.valid[source]


def _match(context: _Context, state: _State, op: Op, physical: Op) -> None:
    row = context.isa.rows[op.code]
    shape = (op.code, op.width, len(op.operands))
    if (physical.code, physical.width, len(physical.operands)) != shape:
        raise AllocationError(f"{context.name}: {_show(op)} became {_show(physical)}")
    pairs = list(zip(row.operands, op.operands, physical.operands, strict=True))
    for spec, virtual, actual in pairs:
        _operand(context, state, op, spec, virtual, actual)
    reads = row.effects(op)[0]
    for reg, width in row.widths(op):
        read = reg in reads and not row.copy
        if isinstance(reg, VReg) and read and state.valid.get(reg, _ALL) < width:
            raise AllocationError(f"{context.name}: {_show(op)} reads lanes that were cut off")
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
        for other, values in state.holds.items():
            if virtual in values:
                state.holds[other] = values - {virtual}
        values = frozenset({virtual})
        if isinstance(source, VReg) and state.fits(source, op.width):
            values |= {source}
        _write(context, state, place, values)
    _set_bits(context, state, op)


def _operand(
    context: _Context, state: _State, op: Op, spec: OperandSpec, virtual: Operand, actual: Operand
) -> None:
    def require(reg: Reg | None, place: Operand | None) -> None:
        if isinstance(reg, VReg) and reg not in state.held(place):
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

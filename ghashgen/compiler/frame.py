"""frame: an allocated program becomes a function of its calling convention.

Prologue: callee-saved general registers, one stack frame for spill slots and callee-saved vector
registers. Epilogue: the reverse, after wiping if the kernel asks for it. No frame is made where
none is needed, so most functions stay leaf functions that never move the stack pointer. How a
register is saved and a frame made, the architecture says (`arch.core.FrameCode`).

Frame, from the stack pointer upwards after the prologue: spill slots, saved vector registers,
padding, saved general registers, and what lies above on entry, parameters on the stack among it.
"""

from dataclasses import dataclass, replace

from ghashgen.arch.core import Abi
from ghashgen.arch.rows import Isa
from ghashgen.compiler.allocate import Allocation
from ghashgen.compiler.liveness import falls_through, positions, targets
from ghashgen.ir.program import (
    Argument,
    Block,
    Flow,
    Mem,
    Op,
    Operand,
    PReg,
    Program,
    RegClass,
    Slot,
)

SLOT_BYTES = 16
LANE_BITS = 128


@dataclass(frozen=True)
class Function:
    """A finished function on physical registers, ready to print."""

    program: Program
    stack_bytes: int
    """Bytes below those of the caller: saved registers and frame."""
    spill_slots: int
    spill_ops: int
    vectors: tuple[int, ...]
    """Vector registers written, by number."""
    generals: tuple[int, ...]
    """General registers written, by number, the stack pointer aside."""


def frame(allocation: Allocation, isa: Isa, abi: Abi, wipe: bool) -> Function:
    """Return the function with prologue and epilogue."""
    program, code = allocation.program, isa.arch.frame
    stack = PReg(RegClass.GPR, isa.arch.stack_pointer)
    vectors, generals = _written(program, isa)
    saved = tuple(number for number in abi.saved if number in generals)
    saves = tuple(number for number in vectors if number in abi.saved_vectors)
    slot = SLOT_BYTES * isa.lanes
    size = code.size(saved, slot * allocation.slots + SLOT_BYTES * len(saves))
    homes = [
        Mem(base=stack, disp=slot * allocation.slots + SLOT_BYTES * i, align=16)
        for i in range(len(saves))
    ]
    (load,), (store,) = isa.lower["load_aligned"], isa.lower["store"]

    entry = list(code.enter(saved, size))
    for number, home in zip(saves, homes, strict=True):
        register = PReg(RegClass.VEC, number)
        entry.append(Op(store.row, (home, register), comment="callee-saved"))

    wiping = _wipe(program, isa, vectors, allocation.slots) if wipe else []
    restore = [
        Op(load.row, (PReg(RegClass.VEC, number), home), comment="callee-saved")
        for number, home in zip(saves, homes, strict=True)
    ]
    clear = [Op(row, comment="upper halves are the caller's") for row in isa.leave]
    unwind = code.leave(saved, size)
    leave = {
        dirty: (*wiping, *restore, *(clear if dirty else ()), *unwind) for dirty in (False, True)
    }
    above = size + code.saved_bytes(saved)

    def address(operand: Operand) -> Operand:
        if isinstance(operand, Slot):
            return Mem(base=stack, disp=slot * operand.index, align=16)
        if isinstance(operand, Argument):
            return Mem(base=stack, disp=above + abi.stack_param(operand.index), align=8)
        return operand

    def placed(op: Op) -> Op:
        on_stack = any(isinstance(operand, Slot | Argument) for operand in op.operands)
        return op.on(*map(address, op.operands)) if on_stack else op

    def finished(block: Block, leave: tuple[Op, ...]) -> Block:
        """Expand returns and turn what is on the stack into addresses."""
        ops: list[Op] = []
        for op in block.ops:
            ops.extend((*leave, op) if isa.rows[op.code].flow is Flow.RETURN else (op,))
        return replace(block, ops=tuple(map(placed, ops)))

    dirty = _upper_dirty(program, isa)
    blocks = [finished(block, leave[dirty[i]]) for i, block in enumerate(program.blocks)]
    first = blocks[0]
    blocks[0] = replace(first, ops=(*entry, *first.ops))
    return Function(
        program=replace(program, blocks=tuple(blocks)),
        stack_bytes=above,
        spill_slots=allocation.slots - program.slots,
        spill_ops=allocation.spill_ops,
        vectors=vectors,
        generals=generals,
    )


def _written(program: Program, isa: Isa) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return the numbers of the (vector, general) registers that the program writes."""
    written = {reg for op in program.ops for reg in isa.rows[op.code].effects(op)[1]}
    vectors, generals = (
        tuple(sorted(reg.index for reg in written if reg.cls is cls))
        for cls in (RegClass.VEC, RegClass.GPR)
    )
    return vectors, generals


def _wipe(program: Program, isa: Isa, vectors: tuple[int, ...], slots: int) -> list[Op]:
    """Zero the vector registers, the general registers that held input bytes, and the slots."""
    (zero,), (store,) = isa.lower["zero"], isa.lower["store"]
    out = []
    for number in vectors:
        register = PReg(RegClass.VEC, number)
        out.append(Op(zero.row, (register,) * len(zero.tokens), comment="wipe"))
    for i in range(slots):
        zeros = PReg(RegClass.VEC, vectors[0])
        out.append(Op(store.row, (Slot(i), zeros), 128 * isa.lanes, "wipe"))
    loaded = {
        reg.index
        for op in program.ops
        if isa.rows[op.code].audit_class == "load"
        for reg in isa.rows[op.code].effects(op)[1]
        if reg.cls is RegClass.GPR
    }
    for number in sorted(loaded):
        out.append(replace(isa.arch.frame.zero(number), comment="wipe"))
    return out


def _upper_dirty(program: Program, isa: Isa) -> list[bool]:
    """Return, for every block, whether it may end with bits above 127 written since entry."""
    blocks, at = program.blocks, positions(program.blocks)
    start = [False] * len(blocks)
    end = [False] * len(blocks)
    changed = True
    while changed:
        changed = False
        for i, block in enumerate(blocks):
            state = start[i]
            reached = []
            for op in block.ops:
                state = op.code not in isa.leave and (state or op.width > LANE_BITS)
                reached += [at[name] for name in targets(op)] if state else []
            end[i] = state
            if state and falls_through(blocks, i, isa.rows):
                reached.append(i + 1)
            for j in reached:
                changed |= not start[j]
                start[j] = True
    return end

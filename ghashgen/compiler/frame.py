"""frame: an allocated program becomes a function of its calling convention.

Prologue: ENDBR64, callee-saved general registers pushed, one stack frame for spill slots and
callee-saved vector registers. Epilogue: the reverse, after wiping if the kernel asks for it. No
frame is made where none is needed, so most functions stay leaf functions that never touch rsp.

Frame, from rsp upwards after the prologue: spill slots, saved vector registers, padding. On entry
rsp is 8 modulo 16 in both conventions, so the frame's size makes it a multiple of 16.
"""

from dataclasses import dataclass, replace

from ghashgen.arch.rows import Isa
from ghashgen.arch.x86_64.abi import RSP, Abi
from ghashgen.compiler.allocate import Allocation
from ghashgen.compiler.liveness import falls_through, positions, targets
from ghashgen.ir.program import Block, Mem, Op, Operand, PReg, Program, RegClass, Slot

SLOT_BYTES = 16
LANE_BITS = 128
_STACK = PReg(RegClass.GPR, RSP)


@dataclass(frozen=True)
class Function:
    """A finished function on physical registers, ready to print."""

    program: Program
    stack_bytes: int
    """Bytes below the return address: pushes and frame."""
    spill_slots: int
    spill_ops: int
    vectors: tuple[int, ...]
    """Vector registers written, by number."""
    generals: tuple[int, ...]
    """General registers written, by number, rsp aside."""


def frame(allocation: Allocation, isa: Isa, abi: Abi, wipe: bool) -> Function:
    """Return the function with prologue and epilogue."""
    program = allocation.program
    vectors, generals = _written(program, isa)
    pushes = tuple(number for number in abi.saved if number in generals)
    saves = tuple(number for number in vectors if number in abi.saved_vectors)
    slot = SLOT_BYTES * isa.lanes
    need = slot * allocation.slots + SLOT_BYTES * len(saves)
    # 8 bytes of return address and 8 for each push lie above the frame.
    padding = 8 if need and len(pushes) % 2 == 0 else 0
    size = need + padding
    homes = [
        Mem(base=_STACK, disp=slot * allocation.slots + SLOT_BYTES * i, align=16)
        for i in range(len(saves))
    ]
    (load,), (store,) = isa.lower["load_aligned"], isa.lower["store"]

    entry = [Op("endbr64", comment="")]
    entry += [Op("push", (PReg(RegClass.GPR, n),), comment="callee-saved") for n in pushes]
    if size:
        entry.append(Op("sub", (_STACK, size), comment="frame"))
    for number, home in zip(saves, homes, strict=True):
        register = PReg(RegClass.VEC, number)
        entry.append(Op(store.row, (home, register), comment="callee-saved"))

    wiping = _wipe(program, isa, vectors, allocation.slots) if wipe else []
    restore = [
        Op(load.row, (PReg(RegClass.VEC, number), home), comment="callee-saved")
        for number, home in zip(saves, homes, strict=True)
    ]
    clear = [Op(row, comment="upper halves are the caller's") for row in isa.leave]
    unwind = [Op("add", (_STACK, size), comment="frame")] if size else []
    unwind += [Op("pop", (PReg(RegClass.GPR, n),), comment="callee-saved") for n in pushes[::-1]]
    leave = {
        dirty: (*wiping, *restore, *(clear if dirty else ()), *unwind) for dirty in (False, True)
    }
    dirty = _upper_dirty(program, isa)
    blocks = [_finish(block, leave[dirty[i]], slot) for i, block in enumerate(program.blocks)]
    first = blocks[0]
    blocks[0] = replace(first, ops=(*entry, *first.ops))
    return Function(
        program=replace(program, blocks=tuple(blocks)),
        stack_bytes=size + 8 * len(pushes),
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
        register = PReg(RegClass.GPR, number)
        out.append(Op("xor.zero", (register, register), comment="wipe"))
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
            if state and falls_through(blocks, i):
                reached.append(i + 1)
            for j in reached:
                changed |= not start[j]
                start[j] = True
    return end


def _finish(block: Block, leave: tuple[Op, ...], slot: int) -> Block:
    """Expand returns and turn slots into addresses."""

    def address(operand: Operand) -> Operand:
        if isinstance(operand, Slot):
            return Mem(base=_STACK, disp=slot * operand.index, align=16)
        return operand

    def placed(op: Op) -> Op:
        slots = any(isinstance(operand, Slot) for operand in op.operands)
        return op.on(*map(address, op.operands)) if slots else op

    ops: list[Op] = []
    for op in block.ops:
        ops.extend((*leave, op) if op.code == "ret" else (op,))
    return replace(block, ops=tuple(map(placed, ops)))

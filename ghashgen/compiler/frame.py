"""frame: turns an allocated program into a function of its calling convention.

The prologue saves general registers and makes one stack frame for spill slots and saved vector
registers. The epilogue reverses this, after wiping if the kernel asks for it. Without need there is
no frame, so most functions are leaf functions that never move the stack pointer. The architecture
says how registers are saved and frames made (`arch.core.FrameCode`).

A returned number moves to its register before anything is wiped or restored.

The frame, from the stack pointer upwards after the prologue: spill slots, saved vector registers,
padding, saved general registers, then what was above on entry, including stack parameters.

Unwind directives accompany each instruction that moves the stack pointer or saves a register; they
serve every syntax and object format. The CFA is the stack pointer before the call.
"""

from dataclasses import dataclass, replace

from ghashgen.arch.core import Abi
from ghashgen.arch.rows import Isa
from ghashgen.compiler.allocate import Allocation
from ghashgen.compiler.liveness import falls_through, positions, targets
from ghashgen.compiler.wipe import wiped
from ghashgen.ir.program import (
    Argument,
    Constant,
    Directive,
    Flow,
    Label,
    Line,
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
    """A finished function on physical registers."""

    lines: tuple[Line, ...]
    """Everything in its file, in order; without padding until it is placed."""
    stack_bytes: int
    """Stack bytes of its own: saved registers and frame."""
    spill_slots: int
    spill_ops: int
    vectors: tuple[int, ...]
    """Vector registers written, by number."""
    generals: tuple[int, ...]
    """General registers written, by number, except the stack pointer."""
    constants: tuple[Constant, ...]
    """Constants read."""
    lengths: tuple[int, ...] = ()
    """Bytes of each instruction, including padding, once it is placed."""

    @property
    def ops(self) -> tuple[Op, ...]:
        """All operations in order."""
        return tuple(line for line in self.lines if isinstance(line, Op))


def frame(allocation: Allocation, isa: Isa, abi: Abi, wipe: bool) -> Function:
    """Return the function with prologue and epilogue."""
    program, code = allocation.program, isa.arch.frame
    stack = PReg(RegClass.GPR, isa.arch.stack_pointer)
    given = _given(program, isa)
    vectors, generals = _written(program, isa, given)
    (move,), (back,) = isa.lower["gpr_copy"], isa.lower["return"]
    result = PReg(RegClass.GPR, isa.arch.result)
    saved = tuple(number for number in abi.saved if number in generals)
    saves = tuple(number for number in vectors if number in abi.saved_vectors)
    slot = SLOT_BYTES * isa.lanes
    size = code.size(saved, slot * allocation.slots + SLOT_BYTES * len(saves))
    above = size + code.saved_bytes(saved)
    cfa = above + code.caller_bytes
    homes = [
        Mem(base=stack, disp=slot * allocation.slots + SLOT_BYTES * i, align=16)
        for i in range(len(saves))
    ]
    (load,), (store,) = isa.lower["load_aligned"], isa.lower["store"]

    lines: list[Line] = [
        Directive("export"),
        Directive("align", (isa.arch.entry_align,)),
        Directive("entry"),
        Directive("enter", (code.caller_bytes,)),
        *code.enter(saved, size),
    ]
    restore: list[Line] = []
    for number, home in zip(saves, homes, strict=True):
        register = PReg(RegClass.VEC, number)
        lines.append(Op(store.row, (home, register), comment="callee-saved"))
        lines.append(Directive("saved", (register, home.disp, cfa - home.disp)))
        restore.append(Op(load.row, (register, home), comment="callee-saved"))
        restore.append(Directive("restored", (register,)))
    lines.append(Directive("body"))

    wiping = wiped(program, isa, vectors, allocation.slots, given) if wipe else []
    clear = [Op(row, comment="upper halves are the caller's") for row in isa.leave]

    def address(operand: Operand) -> Operand:
        if isinstance(operand, Slot):
            return Mem(base=stack, disp=slot * operand.index, align=16)
        if isinstance(operand, Argument):
            return Mem(base=stack, disp=above + abi.stack_param(operand.index), align=8)
        return operand

    def placed(op: Op) -> Op:
        on_stack = any(isinstance(operand, Slot | Argument) for operand in op.operands)
        return op.on(*map(address, op.operands)) if on_stack else op

    dirty = _upper_dirty(program, isa)
    last = program.ops[-1]
    for i, block in enumerate(program.blocks):
        if i:
            lines.append(Directive("label", (Label(block.label), block.depth)))
        for op in block.ops:
            if isa.rows[op.code].flow is not Flow.RETURN:
                lines.append(placed(op))
                continue
            # Code below a return is entered with the frame as it is above the return.
            below = above and op is not last
            if op.operands:
                if op.operands != (result,):
                    lines.append(Op(move.row, (result, *op.operands), comment="what is returned"))
                op = replace(op, code=back.row, operands=())
            lines += map(placed, wiping)
            lines += [Directive("remember")] if below else []
            lines += restore
            lines += clear if dirty[i] else []
            lines += code.leave(saved, size)
            lines.append(op)
            lines += [Directive("recall")] if below else []
    lines += [Directive("leave"), Directive("end")]
    return Function(
        lines=tuple(lines),
        stack_bytes=above,
        spill_slots=allocation.slots - program.slots,
        spill_ops=allocation.spill_ops,
        vectors=vectors,
        generals=generals,
        constants=_read(program),
    )


def _read(program: Program) -> tuple[Constant, ...]:
    """Return the constants that the program reads, by name."""
    memory = (o for op in program.ops for o in op.operands if isinstance(o, Mem))
    names = sorted({operand.symbol for operand in memory if operand.symbol is not None})
    return tuple(program.constants[name] for name in names)


def _given(program: Program, isa: Isa) -> tuple[PReg, ...]:
    """Return the registers of returned numbers, if any."""
    returns = [op for op in program.ops if isa.rows[op.code].flow is Flow.RETURN]
    return (PReg(RegClass.GPR, isa.arch.result),) if any(op.operands for op in returns) else ()


def _written(
    program: Program, isa: Isa, given: tuple[PReg, ...]
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return the numbers of the (vector, general) registers that the function writes."""
    written = {reg for op in program.ops for reg in isa.rows[op.code].effects(op)[1]} | {*given}
    vectors, generals = (
        tuple(sorted(reg.index for reg in written if reg.cls is cls))
        for cls in (RegClass.VEC, RegClass.GPR)
    )
    return vectors, generals


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

"""What a wiping function zeroes before it returns, on physical registers.

It zeroes all vector registers and slots that were written. Of the general and mask registers it
zeroes those that are loaded from memory and those that may, at some return, hold a value computed
from memory or a vector register. `verify` checks the bytes for completeness.
"""

from collections.abc import Collection
from dataclasses import replace

from ghashgen.arch.rows import Isa
from ghashgen.compiler.liveness import falls_through, positions, targets
from ghashgen.ir.program import Argument, Flow, Op, PReg, Program, Reg, RegClass, Slot

_GPR, _MASK = RegClass.GPR, RegClass.MASK


def wiped(
    program: Program, isa: Isa, vectors: tuple[int, ...], slots: int, given: Collection[PReg]
) -> list[Op]:
    """Return the operations that zero these vector registers and slots, and general registers.

    `given` are the registers of returned values, which stay.

    Raises:
        ValueError: masks are to be zeroed, and no general register is, from which they could be.
    """
    (zero,), (store,) = isa.lower["zero"], isa.lower["store"]
    out = []
    for number in vectors:
        register = PReg(RegClass.VEC, number)
        out.append(Op(zero.row, (register,) * len(zero.tokens), comment="wipe"))
    for i in range(slots):
        zeros = PReg(RegClass.VEC, vectors[0])
        out.append(Op(store.row, (Slot(i), zeros), 128 * isa.lanes, "wipe"))
    loaded = {
        reg
        for op in program.ops
        if isa.rows[op.code].audit_class == "load"
        for reg in isa.rows[op.code].effects(op)[1]
        if reg.cls is _GPR
    }
    data = (loaded | _data_at_returns(program, isa)) - {*given}
    general, masks = (sorted(reg.index for reg in data if reg.cls is c) for c in (_GPR, _MASK))
    for number in general:
        out.append(replace(isa.arch.frame.zero(number), comment="wipe"))
    if masks and not general:
        raise ValueError("masks are zeroed from a general register, and this function zeroes none")
    for number in masks:
        (mask,) = isa.lower["mask"]
        out.append(Op(mask.row, (PReg(_MASK, number), PReg(_GPR, general[0])), comment="wipe"))
    return out


def _data_at_returns(program: Program, isa: Isa) -> set[Reg]:
    """Return the general and mask registers that may hold data at some return, by data flow."""
    blocks, at = program.blocks, positions(program.blocks)
    starts: list[set[Reg] | None] = [set(), *(None for _ in blocks[1:])]
    found: set[Reg] = set()
    pending = [0]
    while pending:
        i = pending.pop()
        state = {*(starts[i] or ())}
        leaving: list[tuple[int, set[Reg]]] = []
        for op in blocks[i].ops:
            leaving += [(at[name], {*state}) for name in targets(op)]
            state = _after(op, isa, state)
            if isa.rows[op.code].flow is Flow.RETURN:
                found |= state
        if falls_through(blocks, i, isa.rows):
            leaving.append((i + 1, state))
        for j, arriving in leaving:
            known = starts[j]
            if known is None or not arriving <= known:
                starts[j] = arriving | (known or set())
                pending.append(j)
    return found


def _after(op: Op, isa: Isa, state: set[Reg]) -> set[Reg]:
    """Return the general and mask registers that may hold data after an operation."""
    row = isa.rows[op.code]
    reads, writes = row.effects(op)
    parameter = any(isinstance(operand, Argument) for operand in op.operands)
    made = (row.audit_class == "load" and not parameter) or any(
        reg in state or reg.cls is RegClass.VEC for reg in reads
    )
    own = {reg for reg in writes if reg.cls in {_GPR, _MASK}}
    return state | own if made else state - own

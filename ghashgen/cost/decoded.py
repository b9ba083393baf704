"""Decoded instructions as work for the model of `simulate`: what they read, write and wait for."""

from collections.abc import Hashable, Sequence

from iced_x86 import (
    Instruction,
    InstructionInfoFactory,
    OpAccess,
    OpKind,
    Register,
    RegisterExt,
    RflagsBits,
)

from ghashgen.arch.x86_64.uarch import Uarch
from ghashgen.arch.x86_64.uarch.forms import form_of
from ghashgen.cost.simulate import Work

_READS = (OpAccess.READ, OpAccess.COND_READ, OpAccess.READ_WRITE, OpAccess.READ_COND_WRITE)
_WRITES = (OpAccess.WRITE, OpAccess.COND_WRITE, OpAccess.READ_WRITE, OpAccess.READ_COND_WRITE)


def _one(instruction: Instruction, uarch: Uarch, factory: InstructionInfoFactory) -> Work:
    info, form = factory.info(instruction), form_of(instruction)
    reads: list[Hashable] = []
    writes: list[Hashable] = []
    for used in info.used_registers():
        register = RegisterExt.full_register(used.register)
        if used.access in _READS and not form.endswith(",0"):
            reads.append(register)
        if used.access in _WRITES:
            writes.append(register)
    if instruction.rflags_read != RflagsBits.NONE:
        reads.append("flags")
    if instruction.rflags_modified != RflagsBits.NONE:
        writes.append("flags")
    address: list[Hashable] = []
    for memory in info.used_memory():
        address += [r for r in (memory.base, memory.index) if r != Register.NONE]
        if memory.base == Register.RSP:
            slot = ("stack", memory.displacement)
            (writes if memory.access in _WRITES else address).append(slot)
    operands = {
        RegisterExt.full_register(instruction.op_register(i))
        for i in range(instruction.op_count)
        if instruction.op_kind(i) == OpKind.REGISTER
    }
    # An address alone is no operand that the computation waits for.
    reads = [r for r in reads if r == "flags" or r in operands or r not in address]
    return Work(form, tuple(reads), tuple(writes), tuple(address), uarch.costs.get(form))


def work_of(instructions: Sequence[Instruction], uarch: Uarch) -> list[Work]:
    """Return the work of instructions one after another, a fused pair as one."""
    factory = InstructionInfoFactory()
    out: list[Work] = []
    for instruction in instructions:
        item = _one(instruction, uarch, factory)
        pair = uarch.fuses(out[-1].form, item.form) if out else None
        if pair is not None:
            first = out.pop()
            item = Work(
                f"{first.form} + {item.form}", first.reads, first.writes, first.address, pair
            )
        out.append(item)
    return out

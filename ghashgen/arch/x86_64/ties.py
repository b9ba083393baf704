"""What instructions wait for, for models of a core."""

from collections.abc import Hashable

from iced_x86 import (
    Instruction,
    InstructionInfoFactory,
    OpAccess,
    OpKind,
    Register,
    RegisterExt,
    RflagsBits,
)

from ghashgen.arch.decoder import FLAGS, Ties
from ghashgen.arch.x86_64.forms import form_of

_FACTORY = InstructionInfoFactory()
_READS = (OpAccess.READ, OpAccess.COND_READ, OpAccess.READ_WRITE, OpAccess.READ_COND_WRITE)
_WRITES = (OpAccess.WRITE, OpAccess.COND_WRITE, OpAccess.READ_WRITE, OpAccess.READ_COND_WRITE)


def ties(instruction: Instruction) -> Ties:
    """Return what an instruction waits for and what waits for it."""
    info, form = _FACTORY.info(instruction), form_of(instruction)
    reads: list[Hashable] = []
    writes: list[Hashable] = []
    for used in info.used_registers():
        register = RegisterExt.full_register(used.register)
        if used.access in _READS and not form.endswith(",0"):
            reads.append(register)
        if used.access in _WRITES:
            writes.append(register)
    if instruction.rflags_read != RflagsBits.NONE:
        reads.append(FLAGS)
    if instruction.rflags_modified != RflagsBits.NONE:
        writes.append(FLAGS)
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
    # The computation does not wait for registers that are only in the address.
    reads = [r for r in reads if r == FLAGS or r in operands or r not in address]
    return Ties(tuple(reads), tuple(writes), tuple(address))

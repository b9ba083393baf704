"""Which registers an instruction reads, and which it always writes."""

from dataclasses import dataclass
from typing import Any

from iced_x86 import Code, Instruction, InstructionInfoFactory, OpAccess

from ghashgen.verify.core.refutation import Refutation
from ghashgen.verify.machine.target import FLAGS, MASK, VECTOR
from ghashgen.verify.x86_64.machine import (
    gpr_index,
    is_mask,
    is_vector,
    mask_index,
    vector_index,
)

CLEARING = (Code.VEX_VZEROUPPER, Code.VEX_VZEROALL)

READS = (
    OpAccess.READ, OpAccess.COND_READ, OpAccess.READ_WRITE, OpAccess.READ_COND_WRITE,
)  # fmt: skip


@dataclass(frozen=True)
class Use:
    """Registers that an instruction reads, and those that it always writes."""

    reads: frozenset[int]
    writes: frozenset[int]


def register_number(register: Any) -> int | None:
    """Return the number of a register here, None if it has none."""
    if is_vector(register):
        return VECTOR + vector_index(register)
    if is_mask(register):
        return MASK + mask_index(register)
    try:
        return gpr_index(register)
    except Refutation:
        return None


def use_of(instruction: Instruction, factory: InstructionInfoFactory) -> Use:
    """Return the registers that an instruction uses."""
    reads: set[int] = set()
    writes: set[int] = set()
    if instruction.code in CLEARING:
        # Only zeros are written, and VZEROUPPER keeps the low halves.
        return Use(frozenset(), frozenset())
    for used in factory.info(instruction).used_registers():
        number = register_number(used.register)
        if number is None:
            continue
        if used.access in READS:
            reads.add(number)
        if used.access in (OpAccess.WRITE, OpAccess.READ_WRITE):
            writes.add(number)
    if instruction.rflags_read:
        reads.add(FLAGS)
    if instruction.rflags_modified:
        writes.add(FLAGS)
    return Use(frozenset(reads), frozenset(writes))

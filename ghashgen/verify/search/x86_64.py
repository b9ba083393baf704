"""What a search asks of an instruction of x86-64."""

from iced_x86 import Code, FlowControl, InstructionInfoFactory, Mnemonic, OpAccess, Register

from ghashgen.verify.core.refutation import Refutation
from ghashgen.verify.machine.image import Image
from ghashgen.verify.search.looks import FLAGS, LOOKS, MASK, VECTOR, Look
from ghashgen.verify.x86_64.dataflow import READS
from ghashgen.verify.x86_64.decoding import decode
from ghashgen.verify.x86_64.machine import gpr_index, is_mask, is_vector, mask_index, vector_index
from ghashgen.verify.x86_64.target import X86_64

CLEARING = (Code.VEX_VZEROUPPER, Code.VEX_VZEROALL)
"""Only zeros are written, and VZEROUPPER keeps the low halves."""

_FACTORY = InstructionInfoFactory()


def register_number(register: int) -> int | None:
    """Return the number of a register here, None if it has none."""
    if is_vector(register):
        return VECTOR + vector_index(register)
    if is_mask(register):
        return MASK + mask_index(register)
    try:
        return gpr_index(register)
    except Refutation:
        return None


def look(image: Image, address: int) -> Look:
    """Return what is at an address."""
    i = decode(image, address)
    reads: set[int] = set()
    writes: set[int] = set()
    for used in () if i.code in CLEARING else _FACTORY.info(i).used_registers():
        number = register_number(used.register)
        if number is not None and used.access in READS:
            reads.add(number)
        if number is not None and used.access in (OpAccess.WRITE, OpAccess.READ_WRITE):
            writes.add(number)
    if i.rflags_read:
        reads.add(FLAGS)
    if i.rflags_modified:
        writes.add(FLAGS)
    following, target = int(i.next_ip), int(i.near_branch_target)
    ways = {
        FlowControl.NEXT: (following,),
        FlowControl.UNCONDITIONAL_BRANCH: (target,),
        FlowControl.CONDITIONAL_BRANCH: (following, target),
        FlowControl.CALL: (following, target),
        FlowControl.RETURN: (),
    }.get(i.flow_control)
    rounds = i.mnemonic == Mnemonic.AND and i.op0_register == Register.RSP
    call = i.flow_control == FlowControl.CALL
    return Look(following, ways, call, frozenset(reads), frozenset(writes), rounds)


LOOKS[X86_64.name] = look

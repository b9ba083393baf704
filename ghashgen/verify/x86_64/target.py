"""x86-64 as a target."""

from iced_x86 import (
    FlowControl,
    InstructionInfoFactory,
    Mnemonic,
    OpAccess,
    OpKind,
    Register,
)

from ghashgen.verify.machine.image import Image
from ghashgen.verify.machine.memory import RETURN_BYTES
from ghashgen.verify.machine.target import MASK, VECTOR, Decoded, Look, Target
from ghashgen.verify.x86_64.abi import ABIS, RESULT, check_entry
from ghashgen.verify.x86_64.dataflow import address_guard, guard
from ghashgen.verify.x86_64.decoding import decode
from ghashgen.verify.x86_64.machine import GPR_NAMES, LANES, RSP, text_of
from ghashgen.verify.x86_64.rows.table import step_of
from ghashgen.verify.x86_64.uses import use_of

_FACTORY = InstructionInfoFactory()

ALWAYS = (OpAccess.READ, OpAccess.WRITE, OpAccess.READ_WRITE, OpAccess.READ_COND_WRITE)
"""How memory may be used that is accessed for certain: masked accesses are not."""


def _decoded(image: Image, address: int) -> Decoded:
    """Decode an instruction; its guards are those of `dataflow`."""
    i = decode(image, address)
    guards = tuple(g for g in (address_guard(i), guard(i)) if g)
    writes = use_of(i, _FACTORY).writes
    vectors = tuple(sorted(n - VECTOR for n in writes if VECTOR <= n < MASK))
    operand = any(i.op_kind(k) == OpKind.MEMORY for k in range(i.op_count))
    accesses = operand and any(u.access in ALWAYS for u in _FACTORY.info(i).used_memory())
    return Decoded(step_of(i), int(i.next_ip), guards, vectors, accesses)


def _look(image: Image, address: int) -> Look:
    """Return what a search asks of an instruction."""
    i = decode(image, address)
    use, following, target = use_of(i, _FACTORY), int(i.next_ip), int(i.near_branch_target)
    ways = {
        FlowControl.NEXT: (following,),
        FlowControl.UNCONDITIONAL_BRANCH: (target,),
        FlowControl.CONDITIONAL_BRANCH: (following, target),
        FlowControl.CALL: (following, target),
        FlowControl.RETURN: (),
    }.get(i.flow_control)
    rounds = i.mnemonic == Mnemonic.AND and i.op0_register == Register.RSP
    call = i.flow_control == FlowControl.CALL
    return Look(following, ways, call, use.reads, use.writes, rounds)


X86_64 = Target(
    name="x86_64",
    general=GPR_NAMES,
    vectors=tuple(f"zmm{k}" for k in range(32)),
    masks=tuple(f"k{k}" for k in range(8)),
    lanes=LANES,
    stack_pointer=RSP,
    result=RESULT,
    return_bytes=RETURN_BYTES,
    stack_align=(16, 8),
    conventions=ABIS,
    decode=_decoded,
    check_entry=check_entry,
    text=lambda image, address: text_of(decode(image, address)),
    look=_look,
)

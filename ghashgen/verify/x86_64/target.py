"""x86-64 as a target."""

from iced_x86 import InstructionInfoFactory, OpAccess, OpKind

from ghashgen.verify.machine.image import Image
from ghashgen.verify.machine.memory import RETURN_BYTES
from ghashgen.verify.machine.target import Decoded, Target
from ghashgen.verify.x86_64.abi import ABIS, RESULT, check_entry
from ghashgen.verify.x86_64.dataflow import address_guard, guard
from ghashgen.verify.x86_64.decoding import decode
from ghashgen.verify.x86_64.machine import GPR_NAMES, LANES, RSP, text_of
from ghashgen.verify.x86_64.rows.table import step_of

ALWAYS = (OpAccess.READ, OpAccess.WRITE, OpAccess.READ_WRITE, OpAccess.READ_COND_WRITE)
"""How memory may be used that is accessed for certain: masked accesses are not."""


def _decoded(image: Image, address: int) -> Decoded:
    """Decode an instruction; its guards are those of `dataflow`."""
    i = decode(image, address)
    guards = tuple(g for g in (address_guard(i), guard(i)) if g)
    # With a write mask it may access nothing.
    operand = not i.has_op_mask and any(i.op_kind(k) == OpKind.MEMORY for k in range(i.op_count))
    used = InstructionInfoFactory().info(i).used_memory() if operand else ()
    accesses = any(one.access in ALWAYS for one in used)
    return Decoded(step_of(i), int(i.next_ip), guards, accesses)


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
)

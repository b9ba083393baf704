"""x86-64 as a target."""

from iced_x86 import FlowControl, InstructionInfoFactory

from ghashgen.verify.machine.image import Image
from ghashgen.verify.machine.memory import RETURN_BYTES
from ghashgen.verify.machine.target import MASK, VECTOR, Decoded, Flow, Target
from ghashgen.verify.x86_64.abi import ABIS, RESULT, check_entry
from ghashgen.verify.x86_64.dataflow import address_guard, guard
from ghashgen.verify.x86_64.decoding import decode
from ghashgen.verify.x86_64.flow import flow_of, use_of
from ghashgen.verify.x86_64.machine import GPR_NAMES, LANES, RSP, text_of
from ghashgen.verify.x86_64.rows.table import step_of


def _decoded(image: Image, address: int) -> Decoded:
    """Decode an instruction; its guards are those of `dataflow`."""
    i = decode(image, address)
    guards = tuple(g for g in (address_guard(i), guard(i)) if g)
    writes = use_of(i, InstructionInfoFactory()).writes
    vectors = tuple(sorted(n - VECTOR for n in writes if VECTOR <= n < MASK))
    return Decoded(step_of(i), int(i.next_ip), guards, vectors)


def _flow(image: Image, entry: int, abi: str) -> Flow:
    """Explore a function's code."""
    flow = flow_of(image, entry, ABIS[abi].saved_numbers)
    after: dict[int, tuple[int, ...]] = {}
    for address, i in flow.instructions.items():
        following, target = int(i.next_ip), int(i.near_branch_target)
        match i.flow_control:
            case FlowControl.UNCONDITIONAL_BRANCH:
                after[address] = (target,)
            case FlowControl.CONDITIONAL_BRANCH:
                after[address] = (following, target)
            case FlowControl.RETURN:
                after[address] = ()
            case _:
                after[address] = (following,)
    return Flow(after, flow.cuts, flow.live)


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
    flow=_flow,
)

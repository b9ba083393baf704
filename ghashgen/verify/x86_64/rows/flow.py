"""Rows for jumps, calls, returns and instructions without effect. Intel SDM vol. 2."""

from iced_x86 import Instruction

from ghashgen.verify.core.refutation import Category, Refutation, unsupported
from ghashgen.verify.core.values import Pointer
from ghashgen.verify.machine.machine import Machine, Step
from ghashgen.verify.machine.memory import RETURN_ADDRESS
from ghashgen.verify.x86_64.conditions import CONDITIONS
from ghashgen.verify.x86_64.machine import RSP, Builder, Rows
from ghashgen.verify.x86_64.rows.stack import grow, shrink


def _jump(i: Instruction) -> Step:
    target = int(i.near_branch_target)
    return lambda m: target


def _jump_if(condition: str) -> Builder:
    test = CONDITIONS[condition]

    def build(i: Instruction) -> Step:
        target = int(i.near_branch_target)
        return lambda m: target if test(m) else None

    return build


def _call(i: Instruction) -> Step:
    target, following = int(i.near_branch_target), int(i.next_ip)

    def step(m: Machine) -> int:
        # The linker places the code: no value here stands for its address.
        grow(m, m.terms.lost(RETURN_ADDRESS, False, 64))
        slot = m.gpr[RSP]
        if not isinstance(slot, Pointer) or not isinstance(slot.offset, int):
            raise unsupported("a call at an unknown depth of the stack", m.terms.at)
        m.memory.returns.append((slot, following))
        return target

    return step


def _return(i: Instruction) -> Step:
    def step(m: Machine) -> int:
        # Stores leave return addresses alone (`Memory`), so the last one is still what CALL pushed.
        slot, target = m.memory.returns[-1]
        if m.gpr[RSP] != slot:
            raise Refutation(
                Category.ABI, "RET with the stack pointer elsewhere than at its CALL's return "
                "address", at=m.terms.at,
            )  # fmt: skip
        m.memory.returns.pop()
        shrink(m)
        return target

    return step


def _nothing(i: Instruction) -> Step:
    return lambda m: None


ROWS: Rows = {
    "JMP": _jump,
    **{f"J{condition.upper()}": _jump_if(condition) for condition in CONDITIONS},
    "CALL_REL32_64": _call,
    "RETNQ": _return,
    "ENDBR64 NOPD NOPW NOPQ NOP_RM16 NOP_RM32 NOP_RM64": _nothing,
    # A prefetch is a hint: it never faults and changes no architectural state.
    "PREFETCHT0 PREFETCHT1 PREFETCHT2 PREFETCHNTA": _nothing,
}

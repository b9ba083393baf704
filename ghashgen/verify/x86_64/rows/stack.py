"""Rows for the stack: PUSH, POP, LEAVE. Intel SDM vol. 2, by mnemonic."""

from iced_x86 import Instruction

from ghashgen.verify.core.values import M64, Value
from ghashgen.verify.machine.machine import Machine, Step
from ghashgen.verify.x86_64 import operands as ops
from ghashgen.verify.x86_64.machine import RBP, RSP, Rows
from ghashgen.verify.x86_64.rows.general import total


def grow(m: Machine, value: Value) -> None:
    """Push 8 bytes."""
    m.gpr[RSP] = total(m, m.gpr[RSP], M64 - 7)
    m.memory.store(m.gpr[RSP], value, 8)


def shrink(m: Machine) -> None:
    """Move the stack pointer past 8 bytes."""
    m.gpr[RSP] = total(m, m.gpr[RSP], 8)


def _push(i: Instruction) -> Step:
    read = ops.read_gpr(i, 0)
    return lambda m: grow(m, read(m))


def _pop(i: Instruction) -> Step:
    write = ops.write_gpr(i)

    def step(m: Machine) -> None:
        value = m.memory.load(m.gpr[RSP], 8)
        shrink(m)
        write(m, value)

    return step


def _leave(i: Instruction) -> Step:
    def step(m: Machine) -> None:
        m.gpr[RSP] = m.gpr[RBP]
        m.gpr[RBP] = m.memory.load(m.gpr[RSP], 8)
        shrink(m)

    return step


ROWS: Rows = {"PUSH_R64": _push, "POP_R64": _pop, "LEAVEQ": _leave}

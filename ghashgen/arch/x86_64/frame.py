"""How x86-64 makes a stack frame: ENDBR64, pushes, and one subtraction from rsp.

On entry rsp is 8 modulo 16 in both conventions, since the return address lies at it.
"""

from ghashgen.arch.core import FrameCode
from ghashgen.arch.x86_64.nops import NOPS
from ghashgen.arch.x86_64.registers import RSP
from ghashgen.ir.program import Op, PReg, RegClass

_STACK = PReg(RegClass.GPR, RSP)
_PUSH = 8
_RETURN = 8
_LONGEST_NOP = max(NOPS)


def _general(number: int) -> PReg:
    return PReg(RegClass.GPR, number)


def _saved_bytes(saved: tuple[int, ...]) -> int:
    return _PUSH * len(saved)


def _size(saved: tuple[int, ...], need: int) -> int:
    """Return the bytes that are needed, and as many as make rsp a multiple of 16."""
    return need + -(need + _RETURN + _saved_bytes(saved)) % 16 if need else 0


def _enter(saved: tuple[int, ...], size: int) -> tuple[Op, ...]:
    ops = [Op("endbr64")]
    ops += [Op("push", (_general(number),), comment="callee-saved") for number in saved]
    if size:
        ops.append(Op("sub", (_STACK, size), comment="frame"))
    return tuple(ops)


def _leave(saved: tuple[int, ...], size: int) -> tuple[Op, ...]:
    ops = [Op("add", (_STACK, size), comment="frame")] if size else []
    ops += [Op("pop", (_general(number),), comment="callee-saved") for number in saved[::-1]]
    return tuple(ops)


def _zero(number: int) -> Op:
    return Op("xor.zero", (_general(number), _general(number)))


def _pad(amount: int) -> tuple[tuple[Op, int], ...]:
    """Return as few NOPs as there can be, of nearly one length."""
    count = -(-amount // _LONGEST_NOP)
    lengths = [amount // count + (i < amount % count) for i in range(count)]
    return tuple((Op("nop", (length,)), length) for length in lengths)


FRAME = FrameCode(
    saved_bytes=_saved_bytes,
    size=_size,
    enter=_enter,
    leave=_leave,
    zero=_zero,
    pad=_pad,
)
"""Frames of both conventions."""

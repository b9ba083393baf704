"""Stack frames of x86-64: ENDBR64, pushes, and one subtraction from rsp.

On entry rsp is 8 modulo 16 in both conventions, because the call pushed the return address.
"""

from ghashgen.arch.core import FrameCode
from ghashgen.arch.x86_64.nops import NOPS
from ghashgen.arch.x86_64.registers import RSP
from ghashgen.ir.program import Directive, Line, Op, PReg, RegClass

_STACK = PReg(RegClass.GPR, RSP)
_PUSH = 8
_RETURN = 8
_LONGEST_NOP = max(NOPS)


def _general(number: int) -> PReg:
    return PReg(RegClass.GPR, number)


def _saved_bytes(saved: tuple[int, ...]) -> int:
    return _PUSH * len(saved)


def _size(saved: tuple[int, ...], need: int) -> int:
    """Return the needed bytes, plus those that make rsp a multiple of 16."""
    return need + -(need + _RETURN + _saved_bytes(saved)) % 16 if need else 0


def _enter(saved: tuple[int, ...], size: int) -> tuple[Line, ...]:
    lines: list[Line] = [Op("endbr64")]
    cfa = _RETURN
    for number in saved:
        register, cfa = _general(number), cfa + _PUSH
        lines.append(Op("push", (register,), comment="callee-saved"))
        lines.append(Directive("pushed", (register, cfa)))
    if size:
        lines.append(Op("sub", (_STACK, size), comment="frame"))
        lines.append(Directive("grown", (size, cfa + size)))
    return tuple(lines)


def _leave(saved: tuple[int, ...], size: int) -> tuple[Line, ...]:
    lines: list[Line] = []
    cfa = _RETURN + _saved_bytes(saved)
    if size:
        lines.append(Op("add", (_STACK, size), comment="frame"))
        lines.append(Directive("shrunk", (size, cfa)))
    for number in saved[::-1]:
        register, cfa = _general(number), cfa - _PUSH
        lines.append(Op("pop", (register,), comment="callee-saved"))
        lines.append(Directive("popped", (register, cfa)))
    return tuple(lines)


def _zero(number: int) -> Op:
    return Op("xor.zero", (_general(number), _general(number)))


def _pad(amount: int) -> tuple[int, ...]:
    """Return the fewest NOPs, with nearly equal lengths."""
    count = -(-amount // _LONGEST_NOP)
    return tuple(amount // count + (i < amount % count) for i in range(count))


FRAME = FrameCode(
    saved_bytes=_saved_bytes,
    size=_size,
    caller_bytes=_RETURN,
    enter=_enter,
    leave=_leave,
    zero=_zero,
    pad=_pad,
)
"""Frames of both conventions."""

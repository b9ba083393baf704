"""Stack frames of AArch64: BTI c, registers saved in pairs, one subtraction from sp.

sp must always be a multiple of 16, or an access through it faults. Functions call nothing and never
write the link register, so they need no frame record.
"""

from collections.abc import Iterator

from ghashgen.arch.aarch64.registers import SP
from ghashgen.arch.core import FrameCode
from ghashgen.ir.program import Directive, Line, Mem, Op, PReg, RegClass

_STACK = PReg(RegClass.GPR, SP)
_PAIR = 16
_WORD = 8
BTI_C = 34
"""The hint that allows an indirect call to land here; a NOP without FEAT_BTI."""
NOP_BYTES = 4


def _general(number: int) -> PReg:
    return PReg(RegClass.GPR, number)


def _saved_bytes(saved: tuple[int, ...]) -> int:
    return -(-len(saved) // 2) * _PAIR


def _size(saved: tuple[int, ...], need: int) -> int:
    del saved
    return -(-need // _PAIR) * _PAIR


def _pairs(saved: tuple[int, ...]) -> Iterator[tuple[Mem, tuple[PReg, ...]]]:
    """Yield where registers are saved: in pairs, then a last one alone."""
    for at in range(0, len(saved), 2):
        pair = tuple(map(_general, saved[at : at + 2]))
        yield Mem(base=_STACK, disp=_PAIR * (at // 2), align=_PAIR), pair


def _enter(saved: tuple[int, ...], size: int) -> tuple[Line, ...]:
    lines: list[Line] = [Op("hint", (BTI_C,), comment="BTI c: an indirect call may land here")]
    above = _saved_bytes(saved)
    if saved:
        lines.append(Op("sub.imm", (_STACK, _STACK, above), comment="callee-saved"))
        lines.append(Directive("grown", (above, above)))
    for home, pair in _pairs(saved):
        code = "stp" if len(pair) == 2 else "str.x"
        lines.append(Op(code, (home, *pair), comment="callee-saved"))
        for i, register in enumerate(pair):
            at = home.disp + _WORD * i
            lines.append(Directive("saved", (register, at, above - at)))
    if size:
        lines.append(Op("sub.imm", (_STACK, _STACK, size), comment="frame"))
        lines.append(Directive("grown", (size, above + size)))
    return tuple(lines)


def _leave(saved: tuple[int, ...], size: int) -> tuple[Line, ...]:
    above = _saved_bytes(saved)
    lines: list[Line] = []
    if size:
        lines.append(Op("add.imm", (_STACK, _STACK, size), comment="frame"))
        lines.append(Directive("shrunk", (size, above)))
    for home, pair in _pairs(saved):
        code = "ldp" if len(pair) == 2 else "ldr.x"
        lines.append(Op(code, (*pair, home), comment="callee-saved"))
        lines += [Directive("restored", (register,)) for register in pair]
    if saved:
        lines.append(Op("add.imm", (_STACK, _STACK, above), comment="callee-saved"))
        lines.append(Directive("shrunk", (above, 0)))
    return tuple(lines)


def _zero(number: int) -> Op:
    return Op("mov.const", (_general(number), 0))


def _pad(amount: int) -> tuple[int, ...]:
    return (NOP_BYTES,) * (amount // NOP_BYTES)


FRAME = FrameCode(
    saved_bytes=_saved_bytes,
    size=_size,
    caller_bytes=0,
    enter=_enter,
    leave=_leave,
    zero=_zero,
    pad=_pad,
)
"""Frames of the Procedure Call Standard."""

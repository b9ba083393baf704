"""How x86-64 syntaxes list operands, and how those in Intel order write an address."""

from collections.abc import Callable, Mapping

from ghashgen.arch.rows import OperandSpec, Row
from ghashgen.arch.x86_64.registers import register_name
from ghashgen.ir.program import Mem, Op, Operand, PReg

_MASKS = {"km": "{{{}}}", "kz": "{{{}}}{{z}}"}
"""How a mask is written after the operand before it."""


def listed(op: Op, row: Row, said: Callable[[Operand, OperandSpec], str]) -> list[str]:
    """Return the operands in Intel's order, each in the words of `said`."""
    out: list[str] = []
    for operand, spec in zip(op.operands, row.operands, strict=True):
        if spec.kinds[0] in _MASKS:
            out[-1] += _MASKS[spec.kinds[0]].format(said(operand, spec))
        else:
            out.append(said(operand, spec))
    return out


def sized(spec: OperandSpec, sizes: Mapping[str, str]) -> str:
    """Return the word for the size of memory, or "" if a register operand implies it."""
    return next((sizes[kind] for kind in spec.kinds if kind in sizes), "")


def address(memory: Mem, once: str = "") -> str:
    """Return base + index*scale ± displacement; `once` is how a scale of 1 is written."""
    parts = []
    if isinstance(memory.base, PReg):
        parts.append(register_name(memory.base, ("q",), 0))
    if isinstance(memory.index, PReg):
        scale = f"*{memory.scale}" if memory.scale != 1 else once
        parts.append(register_name(memory.index, ("q",), 0) + scale)
    text = " + ".join(parts)
    if memory.disp:
        text += f" {'+' if memory.disp > 0 else '-'} {abs(memory.disp)}"
    return text


def number(value: int) -> str:
    """Return an immediate: a byte in hexadecimal, anything else in decimal."""
    return f"0x{value:02x}" if 0 <= value < 256 else str(value)

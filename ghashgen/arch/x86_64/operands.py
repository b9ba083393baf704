"""How x86-64 syntaxes list operands, and how those in Intel order write an address."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from ghashgen.arch.rows import OperandSpec, Row
from ghashgen.arch.syntax import Names
from ghashgen.arch.x86_64.registers import register_name
from ghashgen.ir.program import Label, Mem, Op, Operand, PReg

_MASKS = {"km": "{{{}}}", "kz": "{{{}}}{{z}}"}
"""How a mask is written after the operand before it."""


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


@dataclass(frozen=True)
class Operands:
    """How a syntax writes each kind of operand."""

    memory: Callable[[Mem, OperandSpec, Names], str]
    target: Callable[[Label, Names], str]
    register: Callable[[PReg, tuple[str, ...], int], str] = register_name
    number: Callable[[int], str] = number

    def listed(self, op: Op, row: Row, names: Names) -> list[str]:
        """Return the operands of an instruction in Intel's order."""
        out: list[str] = []
        for operand, spec in zip(op.operands, row.operands, strict=True):
            text = self._one(operand, spec, op.width, names)
            if spec.kinds[0] in _MASKS:
                out[-1] += _MASKS[spec.kinds[0]].format(text)
            else:
                out.append(text)
        return out

    def _one(self, operand: Operand, spec: OperandSpec, width: int, names: Names) -> str:
        # Most frequent first.
        if isinstance(operand, PReg):
            return self.register(operand, spec.kinds, width)
        if isinstance(operand, Mem):
            return self.memory(operand, spec, names)
        if isinstance(operand, int):
            return self.number(operand)
        if isinstance(operand, Label):
            return self.target(operand, names)
        raise TypeError(f"{operand} cannot be printed: not allocated")

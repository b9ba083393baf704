"""GNU as and Clang, AT&T: sources before the destination, % before registers, $ before numbers."""

from dataclasses import replace

from ghashgen.arch.rows import OperandSpec, Row
from ghashgen.arch.syntax import Names
from ghashgen.arch.x86_64 import gas
from ghashgen.arch.x86_64.operands import Operands, number
from ghashgen.arch.x86_64.registers import register_name
from ghashgen.arch.x86_64.syntax.gas import SYNTAX as INTEL
from ghashgen.ir.program import Directive, Mem, Op, PReg

_MNEMONICS = {"movzx.load8": "movzbl"}
"""Rows whose AT&T mnemonic includes the sizes."""


def _register(register: PReg, kinds: tuple[str, ...], width: int) -> str:
    return f"%{register_name(register, kinds, width)}"


def _memory(memory: Mem, spec: OperandSpec, names: Names) -> str:
    if memory.symbol is not None:
        return f"{gas.constant(memory.symbol, names)}(%rip)"
    base = _register(memory.base, ("q",), 0) if isinstance(memory.base, PReg) else ""
    if isinstance(memory.index, PReg):
        base += f",{_register(memory.index, ('q',), 0)},{memory.scale}"
    return f"{memory.disp or ''}({base})"


_OPERANDS = Operands(_memory, gas.target, _register, lambda value: f"${number(value)}")


def instruction(op: Op, row: Row, names: Names) -> str:
    """Return one instruction."""
    operands = _OPERANDS.listed(op, row, names)
    mnemonic = _MNEMONICS.get(row.key, row.mnemonic)
    return f"{gas.forced(op, row)}{mnemonic:<11} {', '.join(reversed(operands))}".rstrip()


def directive(line: Directive, names: Names) -> tuple[str, ...]:
    """Return the lines of a directive."""
    return gas.directive(line, names, "%")


SYNTAX = replace(
    INTEL,
    name="gas-att",
    title="GNU as, AT&T operand order",
    instruction=instruction,
    directive=directive,
    tally="    movq ghashgen_counts(%rip), %r11\n    incq {at}(%r11)",
    opening="",
)

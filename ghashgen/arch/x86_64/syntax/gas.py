"""GNU as and Clang, Intel operand order, register names without a prefix."""

from ghashgen.arch.rows import OperandSpec, Row
from ghashgen.arch.syntax import Names, Syntax
from ghashgen.arch.x86_64 import gas
from ghashgen.arch.x86_64.assemblers import GAS
from ghashgen.arch.x86_64.operands import address, listed, number, sized
from ghashgen.arch.x86_64.registers import register_name
from ghashgen.ir.program import Directive, Label, Mem, Op, Operand, PReg

_SIZES = {"m8": "byte ptr ", "m16": "word ptr "}
"""Size words where no register operand implies the size."""


def _memory(memory: Mem, spec: OperandSpec, names: Names) -> str:
    size = sized(spec, _SIZES)
    if memory.symbol is not None:
        return f"{size}[rip + {gas.constant(memory.symbol, names)}]"
    return f"{size}[{address(memory, '*1')}]"


def _operand(operand: Operand, spec: OperandSpec, width: int, names: Names) -> str:
    if isinstance(operand, PReg):
        return register_name(operand, spec.kinds, width)
    if isinstance(operand, Mem):
        return _memory(operand, spec, names)
    if isinstance(operand, int):
        return number(operand)
    if isinstance(operand, Label):
        return gas.target(operand, names)
    raise TypeError(f"{operand} cannot be printed: not allocated")


def instruction(op: Op, row: Row, names: Names) -> str:
    """Return one instruction."""
    operands = listed(op, row, lambda operand, spec: _operand(operand, spec, op.width, names))
    return f"{gas.forced(op, row)}{row.mnemonic:<11} {', '.join(operands)}".rstrip()


def directive(line: Directive, names: Names) -> tuple[str, ...]:
    """Return the lines of a directive."""
    return gas.directive(line, names, "")


SYNTAX = Syntax(
    name="gas",
    title="GNU as, Intel operand order",
    suffix="S",
    template="gas.S.j2",
    instruction=instruction,
    directive=directive,
    comment="#",
    remark="//",
    note=("IBT and SHSTK, every entry point starts with ENDBR64", "0xc0000002, 4, 3, 0"),
    assembler=GAS,
    tally="    mov r11, [rip + ghashgen_counts]\n    inc qword ptr [r11 + {at}]",
    opening=".intel_syntax noprefix",
)

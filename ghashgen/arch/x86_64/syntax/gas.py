"""GNU as and Clang, Intel operand order, register names without a prefix."""

from ghashgen.arch.rows import OperandSpec, Row
from ghashgen.arch.syntax import Names, Syntax
from ghashgen.arch.x86_64 import gas
from ghashgen.arch.x86_64.assemblers import GAS
from ghashgen.arch.x86_64.operands import Operands, address, sized
from ghashgen.ir.program import Directive, Mem, Op

_SIZES = {"m8": "byte ptr ", "m16": "word ptr "}
"""Size words where no register operand implies the size."""


def _memory(memory: Mem, spec: OperandSpec, names: Names) -> str:
    size = sized(spec, _SIZES)
    if memory.symbol is not None:
        return f"{size}[rip + {gas.constant(memory.symbol, names)}]"
    return f"{size}[{address(memory, '*1')}]"


_OPERANDS = Operands(_memory, gas.target)


def instruction(op: Op, row: Row, names: Names) -> str:
    """Return one instruction."""
    operands = _OPERANDS.listed(op, row, names)
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

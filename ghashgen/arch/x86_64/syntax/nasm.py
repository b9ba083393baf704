"""NASM (2.14 or later), Intel operand order."""

from ghashgen.arch.rows import OperandSpec, Row
from ghashgen.arch.syntax import Names, Syntax
from ghashgen.arch.x86_64.assemblers import NASM
from ghashgen.arch.x86_64.nops import NOPS
from ghashgen.arch.x86_64.operands import Operands, address, sized
from ghashgen.arch.x86_64.unwind_tables import tables
from ghashgen.ir.program import Directive, Label, Mem, Op

_SIZES = {"m8": "byte ", "m16": "word "}
"""Size words where no register operand implies the size."""


def _memory(memory: Mem, spec: OperandSpec, names: Names) -> str:
    size = sized(spec, _SIZES)
    if memory.symbol is not None:
        return f"{size}[rel {names.constants}_{memory.symbol}]"
    return f"{size}[{address(memory)}]"


def _target(label: Label, names: Names) -> str:
    other = f"{names.constants}_{label.of}" if label.of else ""
    return f"{'short ' * label.short}{other}.{label.name}"


_OPERANDS = Operands(_memory, _target)


def instruction(op: Op, row: Row, names: Names) -> str:
    """Return one instruction."""
    operands = _OPERANDS.listed(op, row, names)
    return f"{row.mnemonic:<11} {', '.join(operands)}".rstrip()


def directive(line: Directive, names: Names) -> tuple[str, ...]:
    """Return the lines of a directive; NASM has none for unwinding."""
    symbol = names.fmt.symbol_prefix + names.symbol
    match line.code:
        case "export":
            kind = "function hidden" if names.hidden else "function"
            size = f":{kind} ({names.symbol}.end - {names.symbol})" if names.fmt.elf else ""
            return (f"global {symbol}{size}",)
        case "align":
            return (f"align {line.numbers()[0]}",)
        case "entry":
            return (f"{symbol}:",)
        case "label":
            return (f".{line.label()}:",)
        case "pad":
            data = NOPS[line.numbers()[0]].split()
            return ("    db          " + ", ".join(f"0x{byte}" for byte in data),)
        case "end":
            return (".end:",)
    return ()


SYNTAX = Syntax(
    name="nasm",
    title="NASM",
    suffix="asm",
    template="nasm.asm.j2",
    instruction=instruction,
    directive=directive,
    comment=";",
    remark=";",
    assembler=NASM,
    unwinding=tables,
    tally="extern ghashgen_counts\n    mov r11, [rel ghashgen_counts]\n    inc qword [r11 + {at}]",
)

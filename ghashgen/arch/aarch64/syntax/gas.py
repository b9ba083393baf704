"""GNU as and Clang's assembler: the syntax of the Arm ARM, destination first, memory last."""

from ghashgen.arch.aarch64.assemblers import GAS
from ghashgen.arch.aarch64.registers import REGISTERS
from ghashgen.arch.gnu import CFI, exported
from ghashgen.arch.rows import OperandSpec, Row
from ghashgen.arch.syntax import Names, Syntax
from ghashgen.ir.program import Directive, Flow, Label, Mem, Op, Operand, PReg, RegClass

_SCALAR = {"q": 128, "d": 64, "s": 32}
"""Bits of a vector register that a form names as a whole."""
_GPR = REGISTERS[RegClass.GPR].parts
_VEC = REGISTERS[RegClass.VEC]


def _register(register: PReg, spec: OperandSpec) -> str:
    if register.cls is RegClass.GPR:
        return _GPR[32 if "d" in spec.kinds else 64][register.index]
    if spec.form in _SCALAR:
        return _VEC.parts[_SCALAR[spec.form]][register.index]
    name = _VEC.names[register.index]
    if spec.form.startswith("{"):
        return f"{{{name}.{spec.form.strip('{}')}}}"
    return f"{name}.{spec.form}"


def _memory(memory: Mem, spec: OperandSpec, names: Names) -> str:
    symbol = f"{names.fmt.local}{names.constants}_{memory.symbol}" if memory.symbol else ""
    if memory.base is None:
        return symbol if names.fmt.elf else f"{symbol}@PAGE"
    assert isinstance(memory.base, PReg)
    parts = [_GPR[64][memory.base.index]]
    if symbol:
        parts.append(f":lo12:{symbol}" if names.fmt.elf else f"{symbol}@PAGEOFF")
    elif isinstance(memory.index, PReg):
        parts.append(_GPR[64][memory.index.index])
    elif memory.disp or spec.memory == "addr":
        parts.append(f"#{memory.disp}")
    inside = ", ".join(parts)
    return inside if spec.memory == "addr" else f"[{inside}]"


def _operand(operand: Operand, spec: OperandSpec, names: Names) -> str:
    if isinstance(operand, PReg):
        return _register(operand, spec)
    if isinstance(operand, Mem):
        return _memory(operand, spec, names)
    if isinstance(operand, int):
        return f"#{operand}"
    if isinstance(operand, Label):
        return _local(operand.name, names)
    raise TypeError(f"{operand} cannot be printed: not allocated")


def _local(label: str, names: Names) -> str:
    return f"{names.fmt.local}{names.symbol}_{label}"


def instruction(op: Op, row: Row, names: Names) -> str:
    """Return one instruction."""
    texts: list[str] = []
    memory: list[str] = []
    for operand, spec in zip(op.operands, row.operands, strict=True):
        text = _operand(operand, spec, names)
        (memory if isinstance(operand, Mem) else texts).append(text)
    if row.key == "movi.zero":
        texts.append("#0")
    # The condition is part of the mnemonic, not of the form.
    mnemonic = row.key if row.flow is Flow.BRANCH else row.mnemonic
    return f"{mnemonic:<7} {', '.join((*texts, *memory))}".rstrip()


def directive(line: Directive, names: Names) -> tuple[str, ...]:
    """Return the lines of a directive."""
    symbol = names.fmt.symbol_prefix + names.symbol
    match line.code:
        case "export":
            typed = (f".type {symbol}, %function",) if names.fmt.elf else ()
            return (*exported(symbol, names), *typed)
        case "align":
            return (f".p2align {line.numbers()[0].bit_length() - 1}",)
        case "entry":
            return (f"{symbol}:",)
        case "label":
            return (f"{_local(line.label(), names)}:",)
        case "pad":
            return ("    nop",)
        case "end":
            return (f".size {symbol}, . - {symbol}",) if names.fmt.elf else ()
    return tuple(
        "    " + form.format(*line.numbers(), register=_unwound(line))
        for form in CFI.get(line.code, ())
    )


def _unwound(line: Directive) -> str:
    """Return the register of an unwind directive; for a vector, the part that a caller keeps."""
    first = line.operands[0] if line.operands else None
    if not isinstance(first, PReg):
        return ""
    return (_GPR if first.cls is RegClass.GPR else _VEC.parts)[64][first.index]


SYNTAX = Syntax(
    name="gas",
    title="GNU as, AArch64",
    suffix="S",
    template="gas.S.j2",
    instruction=instruction,
    directive=directive,
    comment="//",
    remark="//",
    assembler=GAS,
    note=("BTI, every entry point starts with BTI c", "0xc0000000, 4, 1, 0"),
    opening=".arch armv8-a+crypto",
)

"""GNU as and Clang's assembler: the syntax of the Arm ARM, destination first, memory last."""

from ghashgen.arch.aarch64.registers import REGISTERS
from ghashgen.arch.rows import OperandSpec, Row
from ghashgen.arch.syntax import Syntax
from ghashgen.ir.program import Flow, Label, Mem, Op, Operand, PReg, RegClass

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


def _memory(memory: Mem, spec: OperandSpec, prefix: str) -> str:
    assert memory.symbol is None or memory.base is None or not memory.disp
    symbol = f".L{prefix}_{memory.symbol}" if memory.symbol else ""
    if memory.base is None:
        return symbol
    assert isinstance(memory.base, PReg)
    base = _GPR[64][memory.base.index]
    if symbol:
        inside = f"{base}, :lo12:{symbol}"
    elif isinstance(memory.index, PReg):
        inside = f"{base}, {_GPR[64][memory.index.index]}"
    elif memory.disp or "addr" in spec.kinds:
        inside = f"{base}, #{memory.disp}"
    else:
        inside = base
    return inside if "addr" in spec.kinds else f"[{inside}]"


def _operand(operand: Operand, spec: OperandSpec, prefix: str) -> str:
    if isinstance(operand, PReg):
        return _register(operand, spec)
    if isinstance(operand, Mem):
        return _memory(operand, spec, prefix)
    if isinstance(operand, int):
        return f"#{operand}"
    if isinstance(operand, Label):
        return f".L{operand.name}"
    raise TypeError(f"{operand} cannot be printed: not allocated")


def instruction(op: Op, row: Row, prefix: str) -> str:
    """Return one instruction."""
    texts: list[str] = []
    memory: list[str] = []
    for operand, spec in zip(op.operands, row.operands, strict=True):
        text = _operand(operand, spec, prefix)
        (memory if isinstance(operand, Mem) else texts).append(text)
    if row.key == "movi.zero":
        texts.append("#0")
    # The condition is a part of the mnemonic, and no form of it.
    mnemonic = row.key if row.flow is Flow.BRANCH else row.mnemonic
    return f"{mnemonic:<7} {', '.join((*texts, *memory))}".rstrip()


def label(symbol: str, name: str) -> str:
    """Return a definition of a label local to the function."""
    return f".L{symbol}_{name}:"


SYNTAX = Syntax(
    name="gas",
    title="GNU as, AArch64",
    suffix="S",
    template="gas_aarch64.S.j2",
    instruction=instruction,
    label=label,
    comment="//",
)
"""The syntax."""

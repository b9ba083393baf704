"""NASM (2.14 or later), Intel operand order."""

from ghashgen.arch.rows import OperandSpec, Row
from ghashgen.arch.syntax import Syntax
from ghashgen.arch.x86_64.nops import NOPS
from ghashgen.arch.x86_64.registers import register_name
from ghashgen.ir.program import Label, Mem, Op, Operand, PReg

_SIZES = {"m8": "byte "}
"""Size words where the register operand does not imply the size."""


def _memory(memory: Mem, spec: OperandSpec, prefix: str) -> str:
    if memory.symbol is not None:
        return f"[rel {prefix}_{memory.symbol}]"
    parts = []
    if isinstance(memory.base, PReg):
        parts.append(register_name(memory.base, ("q",), 0))
    if isinstance(memory.index, PReg):
        scale = f"*{memory.scale}" if memory.scale != 1 else ""
        parts.append(register_name(memory.index, ("q",), 0) + scale)
    text = " + ".join(parts)
    if memory.disp:
        text += f" {'+' if memory.disp > 0 else '-'} {abs(memory.disp)}"
    size = next((_SIZES[kind] for kind in spec.kinds if kind in _SIZES), "")
    return f"{size}[{text}]"


def _operand(operand: Operand, spec: OperandSpec, width: int, prefix: str) -> str:
    # In the order of how often they occur.
    if isinstance(operand, PReg):
        return register_name(operand, spec.kinds, width)
    if isinstance(operand, Mem):
        return _memory(operand, spec, prefix)
    if isinstance(operand, int):
        return f"0x{operand:02x}" if 0 <= operand < 256 else str(operand)
    if isinstance(operand, Label):
        return f".{operand.name}"
    raise TypeError(f"{operand} cannot be printed: not allocated")


def instruction(op: Op, row: Row, prefix: str) -> str:
    """Return one instruction; `prefix` begins the names of the kernel's constants."""
    if row.mnemonic == "nop":
        # The assembler chooses an encoding for a mnemonic; only bytes have a length for certain.
        data = NOPS[next(n for n in op.operands if isinstance(n, int))]
        return "db          " + ", ".join(f"0x{byte}" for byte in data.split())
    operands: list[str] = []
    for operand, spec in zip(op.operands, row.operands, strict=True):
        text = _operand(operand, spec, op.width, prefix)
        if "kz" in spec.kinds:
            operands[-1] += f"{{{text}}}{{z}}"
        else:
            operands.append(text)
    return f"{row.mnemonic:<11} {', '.join(operands)}".rstrip()


def label(symbol: str, name: str) -> str:
    """Return a definition of a label local to the function."""
    return f".{name}:"


SYNTAX = Syntax(
    name="nasm",
    title="NASM",
    suffix="asm",
    template="nasm.asm.j2",
    instruction=instruction,
    label=label,
    comment=";",
)
"""The syntax."""

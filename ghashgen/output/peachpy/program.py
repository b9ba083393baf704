"""A selected program as JSON, for the worker.

{"params": [[register, name], …], "constants": {name: 16 bytes in hexadecimal}, "blocks":
[[label, [[mnemonic, operand, …], …]], …]}. Operands, in Intel order:

    ["x", n]  xmm register n                ["i", value]  immediate
    ["q", n]  general register n, 64 bits   ["l", name]   label
    ["d", n]  its low 32 bits
    ["m", bytes or null, base, index, scale, displacement, constant or null]  memory

Registers are virtual; x and general registers are numbered apart.
"""

from typing import Any

from ghashgen.arch.rows import MEMORY_BYTES, Isa, OperandSpec
from ghashgen.ir.program import Label, Mem, Op, Operand, Program, RegClass, VReg

_VECTOR_WIDTH = 128


def encode(program: Program, isa: Isa) -> dict[str, Any]:
    """Return the program as JSON values; it must be selected and not yet allocated."""
    return {
        "params": [[param.index, param.name] for param in program.params],
        "constants": {name: item.data.hex() for name, item in sorted(program.constants.items())},
        "blocks": [[block.label, [_op(op, isa) for op in block.ops]] for block in program.blocks],
    }


def _op(op: Op, isa: Isa) -> list[Any]:
    row = isa.rows[op.code]
    pairs = zip(row.operands, op.operands, strict=True)
    return [row.mnemonic, *(_operand(operand, spec, op.width) for spec, operand in pairs)]


def _operand(operand: Operand, spec: OperandSpec, width: int) -> list[Any]:
    match operand:
        case VReg(cls=RegClass.VEC) if width == _VECTOR_WIDTH:
            return ["x", operand.index]
        case VReg(cls=RegClass.GPR):
            return ["q" if "q" in spec.kinds else "d", operand.index]
        case int():
            return ["i", operand]
        case Label():
            return ["l", operand.name]
        case Mem():
            size = next((MEMORY_BYTES[kind] for kind in spec.kinds if kind in MEMORY_BYTES), None)
            registers = [_number(operand.base), _number(operand.index)]
            return ["m", size, *registers, operand.scale, operand.disp, operand.symbol]
        case _:
            raise TypeError(f"{operand} is no operand of a selected program at {width} bits")


def _number(register: object) -> int | None:
    if register is None:
        return None
    if not isinstance(register, VReg):
        raise TypeError(f"{register} is allocated already")
    return register.index

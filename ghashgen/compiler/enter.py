"""enter: functions that are another one's code, entered with another number (`Builder.way`).

Such a function begins like the other, up to the label ENTERED, and jumps there. So frame, registers
and parameters are those that the code expects. Parameters that it does not have are zeros.
"""

from dataclasses import replace

from ghashgen.arch.core import Abi
from ghashgen.arch.rows import Isa
from ghashgen.compiler.frame import Function
from ghashgen.ir.program import ENTERED, WAY, Directive, Label, Line, Mem, Op, PReg, RegClass


def entering(real: str, code: Function, number: int, params: int, isa: Isa, abi: Abi) -> Function:
    """Return the function of so many parameters that is the framed function `real`."""
    stack = PReg(RegClass.GPR, isa.arch.stack_pointer)
    behind = code.stack_bytes + abi.stack_param(max(0, params - len(abi.params)))
    (const,), (jump,) = isa.lower["gpr_const"], isa.lower["jump"]
    lines: list[Line] = []
    for line in code.lines:
        if isinstance(line, Directive) and line.code == "label":
            break
        if isinstance(line, Op):
            place = line.operands[-1] if line.operands else None
            if line.comment == WAY:
                line = replace(line, operands=(line.operands[0], number))
            elif isinstance(place, Mem) and place.base == stack and place.disp >= behind:
                line = Op(const.row, (line.operands[0], 0), comment="no parameter of this function")
        lines.append(line)
    lines += [Op(jump.row, (Label(ENTERED, of=real),)), Directive("leave"), Directive("end")]
    return replace(code, lines=tuple(lines), constants=())

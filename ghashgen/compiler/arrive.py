"""arrive: loads parameters that the convention passes on the stack.

They are loaded at the entry, because the rest of a function uses only registers. Unused parameters
are not loaded. `recheck` replays which parameter comes from where.
"""

from dataclasses import replace

from ghashgen.arch.core import Abi
from ghashgen.ir.program import CODES, Argument, Op, Program


def arrive(program: Program, abi: Abi) -> Program:
    """Return the abstract program with a load for every parameter beyond the registers."""
    read = {reg for op in program.ops for reg in CODES[op.code].effects(op)[0]}
    loads = tuple(
        Op("gpr_load64", (param, Argument(index)), comment=f"{param.name}, from the stack")
        for index, param in enumerate(program.params[len(abi.params) :])
        if param in read
    )
    if not loads:
        return program
    first, *rest = program.blocks
    entry = replace(first, ops=(*loads, *first.ops))
    return replace(program, blocks=(entry, *rest))

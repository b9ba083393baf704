"""A toy syntax: NASM with mnemonics in upper case, which NASM takes as well."""

from dataclasses import replace

from ghashgen.arch.rows import Row
from ghashgen.arch.syntax import Names
from ghashgen.arch.x86_64.syntax.nasm import SYNTAX as NASM
from ghashgen.ir.program import Op


def instruction(op: Op, row: Row, names: Names) -> str:
    """Return one instruction."""
    mnemonic, space, operands = NASM.instruction(op, row, names).partition(" ")
    return mnemonic.upper() + space + operands


SYNTAX = replace(NASM, name="toy-upper", title="NASM, a toy", instruction=instruction)

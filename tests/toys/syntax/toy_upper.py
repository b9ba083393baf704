"""A toy syntax: NASM with mnemonics in upper case, which NASM takes as well."""

from dataclasses import replace

from ghashgen.ir import Op
from ghashgen.isa.core import Row
from ghashgen.syntax.nasm import SYNTAX as NASM


def instruction(op: Op, row: Row, prefix: str) -> str:
    """Return one instruction."""
    mnemonic, space, operands = NASM.instruction(op, row, prefix).partition(" ")
    return mnemonic.upper() + space + operands


SYNTAX = replace(NASM, name="toy-upper", title="NASM, a toy", instruction=instruction)

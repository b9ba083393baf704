"""Bytes for assemblers that do not know the instructions; each line names its instruction."""

from collections.abc import Sequence
from dataclasses import replace

from ghashgen.arch.syntax import Names
from ghashgen.arch.x86_64 import gas
from ghashgen.arch.x86_64.syntax.gas import SYNTAX as INTEL
from ghashgen.ir.program import Mem, Op

_DISPLACEMENT = 4


def encoded(op: Op, text: str, code: bytes, names: Names) -> str:
    """Return the bytes of an instruction. The place of a constant is left to the assembler."""
    symbols = [o.symbol for o in op.operands if isinstance(o, Mem) and o.symbol is not None]
    said = f"{INTEL.comment} {' '.join(text.split())}"
    if not symbols:
        return f"{_listed(code)}  {said}"
    # A displacement counts from the end of the instruction; only an immediate comes behind it.
    behind = sum(isinstance(operand, int) for operand in op.operands)
    at = len(code) - behind - _DISPLACEMENT
    (symbol,) = symbols
    parts = [
        _listed(code[:at]),
        f".long {gas.constant(symbol, names)} - . - {_DISPLACEMENT + behind}",
        *([_listed(code[-behind:])] if behind else []),
    ]
    return f"{'; '.join(parts)}  {said}"


def _listed(code: Sequence[int]) -> str:
    return ".byte " + ",".join(f"0x{byte:02x}" for byte in code)


SYNTAX = replace(INTEL, name="bytes", title="GNU as of any age: bytes", encoded=encoded)

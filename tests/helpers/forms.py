"""Every instruction row with each choice of operand kinds."""

import itertools
from dataclasses import dataclass

import pytest

from ghashgen.arch.registry import DEFAULT, isas
from ghashgen.arch.rows import Isa, Row
from ghashgen.ir.program import Label, Mem, Op, Operand, PReg, RegClass

WIDTHS = {
    "vextracti64x4": (512,),
    "vextracti64x2": (256,),
    "vextracti64x2.lane": (256, 512),
    "vinserti64x2": (256, 512),
    "vshufi64x2": (256, 512),
    "vextracti128": (256,),
    "vbroadcasti64x2": (256, 512),
    "vbroadcasti128": (256,),
    "vinserti128": (256,),
    "vperm2i128": (256,),
    "vpshufb.ymm": (256,),
    "vmovdqu.load256": (256,),
    "vmovdqu.store256": (256,),
    "vextracti128.store": (256,),
}
"""Widths of the forms that do not have every width of their set."""

MEMORY_BYTES = {"m128": 16, "m128a": 16, "m64": 8, "m32": 4, "m16": 2, "m8": 1}


@dataclass(frozen=True)
class Form:
    """One row with one choice of operand kinds, and operands for it."""

    isa: Isa
    row: Row
    kinds: tuple[str, ...]
    op: Op

    def __str__(self) -> str:
        return f"{self.isa.name}-{self.row.key}-{'-'.join(self.kinds)}-{self.op.width}"

    def memory_bytes(self, kind: str) -> int:
        """Bytes of memory behind an operand of this kind; 0 if it is none."""
        return self.op.width // 8 if kind == "mv" else MEMORY_BYTES.get(kind, 0)


def sample(row: Row, kinds: tuple[str, ...], width: int, first: int) -> Op:
    """Operands that are all different, but for those that an idiom names twice."""
    vectors = iter((first + 3, first + 9, first + 5, first + 14))
    generals = iter((1, 10, 6))
    operands: list[Operand] = []
    for spec, kind in zip(row.operands, kinds, strict=True):
        if spec.role == "n":
            operands.append(operands[0])
        elif kind in ("x", "v", "h"):
            operands.append(PReg(RegClass.VEC, next(vectors)))
        elif kind in ("q", "d"):
            operands.append(PReg(RegClass.GPR, next(generals)))
        elif kind in MEMORY_BYTES or kind in ("addr", "mv"):
            base, index = PReg(RegClass.GPR, 7), PReg(RegClass.GPR, 11)
            operands.append(Mem(base=base, index=index, disp=32, align=16))
        else:
            operands.append(3 if kind == "i" else Label("here"))
    return Op(row.key, tuple(operands), width)


def widths(isa: Isa, row: Row) -> tuple[int, ...]:
    if not any({"v", "h"} & set(spec.kinds) for spec in row.operands):
        return (128,)
    return WIDTHS.get(row.key, tuple(w for w in (128, 256, 512) if w <= 128 * isa.lanes))


FORMS = [
    Form(isa, row, kinds, sample(row, kinds, width, first))
    for isa in isas(DEFAULT).values()
    for row in isa.written.values()
    for width in widths(isa, row)
    # Registers above 15 make the assembler choose the EVEX form, the others VEX where there is one.
    for first in range(0, isa.vector_registers, 16)
    for kinds in itertools.product(*(spec.kinds for spec in row.operands))
]
each_isa = pytest.mark.parametrize("isa", isas(DEFAULT).values(), ids=lambda isa: isa.name)

"""A builder that records vector operations that are alike once."""

from ghashgen.ir.builder import Builder
from ghashgen.ir.program import Operand, VReg


class Once(Builder):
    """Records into another builder. No operand is assigned again, or is memory that is written."""

    def __init__(self, b: Builder) -> None:
        self.__dict__ = b.__dict__
        self._made: dict[tuple[str, tuple[Operand, ...], int], VReg] = {}

    def _vec(self, code: str, *operands: Operand, note: str = "", lanes: int = 0) -> VReg:
        alike = (code, operands, lanes)
        if alike not in self._made:
            self._made[alike] = super()._vec(code, *operands, note=note, lanes=lanes)
        return self._made[alike]

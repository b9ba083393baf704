"""The registers of AArch64 and their names (Arm ARM, DDI 0487, B1.2)."""

from collections.abc import Mapping
from types import MappingProxyType

from ghashgen.arch.core import RegisterFile
from ghashgen.ir.program import RegClass

SP = 31
"""The stack pointer's number in addresses and additions; elsewhere 31 is the zero register."""


def _numbered(stem: str, count: int) -> tuple[str, ...]:
    return tuple(f"{stem}{number}" for number in range(count))


GPR_NAMES = (*_numbered("x", SP), "sp")
"""General registers by hardware number."""

VECTOR_NAMES = _numbered("v", 32)
"""Vector registers by hardware number."""

REGISTERS: Mapping[RegClass, RegisterFile] = MappingProxyType(
    {
        RegClass.VEC: RegisterFile(
            names=VECTOR_NAMES,
            parts={128: _numbered("q", 32), 64: _numbered("d", 32), 32: _numbered("s", 32)},
        ),
        RegClass.GPR: RegisterFile(
            names=GPR_NAMES, parts={64: GPR_NAMES, 32: (*_numbered("w", SP), "wsp")}
        ),
    }
)
"""Every register file."""

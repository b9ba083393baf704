"""The registers of x86-64 and their names (Intel SDM vol. 1, section 3.4 and 14.1)."""

from collections.abc import Mapping
from types import MappingProxyType

from ghashgen.arch.core import RegisterFile
from ghashgen.ir.program import PReg, RegClass

RAX = 0
RSP = 4

GPR_NAMES = (
    *("rax", "rcx", "rdx", "rbx", "rsp", "rbp", "rsi", "rdi"),
    *("r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15"),
)
"""General registers by hardware number."""


def _numbered(stem: str, count: int, after: str = "") -> tuple[str, ...]:
    return tuple(f"{stem}{number}{after}" for number in range(count))


_OLD = GPR_NAMES[:8]
_HALVES = tuple(f"e{name[1:]}" for name in _OLD) + tuple(f"{name}d" for name in GPR_NAMES[8:])
_QUARTERS = tuple(name[1:] for name in _OLD) + tuple(f"{name}w" for name in GPR_NAMES[8:])
_BYTES = (
    *("al", "cl", "dl", "bl", "spl", "bpl", "sil", "dil"),
    *(f"{name}b" for name in GPR_NAMES[8:]),
)

REGISTERS: Mapping[RegClass, RegisterFile] = MappingProxyType(
    {
        RegClass.VEC: RegisterFile(
            names=_numbered("xmm", 32),
            parts={128: _numbered("xmm", 32), 256: _numbered("ymm", 32), 512: _numbered("zmm", 32)},
        ),
        RegClass.GPR: RegisterFile(
            names=GPR_NAMES, parts={64: GPR_NAMES, 32: _HALVES, 16: _QUARTERS, 8: _BYTES}
        ),
        RegClass.MASK: RegisterFile(names=_numbered("k", 8), parts={64: _numbered("k", 8)}),
    }
)
"""Every register file; a vector register is named by its low 128 bits."""

_VEC = RegClass.VEC
_NAMES = {cls: file.parts for cls, file in REGISTERS.items()}


def register_name(register: PReg, kinds: tuple[str, ...], width: int) -> str:
    """Return the assembler name of a register as an operand of these kinds."""
    parts = _NAMES[register.cls]
    if register.cls is _VEC:
        bits = 128 if "x" in kinds else width // 2 if "h" in kinds else width
    else:
        bits = 32 if "d" in kinds else 64
    return parts[bits][register.index]

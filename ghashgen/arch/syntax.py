"""The type of a syntax, and register names that all Intel-operand-order syntaxes share."""

from collections.abc import Callable
from dataclasses import dataclass

from ghashgen.arch.rows import Row
from ghashgen.arch.x86_64.abi import GPR_NAMES
from ghashgen.ir.program import Op, PReg, RegClass

NOPS = {
    1: "90",
    2: "66 90",
    3: "0f 1f 00",
    4: "0f 1f 40 00",
    5: "0f 1f 44 00 00",
    6: "66 0f 1f 44 00 00",
    7: "0f 1f 80 00 00 00 00",
    8: "0f 1f 84 00 00 00 00 00",
    9: "66 0f 1f 84 00 00 00 00 00",
}
"""The multi-byte NOP of so many bytes (Intel SDM vol. 2, NOP, Table 4-12)."""

_VEC = RegClass.VEC
_VECTOR = {128: "xmm", 256: "ymm", 512: "zmm"}


def register_name(register: PReg, kinds: tuple[str, ...], width: int) -> str:
    """Return the assembler name of a register as an operand of these kinds."""
    if register.cls is _VEC:
        bits = 128 if "x" in kinds else width // 2 if "h" in kinds else width
        return f"{_VECTOR[bits]}{register.index}"
    if register.cls is RegClass.MASK:
        return f"k{register.index}"
    name = GPR_NAMES[register.index]
    if "q" in kinds:
        return name
    return f"e{name[1:]}" if register.index < 8 else f"{name}d"


@dataclass(frozen=True)
class Syntax:
    """How one assembler wants its input."""

    name: str
    title: str
    suffix: str
    """File name suffix."""
    template: str
    """Envelope in templates/."""
    instruction: Callable[[Op, Row, str], str]
    """(operation, its row, symbol prefix) → text without indentation or comment."""
    label: Callable[[str, str], str]
    """(function symbol, label) → the label as it is defined."""
    comment: str
    """What starts a comment."""

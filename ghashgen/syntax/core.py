"""The type of a syntax, and register names that all Intel-operand-order syntaxes share."""

from collections.abc import Callable
from dataclasses import dataclass

from ghashgen.abi import GPR_NAMES
from ghashgen.ir import Op, PReg, RegClass
from ghashgen.isa.core import Row

_VECTOR = {128: "xmm", 256: "ymm", 512: "zmm"}


def register_name(register: PReg, kinds: tuple[str, ...], width: int) -> str:
    """Return the assembler name of a register as an operand of these kinds."""
    if register.cls is RegClass.VEC:
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

"""Registers of x86-64 by their numbers, and the type of the rows of instructions.

A vector register is four lanes of 128 bits.
"""

from collections.abc import Callable, Mapping
from typing import Any

from iced_x86 import Formatter, FormatterSyntax, Instruction, Register, RegisterExt

from ghashgen.verify.core.refutation import unsupported
from ghashgen.verify.machine.machine import Step

GPR_NAMES = (
    "rax", "rcx", "rdx", "rbx", "rsp", "rbp", "rsi", "rdi",
    "r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15",
)  # fmt: skip
RAX, RCX, RDX, RBX, RSP, RBP, RSI, RDI = range(8)

LANES = 4
"""128-bit lanes of a vector register."""

Builder = Callable[[Instruction], Step]
"""The semantics of an instruction, in all its forms."""


Rows = Mapping[str, Builder]
"""What instructions do. Names, with spaces between them, are mnemonics or forms as iced-x86 has
them (`ghashgen.verify.x86_64.rows.table`).
"""


_FORMATTER = Formatter(FormatterSyntax.NASM)


def text_of(instruction: Instruction) -> str:
    """Return an instruction in nasm syntax."""
    return str(_FORMATTER.format(instruction))


def gpr_index(register: Any) -> int:
    """Return the number 0..15 of a general register of any width; AH to BH are refused."""
    if not RegisterExt.is_gpr(register) or Register.AH <= register <= Register.BH:
        raise unsupported("a register of this kind here")
    return int(RegisterExt.number(RegisterExt.full_register(register)))


def is_vector(register: Any) -> bool:
    """Return whether a register is an xmm, ymm or zmm register."""
    return bool(RegisterExt.is_vector_register(register))


def vector_index(register: Any) -> int:
    """Return the number 0..31 of a vector register of any width."""
    if not is_vector(register):
        raise unsupported("a register of this kind here")
    return int(RegisterExt.number(register))


def is_mask(register: Any) -> bool:
    """Return whether a register is a mask register."""
    return bool(RegisterExt.is_k(register))


def mask_index(register: Any) -> int:
    """Return the number 0..7 of a mask register."""
    if not is_mask(register):
        raise unsupported("a register of this kind here")
    return int(RegisterExt.number(register))

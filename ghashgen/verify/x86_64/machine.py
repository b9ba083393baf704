"""Registers of x86-64 by their numbers, and the type of an instruction's row.

A vector register is four lanes of 128 bits.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from iced_x86 import Code, Formatter, FormatterSyntax, Instruction, Register, RegisterExt

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


@dataclass(frozen=True)
class Row:
    """The semantics of one instruction form."""

    code: int
    build: Builder
    manual: str
    """The section in volume 2 of Intel's Software Developer's Manual."""


def row_of(name: str, build: Builder, manual: str) -> Row:
    """Return a form's row by its name in iced-x86; AttributeError if there is none."""
    code: int = getattr(Code, name)
    return Row(code, build, manual)


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

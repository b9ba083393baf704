"""The machine that runs a kernel: registers, flags, memory; one decoded instruction at a time.

Control flow is concrete: lengths and pointers are numbers (or numbers with an unknown, in the
induction), data are lanes. A vector register is four lanes of 128 bits.
"""

from collections.abc import Callable
from dataclasses import dataclass

from iced_x86 import Formatter, FormatterSyntax, Instruction, Register

from ghashgen.verify.flags import UNKNOWN, Flags
from ghashgen.verify.memory import Memory
from ghashgen.verify.refutation import unsupported
from ghashgen.verify.terms import Lane, Terms
from ghashgen.verify.values import Value

GPR_NAMES = (
    "rax", "rcx", "rdx", "rbx", "rsp", "rbp", "rsi", "rdi",
    "r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15",
)  # fmt: skip
RAX, RCX, RDX, RBX, RSP, RBP, RSI, RDI = range(8)

RETURN = "return address"
"""The region of what a call pushes: an offset is a place in the code, END the caller's."""

END = -1
"""The next address after the return to the caller."""


class Machine:
    """The mutable state of one run."""

    def __init__(
        self,
        terms: Terms,
        memory: Memory,
        gpr: list[Value],
        vec: list[tuple[Lane, ...]],
        mask: list[Value],
    ) -> None:
        self.terms = terms
        self.memory = memory
        self.gpr = gpr
        self.vec = vec
        self.mask = mask
        self.flags: Flags = UNKNOWN
        self.upper_dirty = False
        """Whether bits above 127 of registers 0..15 may be in use (SDM vol. 1, 14.9)."""
        self.red_zone = 0
        """Bytes below the stack pointer that the ABI lets a leaf function use."""


def entry_machine(terms: Terms, memory: Memory) -> Machine:
    """Return a machine whose registers hold what the caller left in them."""
    return Machine(
        terms,
        memory,
        [terms.caller(name, 64) for name in GPR_NAMES],
        [tuple(terms.caller(f"zmm{i}[{j}]") for j in range(4)) for i in range(32)],
        [terms.caller(f"k{i}", 64) for i in range(8)],
    )


Step = Callable[[Machine], int | None]
"""Execute one instruction; return the next address if it is not the following one, -1 to end."""

Builder = Callable[[Instruction], Step]


@dataclass(frozen=True)
class Row:
    """The semantics of one instruction form."""

    code: int
    build: Builder
    manual: str
    """Where it stands in Intel's Software Developer's Manual, volume 2."""


_FORMATTER = Formatter(FormatterSyntax.NASM)


def text_of(instruction: Instruction) -> str:
    """Return an instruction in nasm syntax."""
    return str(_FORMATTER.format(instruction))


def gpr_index(register: int) -> int:
    """Return the number 0..15 of a general register of 32 or 64 bits, or of 8 or 16 bits."""
    for first in (Register.RAX, Register.EAX, Register.AX):
        if first <= register < first + 16:
            return register - first
    if Register.SPL <= register <= Register.R15L:
        return register - Register.SPL + 4
    if Register.AL <= register <= Register.BL:
        return register - Register.AL
    raise unsupported("a register that the checker does not model")


def vector_index(register: int) -> int:
    """Return the number 0..31 of a vector register of any width."""
    for first in (Register.XMM0, Register.YMM0, Register.ZMM0):
        if first <= register < first + 32:
            return register - first
    raise unsupported("a register that the checker does not model")


def is_vector(register: int) -> bool:
    """Return whether a register is an xmm, ymm or zmm register."""
    return Register.XMM0 <= register < Register.ZMM0 + 32

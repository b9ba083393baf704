"""The machine that runs a kernel: registers, flags, memory; one decoded instruction at a time.

Lengths and pointers are numbers, known or linear in unknowns; data are lanes. A vector register is
four lanes of 128 bits.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Final, TypeVar

from iced_x86 import Code, Formatter, FormatterSyntax, Instruction, Register, RegisterExt

from ghashgen.verify.core.linear import Facts
from ghashgen.verify.core.refutation import unsupported
from ghashgen.verify.core.term import Lane, Term
from ghashgen.verify.core.terms import Terms
from ghashgen.verify.core.values import Value
from ghashgen.verify.x86_64.flags import ENTRY, Flags
from ghashgen.verify.x86_64.memory import Memory

GPR_NAMES = (
    "rax", "rcx", "rdx", "rbx", "rsp", "rbp", "rsi", "rdi",
    "r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15",
)  # fmt: skip
RAX, RCX, RDX, RBX, RSP, RBP, RSI, RDI = range(8)

END = -1
"""The next address after the return to the caller."""


LANES = 4
"""128-bit lanes of a vector register."""

V = TypeVar("V")


class Registers(list[V]):
    """A register file that checks the width of every value written to it.

    So no row has to be trusted for the width of its result: a value that is too wide is refused.
    """

    def __init__(self, values: Iterable[V], valid: Callable[[V], bool]) -> None:
        super().__init__(values)
        self._valid = valid
        self.writes = 0
        """How often one has been written."""
        for index, value in enumerate(values):
            self[index] = value

    def __setitem__(self, index: int, value: V) -> None:  # type: ignore[override]
        """Write one register.

        Raises:
            Refutation: the value may have more bits than the register.
        """
        if not self._valid(value):
            raise unsupported(f"a row that writes more than its register holds: {value!r}")
        self.writes += 1
        super().__setitem__(index, value)


def _vector(lanes: tuple[Lane, ...]) -> bool:
    if len(lanes) != LANES:
        return False
    for lane in lanes:
        # A term has 128 bits or fewer.
        if type(lane) is not Term and (not isinstance(lane, int) or lane >> 128):
            return False
    return True


class Machine:
    """The mutable state of one run. The register files check what is written to them."""

    def __init__(
        self,
        terms: Terms,
        memory: Memory,
        gpr: Iterable[Value],
        vec: Iterable[tuple[Lane, ...]],
        mask: Iterable[Value],
    ) -> None:
        self.terms = terms
        self.memory = memory
        self.gpr: Final = Registers(list(gpr), lambda value: self.facts.fits(value, 64))
        self.vec: Final = Registers(list(vec), _vector)
        self.mask: Final = Registers(list(mask), self._mask)
        self.flags: Flags = ENTRY
        self.upper_dirty = False
        """Whether bits above 127 of registers 0..15 may be in use (SDM vol. 1, 14.9)."""
        self.red_zone = 0
        """Bytes below the stack pointer that the ABI lets a leaf function use."""

    @property
    def at(self) -> int:
        """The address of the current instruction."""
        return self.terms.at

    @property
    def facts(self) -> Facts:
        """What is known of the unknowns in its numbers."""
        return self.memory.facts

    def _mask(self, value: Value) -> bool:
        return isinstance(value, int | Term) and self.facts.fits(value, 64)


def entry_machine(terms: Terms, memory: Memory) -> Machine:
    """Return a machine whose registers hold what the caller left in them."""
    return Machine(
        terms,
        memory,
        [terms.caller(name, 64) for name in GPR_NAMES],
        [tuple(terms.caller(f"zmm{i}[{j}]") for j in range(LANES)) for i in range(32)],
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

"""The type of an architecture: everything that differs between machines, as one value.

A package of `ghashgen.arch` exports its value as `ARCH` and holds what the value is made of:

    ghashgen/arch/NAME/__init__.py    ARCH
    ghashgen/arch/NAME/sets/          instruction sets, one a file, each exports ISA
    ghashgen/arch/NAME/syntax/        syntaxes, one a file, each exports SYNTAX

An instruction set names the architecture that it belongs to (`Isa.arch`), so that passes, audit,
placement and rendering ask the value and know no machine. Which registers, which convention, how a
frame is made and what an instruction in bytes does: nobody else says.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property

from ghashgen.arch.decoder import Decoder
from ghashgen.arch.uarch import Uarch
from ghashgen.ir.program import Flow, Line, Mem, Op, RegClass, VReg


@dataclass(frozen=True)
class RegisterFile:
    """The registers of one class; a register is one, whatever part of it an instruction names."""

    names: tuple[str, ...]
    """By hardware number, as banners and audits name them."""
    parts: Mapping[int, tuple[str, ...]]
    """Assembler names by width in bits, each by hardware number."""
    free: tuple[int, ...] = ()
    """What a function may use at will, where no convention has a say: mask registers."""

    @property
    def stem(self) -> str:
        """What all names begin with, if a number is all that follows; "" otherwise."""
        stem = self.names[0].removesuffix("0")
        numbered = tuple(f"{stem}{number}" for number in range(len(self.names)))
        return stem if numbered == self.names else ""

    def listed(self, numbers: Iterable[int]) -> str:
        """Return registers in words: xmm0-3,7 where names have a stem, rax rcx otherwise."""
        found = tuple(numbers)
        if not found:
            return ""
        if self.stem:
            return self.stem + _ranges(found)
        return " ".join(self.names[number] for number in found)


def _ranges(numbers: tuple[int, ...]) -> str:
    """Return 0-3,7 for (0, 1, 2, 3, 7)."""
    parts: list[list[int]] = []
    for number in numbers:
        if parts and parts[-1][-1] == number - 1:
            parts[-1].append(number)
        else:
            parts.append([number])
    return ",".join(f"{run[0]}-{run[-1]}" if len(run) > 1 else f"{run[0]}" for run in parts)


@dataclass(frozen=True)
class Abi:
    """A calling convention; registers by hardware number."""

    name: str
    title: str
    params: tuple[int, ...]
    """General registers of the first integer and pointer parameters; the others are on the stack,
    8 bytes each."""
    volatile: tuple[int, ...]
    """General registers free to use, in the order to take them."""
    saved: tuple[int, ...]
    """General registers that the callee must restore, in the order to take them."""
    saved_vectors: tuple[int, ...]
    """Vector registers of which the callee must restore at most the low 128 bits."""
    stack_params_at: int
    """Bytes from the stack pointer on entry up to the first parameter on the stack."""
    format: str
    """The object format of the platform that has this convention, where none is named."""
    attribute: str = ""
    """What GCC and Clang call it, for functions of it where another is usual."""

    def stack_param(self, index: int) -> int:
        """Return where the parameter `index` on the stack is, from the stack pointer on entry."""
        return self.stack_params_at + STACK_PARAM_BYTES * index


STACK_PARAM_BYTES = 8
"""Bytes of a parameter on the stack, in every convention here."""


@dataclass(frozen=True)
class ObjectFormat:
    """An object file format, as assemblers name its parts."""

    name: str
    title: str
    rodata: str
    """Section of read-only constants."""
    symbol_prefix: str
    """What the platform's C compiler puts before a name."""
    constants: str
    """The directive of GNU as that opens the section of read-only constants."""
    local: str
    """What a label begins with that assemblers keep out of the symbol table."""
    unwind: str
    """How a stack is unwound: "cfi" by DWARF's tables, "seh" by those of Windows."""
    elf: bool
    """Whether symbols have a type and a size, and the notes of stack and CET exist."""


@dataclass(frozen=True)
class FrameCode:
    """How an architecture makes a stack frame; `compiler.frame` says which registers and size.

    Operations are in rows that every instruction set of the architecture has. `saved` are general
    registers by number, in the order in which they are saved.
    """

    saved_bytes: Callable[[tuple[int, ...]], int]
    """(saved) → bytes of stack that saving them takes."""
    size: Callable[[tuple[int, ...], int], int]
    """(saved, bytes needed) → bytes of the frame below them, such that the stack pointer is a
    multiple of 16 wherever bytes are needed."""
    caller_bytes: int
    """Bytes that a call pushes: the CFA lies so many above the stack pointer on entry."""
    enter: Callable[[tuple[int, ...], int], tuple[Line, ...]]
    """(saved, size) → the first operations of a function, and what each says to unwinders."""
    leave: Callable[[tuple[int, ...], int], tuple[Line, ...]]
    """(saved, size) → what stands before the return, likewise."""
    zero: Callable[[int], Op]
    """General register → the operation that zeroes it."""
    pad: Callable[[int], tuple[int, ...]]
    """Bytes of padding → lengths of instructions that do nothing, together as long."""


@dataclass(frozen=True)
class Jumps:
    """What jumps within a function are like where that depends on their place."""

    line: int
    """Bytes of a line of code whose end a jump should not touch."""
    short: int
    """Bytes of a jump to a target within reach."""
    reach: range
    """Displacements of a short jump, from its end."""
    near: Mapping[Flow, int]
    """Bytes of any other, by its kind."""


NewRegister = Callable[[], VReg]
"""Gives a new general register."""


def any_address(memory: Mem, kind: str, new: NewRegister) -> tuple[tuple[Op, ...], Mem]:
    """Return an address as it is: instructions can say them all."""
    del kind, new
    return (), memory


@dataclass(frozen=True)
class Arch:
    """An architecture."""

    name: str
    """The name of its package."""
    title: str
    registers: Mapping[RegClass, RegisterFile]
    elf_machine: str
    """What the header of its ELF objects says, as pyelftools names it."""
    stack_pointer: int
    """Its number among the general registers."""
    result: int
    """The general register in which a number is returned, in each of the conventions; none saves
    it."""
    abis: Mapping[str, Abi]
    """The first is what is meant where none is named."""
    formats: Mapping[str, ObjectFormat]
    """By the name that assemblers take; the first is what is run, proved and audited here."""
    syntax: str
    """The syntax that is meant where none is named."""
    features: Mapping[str, str]
    """The CPU features that kernels are told apart by, and how each is detected: what follows the
    name in its row of CPU_FEATURES, for the C in the folder of harness/ that has this name."""
    frame: FrameCode
    decoder: Decoder
    entry_align: int
    """Functions start at a multiple of so many bytes."""
    proved: bool = False
    """Whether `verify` and `check.sampled` follow its bytes; only such kernels are checked in."""
    jumps: Jumps | None = None
    """None where all are as long as they are, wherever they stand, and may stand anywhere."""
    uarches: Callable[[], Mapping[str, Uarch]] = dict
    """Tables of its cores by name; read when they are asked for."""
    address: Callable[[Mem, str, NewRegister], tuple[tuple[Op, ...], Mem]] = any_address
    """(address, kind of the operand, …) → operations in rows that compute of it what instructions
    cannot say, and the address that is left."""
    detection: str = ""
    """The file of that folder that detects them without the rest of the harness, for the emitted
    dispatcher; "" where there is none."""
    machines: tuple[str, ...] = ()
    """What `platform.machine` calls it."""
    triple: str = ""
    """What the names of its cross tools begin with."""
    emulator: tuple[str, ...] = ()
    """The command that runs its Linux programs where the CPU is another; () where there is none."""

    def __post_init__(self) -> None:
        for abi in self.abis.values():
            if self.result not in abi.volatile:
                raise ValueError(f"{self.name}: {abi.name} returns in a register that it saves")

    @property
    def default_abi(self) -> Abi:
        """The convention that is meant where none is named."""
        return next(iter(self.abis.values()))

    @property
    def default_format(self) -> ObjectFormat:
        """The object format whose objects are run, proved and audited."""
        return next(iter(self.formats.values()))

    @cached_property
    def numbers(self) -> Mapping[str, tuple[RegClass, int]]:
        """The file and the number of every register, by the name that audits give it."""
        return {
            name: (cls, number)
            for cls, file in self.registers.items()
            for number, name in enumerate(file.names)
        }

    def order(self, name: str) -> tuple[int, int, str]:
        """Return where a register stands in a list.

        Vector registers by number, general registers by name, the short ones first; then the rest.
        """
        cls, number = self.numbers.get(name, (None, 0))
        if cls is RegClass.VEC:
            return 0, number, ""
        return (1 if cls is RegClass.GPR else 2), len(name), name

    def listed(self, names: Iterable[str]) -> str:
        """Return registers in words, vector registers as ranges: xmm0-3,7, rax rcx."""
        vectors: list[int] = []
        others: list[str] = []
        for name in names:
            cls, number = self.numbers.get(name, (None, 0))
            if cls is RegClass.VEC:
                vectors.append(number)
            else:
                others.append(name)
        parts = self.registers[RegClass.VEC].listed(vectors), " ".join(others)
        return ", ".join(part for part in parts if part)

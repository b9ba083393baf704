"""The type of an architecture: everything that differs between machines, as one value.

A package of `ghashgen.arch` exports its value as `ARCH` and holds its parts:

    ghashgen/arch/NAME/__init__.py    ARCH
    ghashgen/arch/NAME/sets/          instruction sets, one in each file, exporting ISA
    ghashgen/arch/NAME/syntax/        syntaxes, one in each file, exporting SYNTAX

An instruction set names its architecture (`Isa.arch`). So passes, audit, placement and rendering
ask the value about registers, conventions, frames and the effects of instructions, and know no
machine by name.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from ghashgen.arch.decoder import Decoder
from ghashgen.arch.uarch import Label, Uarch
from ghashgen.ir.program import Flow, Line, Mem, Op, RegClass, VReg


@dataclass(frozen=True)
class RegisterFile:
    """The registers of one class. Parts of a register count as the same register."""

    names: tuple[str, ...]
    """Names by hardware number, for banners and audits."""
    parts: Mapping[int, tuple[str, ...]]
    """Assembler names by width in bits, each by hardware number."""

    @property
    def stem(self) -> str:
        """The common beginning of all names, if only a number follows; "" otherwise."""
        stem = self.names[0].removesuffix("0")
        numbered = tuple(f"{stem}{number}" for number in range(len(self.names)))
        return stem if numbered == self.names else ""

    def listed(self, numbers: Iterable[int]) -> str:
        """Return registers in words: xmm0-3,7 if names have a stem, otherwise rax rcx."""
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
    """General registers of the first integer and pointer parameters; the others are on the stack, 8
    bytes each.
    """
    volatile: tuple[int, ...]
    """Free general registers, in the order to take them."""
    saved: tuple[int, ...]
    """General registers that the callee must restore, in the order to take them."""
    saved_vectors: tuple[int, ...]
    """Vector registers of which the callee must restore at most the low 128 bits."""
    stack_params_at: int
    """Offset of the first stack parameter from the stack pointer on entry, in bytes."""
    format: str
    """The default object format: that of the platform with this convention."""
    attribute: str = ""
    """GCC's and Clang's attribute for functions with this convention on other platforms."""
    plain_epilogues: bool = False
    """Whether unwinders know an epilogue by its instructions, so no padding may stand in one."""

    def stack_param(self, index: int) -> int:
        """Return the offset of stack parameter `index` from the stack pointer on entry."""
        return self.stack_params_at + STACK_PARAM_BYTES * index


STACK_PARAM_BYTES = 8
"""Bytes of a stack parameter, in every convention here."""


@dataclass(frozen=True)
class ObjectFormat:
    """An object file format, with assemblers' names for its parts."""

    name: str
    title: str
    rodata: str
    """Section of read-only constants."""
    symbol_prefix: str
    """What the platform's C compiler puts before a name."""
    constants: str
    """GNU as's directive that opens the section of read-only constants."""
    local: str
    """The beginning of labels that assemblers keep out of the symbol table."""
    unwind: str
    """The kind of unwind information: "cfi" for DWARF's tables, "seh" for Windows'."""
    elf: bool
    """Whether symbols have a type and a size, and the stack and CET notes exist."""


@dataclass(frozen=True)
class FrameCode:
    """How an architecture makes a stack frame; `compiler.frame` decides registers and size.

    Operations use rows that every instruction set of the architecture has. `saved` are general
    registers by number, in the order in which they are saved.
    """

    saved_bytes: Callable[[tuple[int, ...]], int]
    """(saved) → bytes of stack for saving them."""
    size: Callable[[tuple[int, ...], int], int]
    """(saved, bytes needed) → bytes of the frame below them; the stack pointer is a multiple of 16
    if any are needed.
    """
    caller_bytes: int
    """Bytes that a call pushes: the distance of the CFA above the stack pointer on entry."""
    enter: Callable[[tuple[int, ...], int], tuple[Line, ...]]
    """(saved, size) → the first operations of a function, with their unwind directives."""
    leave: Callable[[tuple[int, ...], int], tuple[Line, ...]]
    """(saved, size) → the operations before the return, likewise."""
    zero: Callable[[int], Op]
    """General register → the operation that zeroes it."""
    pad: Callable[[int], tuple[int, ...]]
    """Bytes of padding → lengths of do-nothing instructions that add up to it."""


@dataclass(frozen=True)
class Jumps:
    """How jumps within a function depend on their place."""

    line: int
    """Bytes of a line of code whose end a jump should not touch."""
    short: int
    """Length of a jump to a target within reach."""
    reach: range
    """Displacements of a short jump, from its end."""
    near: Mapping[Flow, int]
    """Length of any other jump, by kind."""


NewRegister = Callable[[], VReg]
"""Returns a new general register."""


def any_address(memory: Mem, kind: str, new: NewRegister) -> tuple[tuple[Op, ...], Mem]:
    """Return the address unchanged: instructions can express every address."""
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
    """The machine in its ELF headers, by the standard's name."""
    stack_pointer: int
    """Its number among the general registers."""
    result: int
    """The general register of returned numbers, in each convention; none saves it."""
    abis: Mapping[str, Abi]
    """The first is the default."""
    formats: Mapping[str, ObjectFormat]
    """By assemblers' names; the first is what is run, proved and audited here."""
    syntax: str
    """The default syntax."""
    features: Mapping[str, str]
    """The CPU features that distinguish kernels, each with its detection: the rest of its row in
    CPU_FEATURES after the name, for the C code in the folder of harness/ with this name.
    """
    frame: FrameCode
    load_decoder: Callable[[], Decoder]
    """Imports its decoder, whose library nothing needs that reads no bytes."""
    entry_align: int
    """Alignment of functions in bytes."""
    proved: bool = False
    """Whether `verify` and `check.sampled` can follow its bytes; only such kernels are checked
    in.
    """
    jumps: Jumps | None = None
    """None if the length of jumps does not depend on their place and they may be anywhere."""
    uarches: Callable[[], Mapping[str, Uarch]] = dict
    """Tables of its cores by name; read on demand."""
    labels: Callable[[], Mapping[str, Label]] = dict
    """The labels of these tables by name, which are quick to read."""
    address: Callable[[Mem, str, NewRegister], tuple[tuple[Op, ...], Mem]] = any_address
    """(address, kind of the operand, …) → rows that compute what instructions cannot express, and
    the remaining address.
    """
    detection: str = ""
    """The file of that folder that detects features without the rest of the harness, for the
    emitted dispatcher; or "".
    """
    cpuid: Mapping[str, str] = field(default_factory=dict)
    """Where CPUID has each feature, in words, for the header of a folder."""
    machines: tuple[str, ...] = ()
    """Its names in `platform.machine`."""
    triple: str = ""
    """The beginning of its cross tools' names."""
    emulator: tuple[str, ...] = ()
    """The command that runs its Linux programs on other CPUs; () if there is none."""

    def __post_init__(self) -> None:
        for abi in self.abis.values():
            if self.result not in abi.volatile:
                raise ValueError(f"{self.name}: {abi.name} returns in a register that it saves")

    @property
    def default_abi(self) -> Abi:
        """The default convention."""
        return next(iter(self.abis.values()))

    @property
    def default_format(self) -> ObjectFormat:
        """The object format whose objects are run, proved and audited."""
        return next(iter(self.formats.values()))

    @cached_property
    def decoder(self) -> Decoder:
        """The decoder of its instructions."""
        return self.load_decoder()

    @cached_property
    def numbers(self) -> Mapping[str, tuple[RegClass, int]]:
        """The file and number of every register, by its name in audits."""
        return {
            name: (cls, number)
            for cls, file in self.registers.items()
            for number, name in enumerate(file.names)
        }

    def order(self, name: str) -> tuple[int, int, str]:
        """Return the sort key of a register in a list.

        Vector registers come first, by number, then general registers by name, short ones first;
        then
        the rest.
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

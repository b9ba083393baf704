"""Control flow: the general registers of a function, computed as numbers.

For a fixed length, `update` takes one path through its code at fixed addresses, unless data decide
it. This module walks that path. It turns straight runs of instructions into Python functions on the
sixteen general registers. Whatever was loaded from data, or moved out of a vector register, is
None, and anything computed with None (a branch, an address, a mask, a sum) is refused. So a path
that is walked to its end is the path of every key, state and message of that length.

What vector instructions do to data along this path is for `degrees`.
"""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import takewhile
from typing import Any

from iced_x86 import (
    Decoder,
    FlowControl,
    Instruction,
    MemorySizeExt,
    Mnemonic,
    OpKind,
    Register,
    RegisterExt,
)

from ghashgen.check.sampled.numbers import (
    COMPARE,
    CONDITIONS,
    FUNCTIONS,
    MASK,
    ONE,
    RBP,
    RSP,
    TWO,
    Registers,
)
from ghashgen.run.emulate.image import Image
from ghashgen.support.errors import GhashgenError

NO_REGISTER = int(Register.NONE)
"""The decoder's number for no register; its stubs would take it for a literal."""

_M64, _M32 = (1 << 64) - 1, (1 << 32) - 1


class Refused(GhashgenError):  # noqa: N818 - a refusal, like its base
    """The degree of a function cannot be determined."""

    def __init__(self, where: str, why: str) -> None:
        super().__init__(f"{where}: {why}", "no bound is known for such code: it cannot be sampled")


def name_of(instruction: Instruction) -> str:
    """Return the mnemonic in lower case, such as "vpxor"."""
    return str(_NAMES[instruction.mnemonic])


_NAMES = {
    value: name.lower()
    for name, value in vars(Mnemonic).items()
    if isinstance(value, int) and not name.startswith("_")
}

IDLE = frozenset({"endbr64", "nop", "vzeroupper"})
"""Instructions that change no number. (`degrees` handles vzeroupper.)"""

MASKS = frozenset({"kmovq", "kmovd", "kmovw", "kmovb"})

_IMMEDIATES = {
    OpKind.IMMEDIATE8, OpKind.IMMEDIATE32, OpKind.IMMEDIATE64, OpKind.IMMEDIATE8TO32,
    OpKind.IMMEDIATE8TO64, OpKind.IMMEDIATE32TO64,
}  # fmt: skip


class Loads(dict[int, int]):
    """The class of each read, by address << SIZE_BITS | size."""

    def __missing__(self, key: int) -> int:
        self[key] = met = self.find(key >> SIZE_BITS, key & (1 << SIZE_BITS) - 1)
        return met

    def find(self, address: int, size: int) -> int:
        """Return the class of `size` bytes at an address."""
        raise NotImplementedError


SIZE_BITS = 7


class Memory:
    """The memory that stores write; a class of memory is a small number or an address."""

    def store(self, address: int, size: int) -> int:
        """Return the class of bytes written that are not kept as a number."""
        raise NotImplementedError

    def number(self, address: int, size: int) -> int | None:
        """Return what was stored by `keep`, or None for data."""
        raise NotImplementedError

    def keep(self, address: int, size: int, value: int | None) -> int:
        """Keep a number; return the class of the bytes."""
        raise NotImplementedError


Step = Callable[[Registers, Loads, Memory, list[int]], int]
"""Runs a block: changes registers and memory, appends the class of every access in order, and
returns the address of the next instruction.
"""


@dataclass(frozen=True, eq=False)
class Block:
    """A straight run of instructions up to a branch, a call or a return."""

    instructions: tuple[Instruction, ...]
    step: Step


_PREFIXES = frozenset(b"\x26\x2e\x36\x3e\x64\x65\x66\x67\xf0\xf2\xf3")


def _sized(code: bytes) -> bool:
    """Return whether 66h is among an instruction's prefixes."""
    return 0x66 in takewhile(_PREFIXES.__contains__, code)


class Code:
    """The code of an image; its blocks are made when first met."""

    def __init__(self, image: Image) -> None:
        self._image = image
        self._blocks: dict[int, Block] = {}

    def block(self, address: int) -> Block:
        """Return the block at an address.

        Raises:
            Refused: there is no code, or an instruction is not known here.
        """
        block = self._blocks.get(address)
        if block is None:
            block = self._blocks[address] = self._make(address)
        return block

    def _make(self, address: int) -> Block:
        segment = self._image.segment_at(address)
        if segment is None or segment.kind != "x":
            raise Refused(f"{address:#x}", "control leaves the code")
        decoder = Decoder(64, segment.content[address - segment.address :], ip=address)
        run: list[Instruction] = []
        lines: list[str] = []
        for instruction in decoder:
            if not instruction:
                raise Refused(f"{instruction.ip:#x}", "no instruction")
            at = instruction.ip - segment.address
            if instruction.flow_control != FlowControl.NEXT and _sized(segment.content[at:]):
                # Intel ignores the prefix, AMD does not.
                raise Refused(f"{instruction.ip:#x}", "a branch with an operand-size prefix")
            run.append(instruction)
            lines += _Writer(instruction).lines()
            if instruction.flow_control != FlowControl.NEXT:
                break
        else:
            raise Refused(f"{address:#x}", "the code ends without a return")
        body = "".join(f"    {line}\n" for line in lines)
        scope: dict[str, object] = dict(FUNCTIONS)
        # The text is built only from decoded fields: register numbers, immediates, displacements.
        exec(f"def step(r, load, memory, met):\n{body}", scope)
        step: Step = scope["step"]  # type: ignore[assignment]
        return Block(tuple(run), step)


class _Writer:
    """Writes the control part of one instruction as Python."""

    def __init__(self, instruction: Instruction) -> None:
        self.i = instruction
        self.name = name_of(instruction)
        if instruction.segment_prefix != NO_REGISTER:
            raise self.refused("an address in another segment")

    def refused(self, why: str) -> Refused:
        return Refused(f"{self.i.ip:#x}", f"{self.name}: {why}")

    def lines(self) -> list[str]:
        """Return the statements.

        Raises:
            Refused: the instruction or its form is not known here.
        """
        i = self.i
        if i.flow_control != FlowControl.NEXT:
            return self._branch()
        if self.name in IDLE:
            return []
        if any(self._is_vector(k) for k in range(i.op_count)):
            return self._vector()
        if self.name in MASKS and RegisterExt.is_k(i.op_register(0)):
            return [f"r[{MASK + RegisterExt.number(i.op_register(0))}] = {self._read(1)} + 0"]
        return self._general()

    def _is_vector(self, k: int) -> bool:
        return self.i.op_kind(k) == OpKind.REGISTER and RegisterExt.is_vector_register(
            self.i.op_register(k)
        )

    def address(self) -> str:
        """Return the address of the memory operand as an expression."""
        i = self.i
        if i.is_ip_rel_memory_operand:
            return str(i.ip_rel_memory_address & _M64)
        terms = [str(i.memory_displacement & _M64)]
        if i.memory_base != NO_REGISTER:
            terms.append(f"r[{self._number(i.memory_base)}]")
        if i.memory_index != NO_REGISTER:
            terms.append(f"r[{self._number(i.memory_index)}] * {i.memory_index_scale}")
        return f"({' + '.join(terms)}) & {_M64}"

    def _number(self, register: Any) -> int:
        if not RegisterExt.is_gpr64(register):
            raise self.refused("an address of fewer than 64 bits")
        return RegisterExt.number(register)

    def _bits(self, k: int) -> int:
        i = self.i
        if i.op_kind(k) != OpKind.REGISTER:
            raise self.refused("an operand of another kind")
        register = i.op_register(k)
        if RegisterExt.is_gpr64(register):
            return 64
        if RegisterExt.is_gpr32(register):
            return 32
        raise self.refused("a register of fewer than 32 bits")

    def _read(self, k: int) -> str:
        i = self.i
        if i.op_kind(k) in _IMMEDIATES:
            value = i.immediate(k) & _M64
            return str(value & _M32 if self._bits(0) == 32 else value)
        register = f"r[{RegisterExt.number(i.op_register(k))}]"
        return register if self._bits(k) == 64 else f"({register} & {_M32})"

    def _to(self, k: int) -> str:
        self._bits(k)
        return f"r[{RegisterExt.number(self.i.op_register(k))}]"

    def _size(self) -> int:
        size = int(MemorySizeExt.size(self.i.memory_size))
        if not 0 < size < 1 << SIZE_BITS:
            raise self.refused("an access of unknown size")
        return size

    def _touched(self) -> str:
        """Return how many bytes a load touches; masked-out elements are not read."""
        i, size = self.i, self._size()
        if i.op_mask == NO_REGISTER:
            return str(size)
        element = int(MemorySizeExt.element_size(i.memory_size))
        mask = f"r[{MASK + RegisterExt.number(i.op_mask)}]"
        return f"({mask} & {(1 << size // element) - 1}).bit_length() * {element}"

    @staticmethod
    def _load(address: str, size: str) -> str:
        return f"met.append(load[({address}) << {SIZE_BITS} | {size}])"

    def _vector(self) -> list[str]:
        i = self.i
        if i.op_mask != NO_REGISTER:
            mask = f"r[{MASK + RegisterExt.number(i.op_mask)}] + 0"
            return [mask, *self._vector_access()]
        return self._vector_access()

    def _vector_access(self) -> list[str]:
        i = self.i
        for k in range(i.op_count):
            if i.op_kind(k) == OpKind.MEMORY:
                if k == 0:
                    return [f"met.append(memory.store({self.address()}, {self._size()}))"]
                return [self._load(self.address(), self._touched())]
        if i.op_kind(0) == OpKind.REGISTER and RegisterExt.is_gpr(i.op_register(0)):
            return [f"{self._to(0)} = None"]
        return []

    def _general(self) -> list[str]:
        i, name = self.i, self.name
        kinds = [i.op_kind(k) for k in range(i.op_count)]
        if name in ("mov", "movzx") and kinds[1:] == [OpKind.MEMORY]:
            read = f"memory.number(a, {self._size()})"
            load = self._load("a", str(self._size()))
            return [f"a = {self.address()}", load, f"{self._to(0)} = {read}"]
        if name == "mov" and kinds == [OpKind.MEMORY, OpKind.REGISTER] and self._bits(1) == 64:
            kept = f"memory.keep({self.address()}, 8, {self._read(1)})"
            return [f"met.append({kept})"]
        if name == "push" and self._bits(0) == 64:
            kept = f"memory.keep(r[{RSP}], 8, {self._read(0)})"
            return [f"r[{RSP}] -= 8", f"met.append({kept})"]
        if name == "pop" and self._bits(0) == 64:
            load = self._load(f"r[{RSP}]", "8")
            return [load, f"r[{RSP}] += 8", f"{self._to(0)} = memory.number(r[{RSP}] - 8, 8)"]
        if name == "leave":
            load = self._load(f"r[{RBP}]", "8")
            return [load, f"r[{RSP}] = r[{RBP}] + 8", f"r[{RBP}] = memory.number(r[{RBP}], 8)"]
        if name == "lea" and self._bits(0) == 64:
            return [f"{self._to(0)} = {self.address()}"]
        if OpKind.MEMORY in kinds:
            raise self.refused("memory as an operand")
        return self._arithmetic()

    def _arithmetic(self) -> list[str]:
        i, name = self.i, self.name
        if i.op_count == 0:
            raise self.refused("an instruction that is not on the list")
        n = self._bits(0)
        if name == "mov":
            return [f"{self._to(0)} = {self._read(1)}"]
        same = i.op_kind(1) == OpKind.REGISTER and i.op_register(0) == i.op_register(1)
        if name == "xor" and same:
            return [f"{self._to(0)} = LOGIC(r, 0, {n})"]
        if name == "bzhi":
            a, b = self._read(1), self._read(2)
            return [f"{self._to(0)} = BZHI(r, {a}, {b}, {n})"]
        if name in ONE and i.op_count == 1:
            return [f"{self._to(0)} = {ONE[name].format(a=self._read(0), n=n)}"]
        if name in ("shl", "shr") and i.op_kind(1) not in _IMMEDIATES:
            raise self.refused("a count in a register")
        operands = {"a": self._read(0), "b": self._read(1), "n": n} if i.op_count == 2 else {}
        if name in TWO and operands:
            return [f"{self._to(0)} = {TWO[name].format(**operands)}"]
        if name in COMPARE and operands:
            return [COMPARE[name].format(**operands)]
        raise self.refused("an instruction that is not on the list")

    def _branch(self) -> list[str]:
        i, name = self.i, self.name
        target, after = i.near_branch_target, i.next_ip
        match i.flow_control:
            case FlowControl.RETURN if name == "ret" and i.op_count == 0:
                return [f"r[{RSP}] += 8", f"return memory.number(r[{RSP}] - 8, 8)"]
            case FlowControl.UNCONDITIONAL_BRANCH if name == "jmp":
                return [f"return {target}"]
            case FlowControl.CALL if name == "call":
                return [
                    f"r[{RSP}] -= 8",
                    f"met.append(memory.keep(r[{RSP}], 8, {after}))",
                    f"return {target}",
                ]
            case FlowControl.CONDITIONAL_BRANCH if name.removeprefix("j") in CONDITIONS:
                condition = CONDITIONS[name.removeprefix("j")]
                return [f"return {target} if {condition} else {after}"]
        raise self.refused("a branch that is not on the list")

"""Instructions of AArch64 in bytes, by capstone: what they are, read, write and need."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from ghashgen.arch.aarch64.features import NEEDED
from ghashgen.arch.aarch64.mnemonics import BRANCHES, MNEMONICS, Mnemonic
from ghashgen.arch.decoder import FLAGS, Access, Effect, Ties
from ghashgen.ir.program import Flow

BYTES = 4
"""Length of every instruction."""
_SIZES = {"q": 16, "v": 16, "d": 8, "s": 4, "x": 8, "w": 4}
"""Bytes of a register by the first letter of its name."""
_OTHER_NAMES = {"fp": "x29", "lr": "x30", "wsp": "sp"}
_ZERO = ("xzr", "wzr")
_PAIRS = ("ldp", "stp")


@dataclass(frozen=True)
class Instruction:
    """One instruction: capstone's, and what its context adds."""

    at: int
    native: Any
    constant: bool = False
    """Whether its address begins with ADRP, and so is not a caller's."""

    def __str__(self) -> str:
        return f"{self.native.mnemonic} {self.native.op_str}".strip()


_REGISTER, _IMMEDIATE, _MEMORY = 1, 2, 3
"""Kinds of operands, as capstone numbers them (ARM64_OP_REG and so on)."""


@cache
def _capstone() -> Any:
    """Return the decoder, imported late because the library is large and mostly not needed."""
    from capstone import CS_ARCH_ARM64, CS_MODE_ARM, Cs

    decoder = Cs(CS_ARCH_ARM64, CS_MODE_ARM)
    decoder.detail = True
    return decoder


def _whole(name: str) -> str:
    """Return the whole register that a name denotes a part of."""
    name = _OTHER_NAMES.get(name, name)
    if name == "sp":
        return name
    return ("x" if name[0] in "xw" else "v") + name[1:]


def _name(native: Any, register: int) -> str:
    return str(native.reg_name(register))


def _known(instruction: Instruction) -> Mnemonic:
    found = MNEMONICS.get(instruction.native.mnemonic)
    if found is None:
        raise ValueError(f"{instruction}: not an instruction of any kernel")
    return found


def _registers(instruction: Instruction) -> Iterator[tuple[str, str]]:
    """Yield (role, written name) of every register operand except the zero register."""
    native = instruction.native
    for role, operand in zip(_known(instruction).roles, native.operands, strict=False):
        if operand.type == _REGISTER and (name := _name(native, operand.reg)) not in _ZERO:
            if role == "w" and operand.vector_index >= 0:
                raise ValueError(f"{instruction}: a write to a part of a register")
            yield role, name


def _addresses(instruction: Instruction) -> Iterator[Any]:
    return (operand for operand in instruction.native.operands if operand.type == _MEMORY)


def _immediate(operand: Any) -> int:
    # An immediate's only shift is LSL #12; without one, its value is 0.
    return int(operand.imm) << int(operand.shift.value)


class AArch64Decoder:
    """Reads AArch64, see `arch.decoder.Decoder`; an instruction is an `Instruction`."""

    def decode(self, code: bytes) -> Mapping[int, Instruction]:
        """Return every instruction by offset, including padding between functions.

        Raises:
            ValueError: the bytes contain something else.
        """
        found = {native.address: Instruction(native.address, native) for native in self._all(code)}
        if len(found) * BYTES != len(code):
            raise ValueError("bytes that are not an AArch64 instruction")
        targets = {
            self.target(instruction)
            for instruction in found.values()
            if instruction.native.mnemonic in (*BRANCHES, "b")
        }
        return self._constants(found, targets)

    def _all(self, code: bytes) -> Iterator[Any]:
        return iter(_capstone().disasm(code, 0))

    def _constants(
        self, found: Mapping[int, Instruction], targets: set[int]
    ) -> dict[int, Instruction]:
        """Mark instructions that read through a register with a page of the file, wherever it came
        from.

        Such a register is forgotten at a label, at a possible jump, and when it is written.
        """
        pages: set[str] = set()
        out = {}
        for at, instruction in found.items():
            name = instruction.native.mnemonic
            if at in targets:
                pages = set()
            bases = {
                _whole(_name(instruction.native, operand.mem.base))
                for operand in _addresses(instruction)
            }
            out[at] = Instruction(at, instruction.native, bool(bases & pages))
            if name not in MNEMONICS or name in (*BRANCHES, "b", "ret"):
                pages = set()
                continue
            written = {_whole(each) for role, each in _registers(instruction) if role == "w"}
            pages = pages - written | (written if name == "adrp" else set())
        return out

    def length(self, instruction: Instruction) -> int:
        """Return the length in bytes."""
        del instruction
        return BYTES

    def offset(self, instruction: Instruction) -> int:
        """Return its place in the code."""
        return instruction.at

    def mnemonic(self, instruction: Instruction) -> str:
        """Return the mnemonic in lower case."""
        return str(instruction.native.mnemonic)

    def flow(self, instruction: Instruction) -> Flow:
        """Return where control may go from here.

        Raises:
            ValueError: the instruction is not known.
        """
        _known(instruction)
        name = instruction.native.mnemonic
        if name in BRANCHES:
            return Flow.BRANCH
        return {"b": Flow.JUMP, "ret": Flow.RETURN}.get(name, Flow.NEXT)

    def target(self, instruction: Instruction) -> int:
        """Return the offset that a branch or a jump goes to."""
        return int(instruction.native.operands[-1].imm)

    def audit_class(self, instruction: Instruction) -> str:
        """Return its audit class; instructions on only general registers are other."""
        known = _known(instruction)
        if known.audit_class in ("load", "store"):
            return known.audit_class
        names = [name for _, name in _registers(instruction)]
        if not names or any(name[0] in "xw" or name == "sp" for name in names):
            return "other"
        element = any(operand.vector_index >= 0 for operand in instruction.native.operands)
        return "shuffle" if element else known.audit_class

    def reorders(self, instruction: Instruction) -> bool:
        """Return whether it only reorders the bytes of a block, or the bits of each byte.

        Computing the order for TBL counts too.
        """
        return instruction.constant or instruction.native.mnemonic in ("tbl", "rbit", "adrp")

    def has_memory(self, instruction: Instruction) -> bool:
        """Return whether it has a memory operand."""
        return any(True for _ in _addresses(instruction))

    def effect(self, instruction: Instruction) -> Effect:
        """Return what it reads and writes, except sp.

        Raises:
            ValueError: the instruction is not known, writes a part of a register, or accesses the
            stack
                at an unknown place.
        """
        known, native = _known(instruction), instruction.native
        reads: set[str] = set()
        writes: set[str] = set()
        for role, name in _registers(instruction):
            (writes if role == "w" else reads).add(_whole(name))
        memory = []
        for operand in _addresses(instruction):
            address = [
                _whole(_name(native, register))
                for register in (operand.mem.base, operand.mem.index)
                if register
            ]
            reads |= set(address)
            memory.append(self._access(instruction, operand, address))
        if "r" in known.flags:
            reads.add(FLAGS)
        if "w" in known.flags:
            writes.add(FLAGS)
        written = frozenset(writes - {"sp"})
        return Effect(frozenset(reads - {"sp"}), written, written, tuple(memory))

    def _access(self, instruction: Instruction, operand: Any, address: list[str]) -> Access:
        native, on_stack = instruction.native, "sp" in address
        if native.writeback or (on_stack and len(address) > 1):
            raise ValueError(f"{instruction}: this address cannot be followed")
        name = native.mnemonic
        size = 1 if name.endswith("b") else _SIZES[_name(native, native.operands[0].reg)[0]]
        stores = MNEMONICS[name].audit_class == "store"
        return Access(
            stack=int(operand.mem.disp) if on_stack else None,
            size=2 * size if name in _PAIRS else size,
            reads=not stores,
            writes=stores,
            sure=stores,
            constant=instruction.constant,
        )

    def steps(self, instruction: Instruction) -> int:
        """Return by how much it moves a 64-bit general register, without sign; 0 if it does not."""
        native = instruction.native
        operands = native.operands
        if native.mnemonic not in ("add", "sub") or operands[-1].type != _IMMEDIATE:
            return 0
        name = _name(native, operands[0].reg)
        if name[0] != "x" or operands[0].reg != operands[1].reg:
            return 0
        return _immediate(operands[-1])

    def lowers_stack(self, instruction: Instruction) -> int:
        """Return by how many bytes it lowers sp; negative if it raises it.

        Raises:
            ValueError: sp changes in another way.
        """
        native = instruction.native
        if native.writeback:
            raise ValueError(f"{instruction}: sp changes in a way that is not followed")
        written = [_whole(name) for role, name in _registers(instruction) if role == "w"]
        if "sp" not in written:
            return 0
        operands, name = native.operands, native.mnemonic
        if (
            name not in ("add", "sub")
            or operands[2].type != _IMMEDIATE
            or _whole(_name(native, operands[1].reg)) != "sp"
        ):
            raise ValueError(f"{instruction}: sp changes in a way that is not followed")
        return _immediate(operands[2]) * (1 if name == "sub" else -1)

    def features(self, instructions: Iterable[Instruction]) -> tuple[str, ...]:
        """Return the names of the CPU features that instructions need, sorted."""
        found = set()
        for instruction in instructions:
            name = instruction.native.mnemonic
            vectors = [name for _, name in _registers(instruction) if _whole(name)[0] == "v"]
            if name in NEEDED:
                found.add(NEEDED[name])
            if vectors:
                found.add("asimd")
        return tuple(sorted(found))

    def form(self, instruction: Instruction) -> str:
        """Return its mnemonic; no port table needs more.

        Raises:
            ValueError: the instruction is not known.
        """
        _known(instruction)
        return self.mnemonic(instruction)

    def ties(self, instruction: Instruction) -> Ties:
        """Return what it waits for and what waits for it: registers, and places on the stack."""
        effect = self.effect(instruction)
        places = [
            (access, ("stack", access.stack))
            for access in effect.memory
            if access.stack is not None
        ]
        native = instruction.native
        address = {
            _whole(_name(native, register))
            for operand in _addresses(instruction)
            for register in (operand.mem.base, operand.mem.index)
            if register
        } - {"sp"}
        return Ties(
            tuple(sorted(effect.reads - address)),
            (*sorted(effect.writes), *(place for access, place in places if access.writes)),
            (*sorted(address), *(place for access, place in places if access.reads)),
        )

    def needs(self, instructions: Iterable[Instruction]) -> tuple[str, ...]:
        """Return the CPU features that instructions need, sorted."""
        return self.features(instructions)

"""Instructions of x86-64 in bytes, by iced: what they are, read, write and need."""

from collections.abc import Iterable, Mapping
from functools import cache

from iced_x86 import (
    Decoder,
    FlowControl,
    Instruction,
    InstructionInfoFactory,
    MemorySizeExt,
    Mnemonic,
    OpAccess,
    OpKind,
    Register,
    RegisterExt,
    RflagsBits,
    UsedMemory,
)

from ghashgen.arch.decoder import FLAGS, Access, Effect, Ties
from ghashgen.arch.x86_64.cpuid import cpu_features, needs
from ghashgen.arch.x86_64.forms import form_of
from ghashgen.arch.x86_64.instructions import class_of_parts
from ghashgen.arch.x86_64.ties import ties
from ghashgen.ir.program import Flow

_READS = {OpAccess.READ, OpAccess.COND_READ, OpAccess.READ_WRITE, OpAccess.READ_COND_WRITE}
_WRITES = {OpAccess.WRITE, OpAccess.COND_WRITE, OpAccess.READ_WRITE, OpAccess.READ_COND_WRITE}
_WHOLE = {OpAccess.WRITE, OpAccess.READ_WRITE}
_PARTS = (1, 2)
"""Sizes of general-register parts whose write keeps the rest of the register."""
_RSP: int = Register.RSP
_FLOWS: Mapping[int, Flow] = {
    FlowControl.NEXT: Flow.NEXT,
    FlowControl.CONDITIONAL_BRANCH: Flow.BRANCH,
    FlowControl.UNCONDITIONAL_BRANCH: Flow.JUMP,
    FlowControl.CALL: Flow.CALL,
    FlowControl.RETURN: Flow.RETURN,
}
_FACTORY = InstructionInfoFactory()
_NO_MEMORY = ("lea", "nop")
"""Mnemonics whose memory operand is only an address."""


@cache
def _mnemonics() -> Mapping[int, str]:
    return {v: k.lower() for k, v in vars(Mnemonic).items() if isinstance(v, int) and k.isupper()}


@cache
def _registers() -> Mapping[int, str]:
    """Return the names of whole registers, by iced's number of any part."""
    names = {v: k.lower() for k, v in vars(Register).items() if isinstance(v, int) and k.isupper()}
    found = {}
    for number in names:
        whole = names[RegisterExt.full_register(number)]  # type: ignore[arg-type]
        found[number] = f"xmm{whole[3:]}" if whole.startswith("zmm") else whole
    return found


def _access(memory: UsedMemory) -> Access:
    stack = None
    if memory.base == _RSP:
        if memory.index != Register.NONE:
            raise ValueError("this stack access cannot be followed")
        stack = memory.displacement - (1 << 64 if memory.displacement >> 63 else 0)
    return Access(
        stack=stack,
        size=MemorySizeExt.size(memory.memory_size),
        reads=memory.access in _READS,
        writes=memory.access in _WRITES,
        sure=memory.access in _WHOLE,
        constant=False,
    )


class X86Decoder:
    """Reads x86-64, see `arch.decoder.Decoder`; an instruction is iced's."""

    def decode(self, code: bytes) -> Mapping[int, Instruction]:
        """Return every instruction by offset, including padding between functions."""
        return {instruction.ip: instruction for instruction in Decoder(64, code, ip=0)}

    def length(self, instruction: Instruction) -> int:
        """Return the length in bytes."""
        return instruction.len

    def offset(self, instruction: Instruction) -> int:
        """Return its place in the code."""
        return instruction.ip

    def mnemonic(self, instruction: Instruction) -> str:
        """Return the mnemonic in lower case."""
        return _mnemonics()[instruction.mnemonic]

    def flow(self, instruction: Instruction) -> Flow:
        """Return where control may go from here.

        Raises:
            ValueError: an indirect branch or call, an interrupt, a transaction.
        """
        found = _FLOWS.get(instruction.flow_control)
        if found is None:
            raise ValueError(f"{instruction}: this control flow cannot be followed")
        return found

    def target(self, instruction: Instruction) -> int:
        """Return the target offset of a direct branch, jump or call."""
        return instruction.near_branch_target

    def audit_class(self, instruction: Instruction) -> str:
        """Return its audit class."""
        writes = instruction.op0_kind == OpKind.MEMORY
        return class_of_parts(self.mnemonic(instruction), self.has_memory(instruction), writes)

    def reorders(self, instruction: Instruction) -> bool:
        """Return whether it only reorders the bytes of a block, or the bits of each byte."""
        return self.mnemonic(instruction).removeprefix("v") in ("pshufb", "gf2p8affineqb")

    def has_memory(self, instruction: Instruction) -> bool:
        """Return whether it has a memory operand; an address alone does not count."""
        kinds = map(instruction.op_kind, range(instruction.op_count))
        return OpKind.MEMORY in kinds and self.mnemonic(instruction) not in _NO_MEMORY

    def effect(self, instruction: Instruction) -> Effect:
        """Return what it reads and writes, except rsp.

        Raises:
            ValueError: it accesses the stack at an unknown place.
        """
        info, names = _FACTORY.info(instruction), _registers()
        reads, writes, overwrites = set(), set(), set()
        for used in info.used_registers():
            if used.register == _RSP:
                continue
            name = names[used.register]
            if used.access in _READS:
                reads.add(name)
            if used.access in _WRITES:
                writes.add(name)
                # A legacy instruction keeps the lanes above 127, which no kernel with legacy
                # instructions writes.
                if used.access in _WHOLE and RegisterExt.size(used.register) not in _PARTS:
                    overwrites.add(name)
        if instruction.rflags_read != RflagsBits.NONE:
            reads.add(FLAGS)
        if instruction.rflags_modified != RflagsBits.NONE:
            writes.add(FLAGS)
            overwrites.add(FLAGS)
        own = instruction.is_ip_rel_memory_operand
        memory = tuple(map(_access, info.used_memory()))
        if own:
            memory = tuple(Access(None, m.size, m.reads, m.writes, m.sure, True) for m in memory)
        return Effect(
            frozenset(reads),
            frozenset(writes),
            frozenset(overwrites),
            memory,
            keeps=instruction.mnemonic == Mnemonic.VZEROUPPER,
        )

    def steps(self, instruction: Instruction) -> int:
        """Return by how much it moves a 64-bit general register, without sign; 0 if it does not."""
        if instruction.op0_kind != OpKind.REGISTER:
            return 0
        register, name = instruction.op0_register, self.mnemonic(instruction)
        if not RegisterExt.is_gpr64(register):
            return 0
        if name in ("add", "sub") and instruction.op1_kind not in (OpKind.REGISTER, OpKind.MEMORY):
            step = instruction.immediate(1)
        elif name == "lea" and instruction.memory_base == register and not instruction.memory_index:
            step = instruction.memory_displacement
        else:
            return 0
        return abs(step - (1 << 64 if step >> 63 else 0))

    def lowers_stack(self, instruction: Instruction) -> int:
        """Return by how many bytes it lowers rsp.

        Raises:
            ValueError: rsp changes in another way.
        """
        if instruction.is_stack_instruction:
            return -int(instruction.stack_pointer_increment)
        if instruction.op_count and instruction.op0_register == _RSP:
            if instruction.mnemonic == Mnemonic.SUB:
                return int(instruction.immediate(1))
            if instruction.mnemonic == Mnemonic.ADD:
                return -int(instruction.immediate(1))
            raise ValueError(f"{instruction}: rsp changes in a way that is not followed")
        return 0

    def features(self, instructions: Iterable[Instruction]) -> tuple[str, ...]:
        """Return the names of the CPUID bits that instructions need, sorted."""
        return cpu_features(instructions)

    def form(self, instruction: Instruction) -> str:
        """Return its name in port tables: mnemonic and kinds of operands."""
        return form_of(instruction)

    def ties(self, instruction: Instruction) -> Ties:
        """Return what it waits for and what waits for it."""
        return ties(instruction)

    def needs(self, instructions: Iterable[Instruction]) -> tuple[str, ...]:
        """Return the CPU features by their names in port tables, sorted."""
        return needs(instructions)


DECODER = X86Decoder()
"""The decoder of x86-64."""

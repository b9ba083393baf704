"""What a function leaves behind: where a secret may be when it returns, followed in its bytes.

A secret is what was read from memory that the caller passed (subkey, state, table, message) and
everything computed from it; constants, addresses and lengths are none. Secrets are followed forward
over every path, as registers and stack bytes that may hold one. What is named here may hold a
secret after some call; what is not named holds none after any call.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache

from iced_x86 import (
    FlowControl,
    Instruction,
    InstructionInfoFactory,
    MemorySizeExt,
    Mnemonic,
    OpAccess,
    Register,
    RegisterExt,
    RflagsBits,
    UsedMemory,
)

_READS = {OpAccess.READ, OpAccess.COND_READ, OpAccess.READ_WRITE, OpAccess.READ_COND_WRITE}
_WRITES = {OpAccess.WRITE, OpAccess.COND_WRITE, OpAccess.READ_WRITE, OpAccess.READ_COND_WRITE}
_WHOLE = {OpAccess.WRITE, OpAccess.READ_WRITE}
_PARTS = (1, 2)
"""Bytes of a general register whose write keeps the rest of it."""

FLAGS = "flags"
_RSP = int(Register.RSP)
_STACK_BIT = 512
"""States are integers: one bit a register below this one, from here on one bit a stack byte."""


@dataclass(frozen=True)
class Left:
    """Where secrets may be when a function returns."""

    registers: tuple[str, ...] = ()
    """Vector registers by their xmm name, general and mask registers, "flags"."""
    stack_bytes: int = 0
    """Bytes of its stack frame, below the caller's."""

    @property
    def names(self) -> tuple[str, ...]:
        """The registers, and "stack" if bytes remain there."""
        return (*self.registers, *(("stack",) if self.stack_bytes else ()))


@dataclass(frozen=True)
class _Effect:
    """One instruction on the state: it writes a secret if it reads one."""

    reads: int
    writes: int
    overwrites: int
    loads: bool
    """Whether it reads memory of the caller's."""

    def on(self, state: int) -> int:
        """Return the state after it."""
        if self.loads or state & self.reads:
            return state | self.writes
        return state & ~self.overwrites


@cache
def _register_names() -> Mapping[int, str]:
    return {v: k.lower() for k, v in vars(Register).items() if isinstance(v, int) and k.isupper()}


def _bit(register: int) -> int:
    return int(1 << RegisterExt.full_register(register))  # type: ignore[arg-type]


def _stack_mask(memory: UsedMemory, depth: int) -> int:
    """Return the bits of bytes on the stack; `depth` is how far rsp lies below the entry's."""
    offset = memory.displacement - (1 << 64 if memory.displacement >> 63 else 0) - depth
    if memory.index != Register.NONE or offset >= 0:
        raise ValueError("a stack access that is not followed")
    size = MemorySizeExt.size(memory.memory_size)
    return ((1 << size) - 1) << (_STACK_BIT - offset - size)


def _effect(instruction: Instruction, factory: InstructionInfoFactory, depth: int) -> _Effect:
    if instruction.mnemonic == Mnemonic.VZEROUPPER:  # each low half stays as it is
        return _Effect(0, 0, 0, False)
    info = factory.info(instruction)
    reads = writes = overwrites = 0
    loads = False
    for used in info.used_registers():
        if used.register == _RSP:
            continue
        if used.access in _READS:
            reads |= _bit(used.register)
        if used.access in _WRITES:
            writes |= _bit(used.register)
            # A legacy instruction keeps the lanes above 127, which no kernel that has one writes.
            if used.access in _WHOLE and RegisterExt.size(used.register) not in _PARTS:
                overwrites |= _bit(used.register)
    for memory in info.used_memory():
        if memory.base == _RSP:
            where = _stack_mask(memory, depth)
            reads |= where if memory.access in _READS else 0
            writes |= where if memory.access in _WRITES else 0
            overwrites |= where if memory.access in _WHOLE else 0
        elif memory.access in _READS and not instruction.is_ip_rel_memory_operand:
            loads = True
    if instruction.rflags_modified != RflagsBits.NONE:
        writes |= _bit(Register.NONE)
        overwrites |= _bit(Register.NONE)
    return _Effect(reads, writes, overwrites, loads)


def _falls(instruction: Instruction) -> int:
    """Return the bytes by which rsp falls."""
    if instruction.is_stack_instruction:
        return -int(instruction.stack_pointer_increment)
    if instruction.op_count and instruction.op0_register == Register.RSP:
        if instruction.mnemonic == Mnemonic.SUB:
            return int(instruction.immediate(1))
        if instruction.mnemonic == Mnemonic.ADD:
            return -int(instruction.immediate(1))
        raise ValueError(f"{instruction}: rsp changes in a way that is not followed")
    return 0


def _following(instructions: Sequence[Instruction]) -> list[tuple[int, ...]]:
    """Return, for each instruction, the positions that may come next; none after a return."""
    at = {instruction.ip: i for i, instruction in enumerate(instructions)}
    out: list[tuple[int, ...]] = []
    for i, instruction in enumerate(instructions):
        match instruction.flow_control:
            case FlowControl.NEXT:
                out.append((i + 1,))
            case FlowControl.CONDITIONAL_BRANCH:
                out.append((i + 1, at[instruction.near_branch_target]))
            case FlowControl.UNCONDITIONAL_BRANCH:
                out.append((at[instruction.near_branch_target],))
            case FlowControl.RETURN:
                out.append(())
            case _:
                raise ValueError(f"{instruction}: a way on that is not followed")
    return out


def left_by(instructions: Sequence[Instruction]) -> Left:
    """Return what a whole function, entered at its first instruction, leaves behind.

    Raises:
        ValueError: it moves rsp, branches or uses the stack in a way that is not followed.
    """
    factory, following = InstructionInfoFactory(), _following(instructions)
    depth: list[int | None] = [None] * len(instructions)
    effects: list[_Effect | None] = [None] * len(instructions)
    states = [0] * len(instructions)
    depth[0] = 0
    pending, end = [0], 0
    while pending:
        i = pending.pop()
        here = depth[i]
        assert here is not None
        if not following[i]:
            end |= states[i]
            continue
        effect = effects[i]
        if effect is None:
            effect = effects[i] = _effect(instructions[i], factory, here)
        state, below = effect.on(states[i]), here + _falls(instructions[i])
        for j in following[i]:
            if depth[j] not in (None, below):
                raise ValueError(f"{instructions[j]}: two paths meet at two depths of the stack")
            if depth[j] is None or state | states[j] != states[j]:
                depth[j], states[j] = below, state | states[j]
                pending.append(j)
    return _named(end)


def _named(state: int) -> Left:
    numbers = [n for n in range(_STACK_BIT) if state >> n & 1]
    names = sorted((_name(number) for number in numbers), key=register_order)
    return Left(tuple(names), (state >> _STACK_BIT).bit_count())


def _name(number: int) -> str:
    if number == Register.NONE:
        return FLAGS
    name = _register_names()[number]
    return f"xmm{name[3:]}" if name.startswith("zmm") else name


def register_order(name: str) -> tuple[bool, bool, int, str]:
    """Vector registers first, by number; then general registers and the rest."""
    number = name.removeprefix("xmm")
    vector = number != name
    return not vector, not name.startswith("r"), int(number) if vector else len(name), name

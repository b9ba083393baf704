"""Follows in a function's bytes where a secret may be when it returns.

Secrets are whatever was read from memory that the caller passed (subkey, state, table, message) and
everything computed from it. Constants, addresses and lengths are not secret, nor is a returned
number, which is meant for the caller. Secrets are followed forward over every path, in registers
and stack bytes. A place named here may hold a secret after some call; any other place holds none
after any call.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from ghashgen.arch.core import Arch
from ghashgen.arch.decoder import Access, Effect, Native
from ghashgen.ir.program import Flow

_STACK_BIT = 512
"""A state is an integer: one bit for each register below this one, one for each stack byte
above.
"""


@dataclass(frozen=True)
class Left:
    """Where secrets may be when a function returns."""

    registers: tuple[str, ...] = ()
    """Registers by their whole names, vector registers first, and "flags"."""
    stack_bytes: int = 0
    """Bytes of its stack frame, below the caller's."""

    @property
    def names(self) -> tuple[str, ...]:
        """The registers, and "stack" if bytes remain there."""
        return (*self.registers, *(("stack",) if self.stack_bytes else ()))


@dataclass(frozen=True)
class _Step:
    """The effect of one instruction on the state: it writes a secret if it reads one."""

    reads: int
    writes: int
    overwrites: int
    loads: bool
    """Whether it reads the caller's memory."""

    def on(self, state: int) -> int:
        """Return the state after it."""
        if self.loads or state & self.reads:
            return state | self.writes
        return state & ~self.overwrites


class _Bits(dict[str, int]):
    """The bit of a register, assigned on first use."""

    def __missing__(self, name: str) -> int:
        bit = self[name] = 1 << len(self)
        return bit

    def of(self, names: frozenset[str]) -> int:
        """Return the bits of several."""
        bits = 0
        for name in names:
            bits |= self[name]
        return bits


def _on_stack(access: Access, depth: int) -> int:
    """Return the bits of bytes below the entry's stack pointer, which is `depth` bytes lower now.

    Above it are parameters, which are addresses and lengths.
    """
    assert access.stack is not None
    offset = access.stack - depth
    if offset >= 0:
        if access.writes:
            raise ValueError("a write to the caller's stack cannot be followed")
        return 0
    return ((1 << access.size) - 1) << (_STACK_BIT - offset - access.size)


def _step(effect: Effect, bits: _Bits, depth: int) -> _Step:
    if effect.keeps:
        return _Step(0, 0, 0, False)
    reads, writes = bits.of(effect.reads), bits.of(effect.writes)
    overwrites, loads = bits.of(effect.overwrites), False
    for access in effect.memory:
        if access.stack is not None:
            where = _on_stack(access, depth)
            reads |= where if access.reads else 0
            writes |= where if access.writes else 0
            overwrites |= where if access.sure else 0
        elif access.reads and not access.constant:
            loads = True
    return _Step(reads, writes, overwrites, loads)


def _following(arch: Arch, instructions: Sequence[Native]) -> list[tuple[int, ...]]:
    """Return, for each instruction, the positions that may follow; none after a return."""
    decoder = arch.decoder
    at = {decoder.offset(instruction): i for i, instruction in enumerate(instructions)}
    out: list[tuple[int, ...]] = []
    for i, instruction in enumerate(instructions):
        match decoder.flow(instruction):
            case Flow.NEXT:
                out.append((i + 1,))
            case Flow.BRANCH:
                out.append((i + 1, at[decoder.target(instruction)]))
            case Flow.JUMP:
                out.append((at[decoder.target(instruction)],))
            case Flow.RETURN:
                out.append(())
            case Flow.CALL:
                raise ValueError(f"{instruction}: calls cannot be followed")
    return out


def left_by(
    arch: Arch, instructions: Sequence[Native], effects: Sequence[Effect], returned: str = ""
) -> Left:
    """Return what a whole function, entered at its first instruction, leaves behind.

    `effects` has what each instruction reads and writes; `returned` is the register of its returned
    number, or "".

    Raises:
        ValueError: it moves the stack pointer, branches or uses the stack in a way that cannot be
            followed.
    """
    following, bits = _following(arch, instructions), _Bits()
    depth: list[int | None] = [None] * len(instructions)
    steps: list[_Step | None] = [None] * len(instructions)
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
        step = steps[i]
        if step is None:
            step = steps[i] = _step(effects[i], bits, here)
        state, below = step.on(states[i]), here + arch.decoder.lowers_stack(instructions[i])
        for j in following[i]:
            if depth[j] not in (None, below):
                raise ValueError(f"{instructions[j]}: two paths meet with different stack depths")
            if depth[j] is None or state | states[j] != states[j]:
                depth[j], states[j] = below, state | states[j]
                pending.append(j)
    found = (name for name, bit in bits.items() if end & bit and name != returned)
    names = sorted(found, key=arch.order)
    return Left(tuple(names), (end >> _STACK_BIT).bit_count())

"""Straight stretches of vector instructions, executed once for each state that they meet.

The second line (`ghashgen.verify.engine.behind`) runs the same work on the same blocks many times.
A stretch is a run of instructions without a branch that write only vector registers and load only
from constants and read-only buffers. Its results are a function of the registers that it reads and
of the memory at their addresses. Constants and buffers of fixed size never change. A buffer with a
length does not either, as long as each loaded block is whole (`ghashgen.verify.engine.family` names
who promises that). So the rows execute a stretch, with all checks, in the first state that it
meets. In the same state again, equal terms being one object, their results are written again.

Runs share nothing else: numbers, flags, masks, branches, stores, stack and values from the bytes of
a partial block are executed in each.
"""

from dataclasses import dataclass, field
from typing import Any, Generic

from iced_x86 import EncodingKind, FlowControl, Instruction, InstructionInfoFactory, OpAccess

from ghashgen.verify.core.term import RAW, Lane, Term
from ghashgen.verify.core.values import Pointer
from ghashgen.verify.engine.cut import CELL_BYTES
from ghashgen.verify.engine.family import Buffer, E, Meaning
from ghashgen.verify.machine.machine import Machine
from ghashgen.verify.machine.regions import Access
from ghashgen.verify.machine.target import MASK, VECTOR
from ghashgen.verify.x86_64.flow import Flow, register_number
from ghashgen.verify.x86_64.machine import RSP

LEAST = 3
"""The minimum instructions of a stretch: a lookup costs as much as executing two."""

Key = tuple[object, ...]

Parts = tuple[set[int], set[int]]
"""The registers that an instruction reads, and the vector registers that it writes."""


@dataclass(frozen=True)
class Stretch:
    """The instructions from an address up to `end`, and what they depend on and write."""

    end: int
    count: int
    numbers: tuple[int, ...]
    """General registers that are read: addresses, and numbers that enter a vector."""
    whole: tuple[int, ...]
    """Vector registers that are read."""
    upper: tuple[int, ...]
    """Vector registers of which only the lanes above the lowest stay."""
    written: tuple[int, ...]


@dataclass(frozen=True)
class _Left:
    """The results of a stretch: registers, and how much of each buffer had to be whole."""

    vec: tuple[tuple[Lane, ...], ...]
    upper_dirty: bool
    loaded: dict[str, int]


@dataclass
class Stretches(Generic[E]):
    """The stretches of one function, and their results by state."""

    flow: Flow
    meaning: Meaning[E]
    repeated: int = 0
    """Instructions with known results."""
    _stretches: dict[int, Stretch | None] = field(default_factory=dict)
    _parts: dict[int, Parts | None] = field(default_factory=dict)
    _left: dict[Key, _Left] = field(default_factory=dict)
    _entry: E | None = None
    _open: tuple[Stretch, Key] | None = None
    """The stretch in progress, and its key."""
    _loaded: dict[str, int] = field(default_factory=dict)

    def skip(self, entry: E, address: int) -> int:
        """Write the known results of the stretches from `address` on; return what follows.

        Call it before each instruction.
        """
        if entry is not self._entry:
            self._begin(entry)
        if self._open is not None:
            opened, opened_key = self._open
            if address != opened.end:
                return address
            self._open = None
            if self._present(entry, self._loaded):
                self._left[opened_key] = self._found(entry.machine, opened)
        while (stretch := self._at(address)) is not None:
            key = _key(entry.machine, address, stretch)
            if key is None:
                break
            left = self._left.get(key)
            if left is None or not self._present(entry, left.loaded):
                self._open, self._loaded = (stretch, key), {}
                break
            for k, lanes in zip(stretch.written, left.vec, strict=True):
                entry.machine.vec[k] = lanes
            entry.machine.upper_dirty = left.upper_dirty
            self.repeated += stretch.count
            address = stretch.end
        return address

    def _begin(self, entry: E) -> None:
        self._entry, self._open = entry, None
        for name, parameter in self.meaning.parameters.items():
            if not isinstance(parameter, Buffer) or parameter.at is not None:
                continue
            if isinstance(parameter.size, str):
                self._note(entry, name)

    def _note(self, entry: E, name: str) -> None:
        """Note how far a buffer is read."""
        region = entry.machine.memory.regions[name]
        cell = region.cell

        def noted(index: int) -> Lane | None:
            self._loaded[name] = max(self._loaded.get(name, 0), CELL_BYTES * (index + 1))
            return cell(index)

        region.cell = noted

    def _present(self, entry: E, loaded: dict[str, int]) -> bool:
        """Return whether buffers are whole as far as a stretch loads from them."""
        regions = entry.machine.memory.regions
        sizes = ((regions[name].size, end) for name, end in loaded.items())
        return all(isinstance(size, int) and end <= size for size, end in sizes)

    def _found(self, m: Machine, stretch: Stretch) -> _Left:
        return _Left(tuple(m.vec[k] for k in stretch.written), m.upper_dirty, dict(self._loaded))

    def _at(self, address: int) -> Stretch | None:
        if address not in self._stretches:
            self._stretches[address] = _stretch(self.flow, address, self._parts)
        return self._stretches[address]


def _key(m: Machine, address: int, stretch: Stretch) -> Key | None:
    """Return everything that a stretch depends on; None if a key cannot express it."""
    key: list[Any] = [address, m.upper_dirty]
    for n in stretch.numbers:
        value = m.gpr[n]
        if isinstance(value, Pointer):
            region = m.memory.regions.get(value.region)
            if region is None or region.access is not Access.READ:
                return None
            key += (value.region, value.offset)
        elif isinstance(value, int):
            key.append(value)
        else:
            return None
    for k in stretch.whole:
        lanes = m.vec[k]
        for lane in lanes:
            # Its meaning may depend on the length.
            if isinstance(lane, Term) and lane.deps & RAW:
                return None
        key.append(lanes)
    key += [m.vec[k][1:] for k in stretch.upper]
    return tuple(key)


def _stretch(flow: Flow, start: int, known: dict[int, Parts | None]) -> Stretch | None:
    """Return the stretch from an address, or None; `known` are parts by address."""
    factory = InstructionInfoFactory()
    numbers: set[int] = set()
    whole: set[int] = set()
    upper: set[int] = set()
    written: set[int] = set()
    address, count = start, 0
    while (instruction := flow.instructions.get(address)) is not None:
        if address not in known:
            known[address] = _parts(instruction, factory)
        parts = known[address]
        if parts is None:
            break
        reads, writes = parts
        numbers |= {n for n in reads if n < VECTOR}
        whole |= {n - VECTOR for n in reads if n >= VECTOR} - written
        if instruction.encoding == EncodingKind.LEGACY:
            upper |= writes - written
        written |= writes
        address, count = int(instruction.next_ip), count + 1
    if count < LEAST:
        return None
    sets = (numbers, whole, upper - whole, written)
    return Stretch(address, count, *(tuple(sorted(part)) for part in sets))


def _parts(i: Instruction, factory: InstructionInfoFactory) -> Parts | None:
    """Return the registers that an instruction reads, and the vector registers that it writes.

    None if it cannot be part of a stretch.
    """
    if i.flow_control != FlowControl.NEXT or i.rflags_read or i.rflags_modified or i.has_op_mask:
        return None
    info = factory.info(i)
    if any(used.access != OpAccess.READ for used in info.used_memory()):
        return None
    reads: set[int] = set()
    writes: set[int] = set()
    for used in info.used_registers():
        number = register_number(used.register)
        if number is None or number >= MASK:
            return None
        if used.access in (OpAccess.READ, OpAccess.READ_WRITE):
            reads.add(number)
        if used.access in (OpAccess.WRITE, OpAccess.READ_WRITE):
            if number < VECTOR:
                return None
            writes.add(number - VECTOR)
        elif used.access != OpAccess.READ:
            return None
    # A sum of a register with itself is no read to iced-x86; to a row it is one.
    sources = {register_number(i.op_register(k)) for k in range(1, i.op_count)}
    reads |= {number for number in sources if number is not None}
    return (reads, writes) if writes and RSP not in reads else None

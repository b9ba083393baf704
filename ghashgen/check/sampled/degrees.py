"""The degree of what an object computes, bounded from its decoded bytes.

At a fixed length each bit of the result is a polynomial over GF(2) in the bits of state, blocks and
powers of H. Along the path that `control` finds, each vector register carries a bound for the
degree of its bits:

- a sum, a shuffle or a shift by a constant: the largest of its operands' degrees;
- a carry-less product or an AND: the sum of its operands' degrees;
- a ternary logic instruction: by the monomials of its truth table.

Other instructions are refused, and so are counts, masks and byte orders that depend on data. So
whatever has a degree here is a polynomial of at most that degree.

The bound holds for the code as it stands, right or wrong. It exceeds 1 + the number of reductions
if a scheme multiplies two sums that both hold the state (`winograd`: A0·A1). A right kernel cancels
these squares; a wrong one need not.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from ghashgen.arch.x86_64.abi import ABIS
from ghashgen.check.sampled.control import Block, Code, Loads, Memory, Refused
from ghashgen.check.sampled.numbers import PLACES, RSP, Registers
from ghashgen.check.sampled.rules import (
    SLOT,
    UNSET,
    Effect,
    Frozen,
    State,
    effects_of,
    slots_of,
    thaw,
)
from ghashgen.run.emulate.image import Image

TABLE, STATE, INPUT = 0x1_0000_0000, 0x2_0000_0000, 0x3_0001_0000
ADDEND, FACTOR = 0x5_0000_0000, 0x6_0000_0000
STACK = 0x7_0000_0000
"""Addresses of a call's buffers, far apart."""

RETURN = 0x7FF_0000_0000
"""Return address of a call."""

_REACH = 64
"""Bytes around the input that a masked or overlapping load may touch; they count as data."""
_FRAME = 1 << 16
_HOME = 32
"""Home space of the Microsoft convention, above the return address."""
_STEPS = 100_000
_CELL = 16


class _Loads(Loads):
    """The classes of reads: degrees, or addresses if written before."""

    def __init__(
        self, image: Image, regions: Mapping[int, tuple[int, int, Callable[[int, int], int]]]
    ) -> None:
        """`regions` maps the upper half of an address to begin, end, and the class of a load."""
        super().__init__()
        self._image, self._regions = image, regions

    def find(self, address: int, size: int) -> int:
        if size == 0:
            return 0
        region = self._regions.get(address >> 32)
        if region is not None and region[0] <= address and address + size <= region[1]:
            return region[2](address, size)
        segment = self._image.segment_at(address)
        if segment is not None and segment.kind != "w" and address + size - 1 in segment:
            return 0
        raise Refused(f"{address:#x}", f"a load of {size} bytes outside of the buffers")


@dataclass
class _Stores(Memory):
    """The memory that one call writes."""

    where: str
    stores: Mapping[int, tuple[int, int]]
    numbers: dict[int, int | None] = field(default_factory=dict)

    def store(self, address: int, size: int) -> int:
        if self.numbers:
            for at in range(address - SLOT + 1, address + size):
                self.numbers.pop(at, None)
        return self._class(address, size)

    def _class(self, address: int, size: int) -> int:
        region = self.stores.get(address >> 32)
        if region is None or address < region[0] or address + size > region[1]:
            raise Refused(self.where, f"a store of {size} bytes outside of state and stack")
        return address

    def number(self, address: int, size: int) -> int | None:
        # Data, or a number that was stored whole. No address may depend on anything else there.
        return self.numbers.get(address) if size == SLOT else None

    def keep(self, address: int, size: int, value: int | None) -> int:
        met = self.store(address, size)
        self.numbers[address] = value
        return met


def _slot(address: int, size: int) -> int:
    return address


def _data(address: int, size: int) -> int:
    return 1


@dataclass(frozen=True)
class Table:
    """The degree of each 16-byte cell in the bits of the powers: 0 for zeros, 2 for key terms."""

    degrees: tuple[int, ...]

    def load(self, address: int, size: int) -> int:
        """Return the degree of `size` bytes at an address of the table."""
        first, last = (address - TABLE) // _CELL, (address + size - 1 - TABLE) // _CELL
        return max(self.degrees[first : last + 1])


class Found(NamedTuple):
    """The path of a call."""

    degree: int
    instructions: int
    """Number of instructions executed."""


class Degrees:
    """Bounds for the degrees of one object's functions."""

    def __init__(self, image: Image, abi: str, table: Table, longest: int) -> None:
        """`longest` is the length of the longest message in bytes."""
        self._image, self._abi = image, ABIS[abi]
        self._code = Code(image)
        home = _HOME if self._abi.saved_vectors else 0
        stack = (STACK, STACK + _FRAME + home)
        state = (STATE, STATE + _CELL)
        self._stores = {STATE >> 32: state, STACK >> 32: stack}
        self._loads = _Loads(
            image,
            {
                TABLE >> 32: (TABLE, TABLE + _CELL * len(table.degrees), table.load),
                STATE >> 32: (*state, _slot),
                INPUT >> 32: (INPUT - _REACH, INPUT + longest + _REACH, _data),
                ADDEND >> 32: (ADDEND, ADDEND + _CELL, _data),
                FACTOR >> 32: (FACTOR, FACTOR + _CELL, _data),
                STACK >> 32: (*stack, _slot),
            },
        )
        self._effects: dict[Block, tuple[Effect, ...]] = {}
        self._after: dict[tuple[Block, int, tuple[int, ...]], int] = {}
        self._ids: dict[Frozen, int] = {}
        self._states: list[Frozen] = []

    def of(self, symbol: str, arguments: Sequence[int]) -> Found:
        """Return a bound for the degree of the 16 bytes at STATE after a call, and the call's cost.

        Arguments are numbers, or TABLE, STATE, INPUT, ADDEND, FACTOR; other arguments hold no data.

        Raises:
            Refused: a branch, an address, a mask or a count depends on data, or the degree of an
                instruction or access is not known.
        """
        registers: Registers = [number << 20 for number in range(PLACES)]
        registers[16:] = [None] * (PLACES - 16)
        unset = [UNSET] * 32
        general = unset[:16]
        for place, value in zip(self._abi.params, arguments, strict=False):
            registers[place] = value
            general[place] = 0
        registers[RSP] = STACK + _FRAME - SLOT
        memory = _Stores(symbol, self._stores)
        memory.numbers[STACK + _FRAME - SLOT] = RETURN
        # What control computes with is a number; what the caller left has no degree.
        first = State(unset[:], unset[:], general, dict.fromkeys(slots_of(STATE, _CELL), 1))
        return self._walk(symbol, registers, memory, self._intern(first.frozen()))

    def _walk(self, symbol: str, registers: Registers, memory: _Stores, state: int) -> Found:
        address = self._image.address_of(symbol)
        instructions = 0
        for _ in range(_STEPS):
            if address == RETURN:
                slots = dict(self._states[state][3])
                degree = max(slots[s] for s in slots_of(STATE, _CELL))
                if degree >= UNSET:
                    raise Refused(symbol, "the result depends on what the caller left")
                return Found(degree, instructions)
            block = self._code.block(address)
            instructions += len(block.instructions)
            met: list[int] = []
            try:
                address = block.step(registers, self._loads, memory, met)
            except TypeError:
                raise Refused(
                    f"{symbol} at {block.instructions[0].ip:#x}",
                    "an address, a branch or a number depends on data",
                ) from None
            key = (block, state, tuple(met))
            after = self._after.get(key)
            if after is None:
                after = self._after[key] = self._advance(*key)
            state = after
        raise Refused(symbol, "does not return")

    def _advance(self, block: Block, state: int, met: tuple[int, ...]) -> int:
        effects = self._effects.get(block)
        if effects is None:
            effects = self._effects[block] = effects_of(block)
        now = thaw(self._states[state])
        classes = iter(met)
        for effect, takes in effects:
            effect(now, next(classes) if takes else None)
        assert next(classes, None) is None
        return self._intern(now.frozen())

    def _intern(self, frozen: Frozen) -> int:
        number = self._ids.get(frozen)
        if number is None:
            number = self._ids[frozen] = len(self._states)
            self._states.append(frozen)
        return number

"""Load and store a few bytes in a wide register, and touch no byte outside them.

AVX-512 can mask off the bytes outside. But a CPU translates every address that an instruction
names, masked or not. If one of them is on an unmapped or unwritable page, microcode takes over, and
the instruction becomes slow. So an access here names only the caller's bytes. Of n bytes, whole
blocks are loaded and stored as they are. The rest depends on n:

    n < 16      The first w bytes and the last w bytes are accessed, for the w = 8 or 4 with
                w <= n < 2·w. They agree where they overlap. For n < 4, single bytes at 0, n >> 1
                and n - 1 are accessed.
    n >= 16     The last 16 bytes are accessed. They begin in the block before: a load drops those
                bytes, and a store writes them a second time, with the same values.

If the same text has a whole register before these bytes, fewer than 16 go the second way too. Byte
shuffles with an order from TURNED move bytes within a block. Addresses depend on n alone.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import pairwise

from ghashgen.algebra.field.bitorder import BLOCK_BYTES
from ghashgen.ir.builder import Builder
from ghashgen.ir.program import Label, Mem, VReg

WIDEST = 64
"""Bytes of the widest register."""

NOTHING = b"\x80" * BLOCK_BYTES
"""The order of a byte shuffle that makes zeros."""

TURNED = NOTHING + bytes(range(BLOCK_BYTES)) + NOTHING
"""Orders of byte shuffles. Read at 16 + d, byte j of the result is byte j + d of the operand; read
at 16 - d, it is byte j - d. It is zero where the operand has no such byte."""

FIRST = b"\xff" * WIDEST + bytes(WIDEST)
"""Read at WIDEST - n: ones in the first n bytes."""

ROUND = 2 * bytes(range(BLOCK_BYTES))
"""Read at d: byte j of the result is byte j + d of the operand, modulo 16."""

WIDTHS = (8, 4, 1)
"""Access widths w for less than a block. Each serves w bytes and more."""


def numbers_left(lanes: int, whole: bool) -> range:
    """Return the numbers of bytes that can follow the whole registers of a text.

    `whole`: the text has no partial block.
    """
    step = BLOCK_BYTES if whole else 1
    return range(step, BLOCK_BYTES * lanes, step)


@dataclass(frozen=True)
class Way:
    """Code for some numbers of bytes: `blocks` blocks, or, if that is 0, accesses of `width` bytes.

    No bytes have width 0.
    """

    numbers: range
    blocks: int
    width: int = BLOCK_BYTES

    @property
    def whole(self) -> int:
        """The number of blocks that are whole for all of the numbers."""
        return self.numbers[0] // BLOCK_BYTES


def ways(numbers: range, lanes: int, behind: bool = False) -> list[Way]:
    """Return the ways for these numbers of bytes in a register, the longest first.

    A full register has its own way. `Exact.behind` says what `behind` means.
    """
    most = numbers[-1]
    out = [Way(range(most, most + 1), lanes)] if most == BLOCK_BYTES * lanes else []
    for blocks in range(-(-most // BLOCK_BYTES), 0, -1):
        end = BLOCK_BYTES * blocks
        if blocks > 1 or behind:
            out.append(Way(range(end - BLOCK_BYTES + 1, end + 1), blocks))
            continue
        out.append(Way(range(end, end + 1), 1))
        ends = (end, *WIDTHS)
        out += [Way(range(w, end), 0, w) for w, end in zip(WIDTHS, ends, strict=False)]
        out.append(Way(range(1), 0, 0))
    left, found = set(numbers), list[Way]()
    for way in out:
        if taken := sorted(left & set(way.numbers)):
            found.append(replace(way, numbers=range(taken[0], taken[-1] + 1)))
            left -= set(taken)
    return found


def cut(numbers: range, lanes: int) -> list[range]:
    """Split numbers of bytes into parts. Each part has one way, except the part below a block."""
    edges = [way.numbers[0] for way in reversed(ways(numbers, lanes)) if way.blocks]
    edges = [numbers[0], *(edge for edge in edges if edge > numbers[0]), numbers[-1] + 1]
    return [range(least, end) for least, end in pairwise(edges)]


@dataclass(frozen=True)
class Exact:
    """A number of bytes at run time: `count`, one of `numbers`, in a register of `lanes` lanes."""

    b: Builder
    count: VReg
    numbers: range
    lanes: int
    up: VReg | None
    """The address of TURNED, which FIRST and ROUND follow, minus `count`. None if no block is
    partial, since then no byte moves within a block.
    """
    behind: bool
    """Whether a block of the same text stands before these bytes."""

    @classmethod
    def of(
        cls, b: Builder, count: VReg, numbers: range, lanes: int = 1, behind: bool = False
    ) -> "Exact":
        """Record the address that loads and stores need."""
        whole = all(number % BLOCK_BYTES == 0 for number in numbers)
        up = None if whole else b.gpr("gpr_minus", turned(b), count)
        return cls(b, count, numbers, lanes, up, behind)

    def load(self, name: str, place: Mem) -> VReg:
        """Record the load of the bytes, zero-padded.

        `name` is the part that the labels belong to. No general register keeps a byte.
        """
        b, out = self.b, self.b.register(name, self.lanes)

        def load(way: Way) -> None:
            if way.width == 0:
                b.emit("zero", out, note="no bytes")
            else:
                b.assign(out, (self._load_blocks if way.blocks else self._load_few)(way, place))

        self._choose(name, load)
        return out

    def store(self, name: str, place: Mem, value: VReg) -> None:
        """Record the store of the first bytes of a register.

        `name` is the part that the labels belong to. A block before these bytes must be stored
        already.
        """

        def store(way: Way) -> None:
            if way.blocks:
                self._store_blocks(way, place, value)
            elif way.width:
                self._store_few(way, place, value)

        self._choose(name, store)

    def first(self, value: VReg, note: str = "zero-padded") -> VReg:
        """Record the first bytes of a register, zero-padded."""
        if self.numbers[0] == BLOCK_BYTES * self.lanes:
            return value
        if len(self.numbers) == 1 and self.up is None:
            blocks = self.numbers[0] // BLOCK_BYTES
            ones = [(1 << 8 * BLOCK_BYTES) - 1] * blocks + [0] * (self.lanes - blocks)
            return self.b.and_(value, self.b.const_lanes(ones, f"first_{blocks}"), note)
        up = self.up or self.b.gpr("gpr_minus", turned(self.b), self.count)
        return self.b.and_(value, Mem(base=up, disp=len(TURNED) + WIDEST), note)

    def if_lane_free(self, value: Mem, note: str) -> VReg | None:
        """Record the load of a block, or of zeros if the bytes leave no lane free.

        Returns None if they never leave one.
        """
        b, most = self.b, BLOCK_BYTES * (self.lanes - 1)
        if self.numbers[0] > most:
            return None
        loaded = b.load(value, note)
        if self.numbers[-1] <= most:
            return loaded
        rounded = b.gpr("gpr_address", Mem(base=self.count, disp=BLOCK_BYTES - 1))
        rounded = b.gpr("gpr_and", rounded, -BLOCK_BYTES, note="in whole blocks")
        # FIRST, read at WIDEST or beyond if all lanes are taken: zeros.
        at = len(TURNED) + WIDEST - BLOCK_BYTES * self.lanes
        return b.and_(loaded, Mem(base=turned(b), index=rounded, disp=at), "if a lane is free")

    def _load_blocks(self, way: Way, place: Mem) -> VReg:
        b, blocks = self.b, way.blocks
        whole = _load_whole(b, place, way.whole)
        if way.whole == blocks and whole is not None:
            return whole
        last = b.load(self._last(place, BLOCK_BYTES), "the last 16 bytes")
        order = Mem(base=self.up, disp=BLOCK_BYTES * (blocks + 1))
        last = b.shuffle_bytes(last, order, "those of the last block, zero-padded")
        if whole is None:
            return last
        return b.insert_lane(whole, blocks - 1, last, 2 if blocks == 2 else 4, "with them")

    def _store_blocks(self, way: Way, place: Mem, value: VReg) -> None:
        b, blocks = self.b, way.blocks
        prior = None
        if way.whole in (1, 2, 4):
            b.store(place, b.first_lanes(value, way.whole), "written")
        elif way.whole == 3:
            prior = b.lane(value, 2)
            b.store(place, b.first_lanes(value, 2), "written")
            b.store(replace(place, disp=place.disp + 2 * BLOCK_BYTES), prior, "written")
        if way.whole == blocks:
            return
        if blocks == 1:
            prior = b.load(replace(place, disp=place.disp - BLOCK_BYTES), "the block before")
        prior = prior or b.lane(value, blocks - 2)
        # Turn the previous block by r, the bytes of the last block, and add the last block's
        # difference from it at the end. Omitting the difference would save an operation. But a
        # single byte at the end is a whole zero-padded block with its bytes reversed, and the
        # prover takes it for that.
        at, r = turned(b), -BLOCK_BYTES * (blocks - 1)
        changed = b.xor(b.lane(value, blocks - 1), prior, "what the end differs by")
        end = b.shuffle_bytes(changed, Mem(base=at, index=self.count, disp=r), "at the end")
        order = Mem(base=at, index=self.count, disp=r + len(TURNED + FIRST))
        joined = b.xor(b.shuffle_bytes(prior, order, "in front"), end, "the last 16 bytes")
        b.store(self._last(place, BLOCK_BYTES), joined, "written")

    def _load_few(self, way: Way, place: Mem) -> VReg:
        b, width = self.b, way.width
        if width == 1:
            return self._load_bytes(place)
        code = f"load{8 * width}"
        first = b.load_part(code, place, "the first bytes")
        rest = b.load_part(code, self._last(place, width), "the last bytes")
        order = Mem(base=self.up, disp=BLOCK_BYTES + width)
        return b.or_(first, b.shuffle_bytes(rest, order, "in their places"), "zero-padded")

    def _load_bytes(self, place: Mem) -> VReg:
        """Record the load of 1 to 3 bytes: those at 0, n >> 1 and n - 1; n are kept."""
        b = self.b
        out = _load_byte(b, place, "byte 0")
        middle = replace(place, index=b.gpr("gpr_shr", self.count, 1))
        out = b.or_(out, b.shl_bytes(_load_byte(b, middle, "byte n >> 1"), 1))
        out = b.or_(out, b.shl_bytes(_load_byte(b, self._last(place, 1), "the last byte"), 2))
        return self.first(out)

    def _store_few(self, way: Way, place: Mem, value: VReg) -> None:
        b, width, value = self.b, way.width, self.b.first_lane(value)
        at = turned(b)
        b.emit(f"store{8 * width}", place, value, note="the first bytes")
        if width == 1:
            middle = b.gpr("gpr_shr", self.count, 1)
            byte = b.shuffle_bytes(value, Mem(base=at, index=middle, disp=BLOCK_BYTES))
            b.emit("store8", replace(place, index=middle), byte, note="byte n >> 1")
        order = Mem(base=at, index=self.count, disp=BLOCK_BYTES - width)
        rest = b.shuffle_bytes(value, order, "the last bytes")
        b.emit(f"store{8 * width}", self._last(place, width), rest, note="the last bytes")

    def _last(self, place: Mem, width: int) -> Mem:
        """Return the place of the last `width` bytes."""
        return replace(place, index=self.count, disp=place.disp - width)

    def _choose(self, name: str, record: Callable[[Way], None]) -> None:
        """Record all ways, the branches that select one by the number of bytes, and a label after
        them.

        The longest way comes last, so that it takes the fewest jumps.
        """
        b, (longest, *others) = self.b, ways(self.numbers, self.lanes, self.behind)
        with b.part(name):
            if not others:
                record(longest)
                return
            b.branch("not_below", self.count, longest.numbers[0], "longest")
            for way, following in zip(others, [*others[1:], None], strict=True):
                least = way.numbers[0]
                if following:
                    b.branch("below", self.count, least, f"under_{least}")
                record(way)
                b.emit("jump", Label("done"))
                if following:
                    b.label(f"under_{least}")
            b.label("longest")
            record(longest)
            b.label("done")


def load_few(
    b: Builder, name: str, place: Mem, count: VReg, numbers: range, lanes: int = 1
) -> VReg:
    """Record the load of `count` bytes, one of `numbers`, zero-padded."""
    return Exact.of(b, count, numbers, lanes).load(name, place)


def turned(b: Builder) -> VReg:
    """Record the address of TURNED, which FIRST and ROUND follow."""
    return b.gpr("gpr_address", b.const_bytes(TURNED + FIRST + ROUND, "bytes"))


def _load_whole(b: Builder, place: Mem, blocks: int) -> VReg | None:
    """Record the load of `blocks` blocks."""
    if blocks == 0:
        return None
    if blocks != 3:
        return b.load(place, "whole blocks", blocks)
    third = replace(place, disp=place.disp + 2 * BLOCK_BYTES)
    return b.insert_lane(b.load(place, "whole blocks", 2), 2, third, 4, "and the third")


def _load_byte(b: Builder, memory: Mem, note: str) -> VReg:
    byte = b.gpr("gpr_load8", memory, note=note)
    out = b.from_gpr(byte)
    b.emit("gpr_const", byte, 0, note="no byte stays")
    return out

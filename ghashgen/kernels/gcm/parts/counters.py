"""Counter blocks (SP 800-38D, section 6.2: inc32 counts in the last 32 bits, modulo 2^32).

The counter block is kept with its bytes in the opposite order, so that its last word is the first
of a lane and in the order that sums of words take: the next block costs one sum, one shuffle and
the addition of k_0, whatever the counter is. Lane l of the register is l blocks ahead.
"""

from ghashgen.ir.builder import Builder, Value
from ghashgen.ir.program import Mem, VReg
from ghashgen.kernels.gcm.kernel import GcmKernel
from ghashgen.kernels.hash.parts.interface import BYTE_SWAP


class Counters:
    """The loop-carried register of counters."""

    def __init__(
        self, b: Builder, kernel: GcmKernel, block: VReg, first: int = 0, kept: bool = True
    ) -> None:
        """Record what counts from a counter block, which every lane holds as it is in memory.

        The first block taken is `first` blocks behind that one. `kept` says whether anybody wants
        the counter behind the text: nobody does of a whole message.
        """
        self.b, self.lanes, self.kept = b, kernel.lane_count, kept
        self.first = block
        value = b.shuffle_bytes(block, b.const(BYTE_SWAP, "byte_swap"), "counter, last word first")
        if self.lanes > 1:
            numbers = range(first, first + self.lanes)
            name = f"lane_numbers_from_{first}" if first else "lane_numbers"
            value = b.add32(value, b.const_lanes(numbers, name), "lane l is l blocks ahead")
        elif first:
            value = b.add32(value, self._number(first), "the next counter")
        self._next = b.variable(value, "counter")

    @classmethod
    def at(cls, b: Builder, kernel: GcmKernel, place: Mem) -> "Counters":
        """Record the load of the counter block at `place`."""
        block = b.load_spread(place, kernel.lane_count, "counter block")
        return cls(b, kernel, block)

    def blocks(self, count: int) -> list[VReg]:
        """Record the counter blocks of so many whole registers, and step over them."""
        out = self.last_blocks(count)
        self.skip(self.lanes * count)
        return out

    def last_blocks(self, count: int) -> list[VReg]:
        """Record the counter blocks of so many whole registers, the last of a text."""
        return [self._block(self._ahead(self.lanes * i)) for i in range(count)]

    def following(self, count: int) -> list[VReg]:
        """Record the counter blocks of so many registers behind the next one; step over none."""
        return [self._block(self._ahead(self.lanes * (i + 1))) for i in range(count)]

    def _ahead(self, blocks: int) -> VReg:
        """Return the counters so many blocks ahead: each a sum of its own, which none waits for."""
        if not blocks:
            return self._next
        return self.b.add32(self._next, self._number(blocks), f"{blocks} blocks ahead")

    def partial(self, lanes: int) -> VReg:
        """Record the counter blocks of `lanes` lanes, and step over none."""
        return self._block(self._next if lanes == self.lanes else self.b.first_lane(self._next))

    def skip(self, blocks: VReg | int) -> None:
        """Step over some blocks: a number, or a general register below 2^32."""
        b = self.b
        if isinstance(blocks, int):
            b.assign(self._next, b.add32(self._next, self._number(blocks), "the next counters"))
            return
        # Only lane 0 is told apart from here on: nothing but the counter itself is wanted.
        b.assign(self._next, b.add32(self._next, b.from_gpr(blocks), "blocks done"))

    def store(self, place: Mem) -> None:
        """Record the store of the counter block of the next block of text."""
        raw = self._block(self.b.first_lane(self._next))
        self.b.store(place, raw, "counter block")

    def _number(self, blocks: int) -> Value:
        """Return a number of blocks in the first word of every lane."""
        return self.b.const(blocks, "one" if blocks == 1 else f"blocks_{blocks}")

    def _block(self, counters: VReg) -> VReg:
        b = self.b
        return b.shuffle_bytes(counters, b.const(BYTE_SWAP, "byte_swap"), "counter block")


def next_block(b: Builder, block: VReg) -> VReg:
    """Record inc32 of a counter block, both as they are in memory."""
    swap = b.const(BYTE_SWAP, "byte_swap")
    last_first = b.shuffle_bytes(block, swap, "counter, last word first")
    return b.shuffle_bytes(b.add32(last_first, b.const(1, "one")), swap, "the next counter block")

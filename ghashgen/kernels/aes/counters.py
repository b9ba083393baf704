"""Counter blocks (SP 800-38D, section 6.2: inc32 counts in the last 32 bits, modulo 2^32).

The register holds counter blocks with their bytes reversed. The last word is then the first of a
lane, in the order that word additions need. The next block costs one sum, one shuffle and the
addition of k_0, for any counter value. Lane l is l blocks ahead.
"""

from ghashgen.ir.builder import Builder, Value
from ghashgen.ir.program import Mem, VReg
from ghashgen.kernels.aes.cipher import AesKernel
from ghashgen.kernels.memory import BYTE_SWAP


class Counters:
    """The loop-carried register of counters."""

    def __init__(
        self, b: Builder, kernel: AesKernel, block: VReg, first: int = 0, kept: bool = True,
        reverses: bool = False,
    ) -> None:  # fmt: skip
        """Start counting from `block`, which every lane holds in memory order, or reversed.

        The first block taken is `first` blocks after it. `kept` is false if nothing needs the
        counter after the text, as in a whole message.
        """
        self.b, self.lanes, self.kept = b, kernel.lane_count, kept
        self.first = block
        self._next = b.variable(self._from(block, first, reverses), "counter")

    def _from(self, block: VReg, first: int, reverses: bool = False) -> VReg:
        b, value = self.b, block
        if not reverses:
            swap = b.const(BYTE_SWAP, "byte_swap")
            value = b.shuffle_bytes(block, swap, "counter, last word first")
        if self.lanes > 1:
            numbers = range(first, first + self.lanes)
            name = f"lane_numbers_from_{first}" if first else "lane_numbers"
            value = b.add32(value, b.const_lanes(numbers, name), "lane l is l blocks ahead")
        elif first:
            value = b.add32(value, _number(b, first), "the next counter")
        return value

    def restart(self, place: Mem) -> None:
        """Record the load of another counter block, with which to start."""
        block = self.b.load_spread(place, self.lanes, "counter block")
        self.b.assign(self._next, self._from(block, 0))

    @classmethod
    def at(cls, b: Builder, kernel: AesKernel, place: Mem) -> "Counters":
        """Record the load of the counter block at `place`."""
        block = b.load_spread(place, kernel.lane_count, "counter block")
        return cls(b, kernel, block)

    def blocks(self, count: int) -> list[VReg]:
        """Record the counter blocks of `count` whole registers, and step over them."""
        out = self.last_blocks(count)
        self.skip(self.lanes * count)
        return out

    def last_blocks(self, count: int, first: int = 0) -> list[VReg]:
        """Record the counter blocks of the text's last `count` whole registers, from `first` on."""
        return [self._block(self._ahead(self.lanes * i)) for i in range(first, count)]

    @property
    def next(self) -> VReg:
        """The next counters, with their bytes reversed."""
        return self._next

    def before(self) -> VReg:
        """Record the counter blocks of the register before the next one."""
        return self._block(self._less(self.lanes))

    def following(self, count: int) -> list[VReg]:
        """Record the counter blocks of `count` registers after the next one, without stepping."""
        return [self._block(self._ahead(self.lanes * (i + 1))) for i in range(count)]

    def _ahead(self, blocks: int) -> VReg:
        """Return the counters `blocks` ahead. Each is a separate sum, so they do not wait in a
        chain.
        """
        if not blocks:
            return self._next
        return self.b.add32(self._next, _number(self.b, blocks), f"{blocks} blocks ahead")

    def partial(self, lanes: int) -> VReg:
        """Record the counter blocks of `lanes` lanes, without stepping."""
        return self._block(self._next if lanes == self.lanes else self.b.first_lane(self._next))

    def skip(self, blocks: VReg | int) -> None:
        """Step over `blocks`: a number, or a general register below 2^32."""
        b = self.b
        if isinstance(blocks, int):
            b.assign(self._next, b.add32(self._next, _number(self.b, blocks), "the next counters"))
            return
        # From here on only lane 0 differs: nothing needs more than the counter itself.
        b.assign(self._next, b.add32(self._next, b.from_gpr(blocks), "blocks done"))

    def resume(self, blocks: VReg) -> None:
        """Go on with these counter blocks, in memory order."""
        swap = self.b.const(BYTE_SWAP, "byte_swap")
        self.b.assign(self._next, self.b.shuffle_bytes(blocks, swap, "the counters to come"))

    def back(self, registers: int) -> None:
        """Step back over whole registers."""
        self.b.assign(self._next, self._less(registers * self.lanes))

    def _less(self, blocks: int) -> VReg:
        less = self.b.const((1 << 32) - blocks, f"minus_{blocks}")
        return self.b.add32(self._next, less, "the counters to come")

    def store(self, place: Mem) -> None:
        """Record the store of the next counter block."""
        raw = self._block(self.b.first_lane(self._next))
        self.b.store(place, raw, "counter block")

    def _block(self, counters: VReg) -> VReg:
        b = self.b
        return b.shuffle_bytes(counters, b.const(BYTE_SWAP, "byte_swap"), "counter block")


def _number(b: Builder, blocks: int) -> Value:
    """Return a number of blocks in the first word of every lane."""
    return b.const(blocks, "one" if blocks == 1 else f"blocks_{blocks}")


def next_block(b: Builder, block: VReg, count: int = 1) -> VReg:
    """Record inc32 of a counter block, `count` times. Input and output are in memory order."""
    swap = b.const(BYTE_SWAP, "byte_swap")
    last_first = b.shuffle_bytes(block, swap, "counter, last word first")
    return b.shuffle_bytes(b.add32(last_first, _number(b, count)), swap, "the next counter block")

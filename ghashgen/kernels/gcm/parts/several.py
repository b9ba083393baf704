"""A few whole blocks of a piece, each number of them on a path of its own.

The next piece waits for X, and a CPU's schedulers hold only a few pieces at a time. So these paths
have few operations: registers are just as wide as their blocks, nothing is read back that was
written, and there is one sum and one reduction.
"""

from dataclasses import dataclass
from functools import partial
from itertools import accumulate

from ghashgen.algebra.field.bitorder import BLOCK_BYTES
from ghashgen.ir.program import Label, Mem, VReg
from ghashgen.kernels.aes.cipher import RoundKeys, add_text
from ghashgen.kernels.aes.counters import next_block
from ghashgen.kernels.aes.text import IN_TEXT
from ghashgen.kernels.gcm.kernel import GcmKernel
from ghashgen.kernels.gcm.parts.plan import Sums, choose, products
from ghashgen.kernels.gcm.parts.stream import COUNTER, Stream
from ghashgen.kernels.hash.parts.interface import entries, finish_group, key_sum, to_register
from ghashgen.kernels.memory import BYTE_SWAP

_TWO_LANES = ((1,), (2,), (2, 1), (2, 2))

WIDTHS = {1: ((1,),), 2: _TWO_LANES, 4: (*_TWO_LANES, (4, 1), (4, 2), (4, 2, 1), (4, 4))}
"""The lanes of each register, for 1 block, 2 blocks …, by a kernel's lanes. Two registers of two
lanes take less time than one of four.
"""


def paths(kernel: GcmKernel) -> tuple[tuple[int, ...], ...]:
    """Return the paths of a kernel: for at most a group, whose powers of H its table has."""
    return WIDTHS[kernel.lane_count][: kernel.blocks]


def most_bytes(kernel: GcmKernel) -> int:
    """Return the bytes of the longest text with a path of its own."""
    return BLOCK_BYTES * len(paths(kernel))


@dataclass(frozen=True)
class Several:
    """Whole blocks, at least 1 and at most `most_bytes`."""

    stream: Stream
    X: VReg
    N: VReg
    """The next counter block, as in memory."""
    source: VReg
    out: VReg
    length: VReg
    encrypts: bool

    def record(self) -> None:
        """Record them, with X and N continued."""
        b, found = self.stream.b, paths(self.stream.kernel)
        cases = {BLOCK_BYTES * sum(widths): partial(self._path, widths) for widths in found}
        choose(b, self.length, cases, lambda least: f"from_{least}", lambda count: count // 2)
        b.label("done")

    def _path(self, widths: tuple[int, ...]) -> None:
        b, kernel, context = self.stream.b, self.stream.kernel, self.stream.context
        hashing, n, keys = kernel.hash, sum(widths), RoundKeys(b, kernel, context)
        at = [0, *accumulate(widths[:-1])]
        states = self._counter_blocks(widths, at) if n > 1 else [self.N]
        for i in range(keys.rounds):
            key = keys.key(i, widths[0])
            for j, lanes in enumerate(widths):
                part = b.first_lanes(key, lanes)
                if i == 0:
                    states[j] = b.xor(states[j], part, "+ k_0")
                else:
                    states[j] = b.aes_round(states[j], part, f"round {i}")
        b.assign(self.N, next_block(b, self.N, n))
        last, blocks = keys.last(widths[0]), []
        for first, state in zip(at, states, strict=True):
            lanes, disp = b.lanes_of(state), BLOCK_BYTES * first
            raw = b.load(Mem(base=self.source, disp=disp, within=IN_TEXT), "text", lanes)
            written = add_text(b, state, b.first_lanes(last, lanes), raw, "the other text")
            b.store(Mem(base=self.out, disp=disp, within=IN_TEXT), written, "written")
            blocks.append(to_register(b, hashing, written if self.encrypts else raw, "C"))
        blocks[0] = b.xor(blocks[0], self.X, "A = X + C")
        sums: Sums = {}
        for first, A in zip(at, blocks, strict=True):
            sums = products(b, hashing, sums, A, entries(hashing, context, n - first))
        b.assign(self.X, finish_group(b, hashing, sums, key_sum(hashing, context, n)))
        if widths != paths(kernel)[-1]:
            b.emit("jump", Label("done"))

    def _counter_blocks(self, widths: tuple[int, ...], at: list[int]) -> list[VReg]:
        b, most = self.stream.b, self.stream.kernel.lane_count
        swap = b.const(BYTE_SWAP, "byte_swap")
        spread = b.load_spread(self.stream.at(COUNTER), widths[0], "counter block")
        last_first = b.shuffle_bytes(spread, swap, "counter, last word first")
        out = []
        for first, lanes in zip(at, widths, strict=True):
            name = f"lane_numbers_from_{first}" if first else "lane_numbers"
            numbers = b.const_lanes(range(first, first + most), name)
            ahead = b.add32(b.first_lanes(last_first, lanes), numbers, "lane l is l blocks ahead")
            out.append(b.shuffle_bytes(ahead, swap, "counter blocks"))
        return out

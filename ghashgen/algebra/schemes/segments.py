"""Splits one GHASH among workers, and combines the partial hashes.

GHASH is one polynomial in H: M_1·H^b + M_2·H^(b-1) + … + M_b·H. Any set of its terms can be summed
separately and moved into place by a power of H. So for segments s with partial hashes t_s

    GHASH(state, M) = state·H^b + Σ t_s·H^(blocks after the last block of s)

Two splits share one interface. `split` is contiguous (papers/kryptus-parallel-ghash-contiguous,
section 3.1): t_s is the GHASH of a piece of the message. `interleave` deals out the blocks in turn,
like the even and odd blocks of McGrew and Viega (the same paper, section 2): t_s is a Horner sum
with steps of H^workers, closed with H, so that the outer factor is the same.

Nothing here knows the field: `mul` and `xor` are parameters.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from ghashgen.algebra.field.bitorder import BLOCK_BYTES

T = TypeVar("T")

Binary = Callable[[T, T], T]


@dataclass(frozen=True)
class Segment:
    """The blocks of one worker: one or more, `stride` blocks apart; the last may be partial."""

    start: int
    """Offset of the first block in the message, in bytes; a multiple of 16."""
    length: int
    """Bytes of message in the segment's blocks, without padding."""
    stride: int = 1
    """Distance in blocks from one block of the segment to the next; 1 if contiguous."""

    @property
    def blocks(self) -> int:
        """The number of blocks, a partial one included."""
        return -(-self.length // BLOCK_BYTES)

    @property
    def indices(self) -> range:
        """Numbers of the segment's blocks in the message, from 0."""
        first = self.start // BLOCK_BYTES
        return range(first, first + self.blocks * self.stride, self.stride)


def split(total_bytes: int, workers: int) -> tuple[Segment, ...]:
    """Divide a message into contiguous segments, one for each worker (section 3.1).

    Blocks are dealt out evenly; the first workers (never the last) get one more each if some are
    left over. A partial block goes to the last worker. With fewer blocks than workers, only as many
    workers get a segment, of one block each; the partial block is the last of these. No bytes give
    no segments.

    Raises ValueError if total_bytes < 0 or workers < 1.
    """
    blocks = _blocks(total_bytes, workers)
    each, left_over = divmod(blocks, workers)
    segments = []
    start = 0
    for worker in range(min(workers, blocks)):
        end = start + BLOCK_BYTES * (each + (worker < left_over))
        segments.append(Segment(start, min(end, total_bytes) - start))
        start = end
    return tuple(segments)


def interleave(total_bytes: int, workers: int) -> tuple[Segment, ...]:
    """Deal the blocks out in turn: worker j gets the blocks j, j + workers, j + 2·workers, …

    With fewer blocks than workers, only as many workers get a segment.

    Raises ValueError if total_bytes < 0 or workers < 1.
    """
    blocks = _blocks(total_bytes, workers)
    padding = blocks * BLOCK_BYTES - total_bytes
    segments = []
    for first in range(min(workers, blocks)):
        indices = range(first, blocks, workers)
        length = len(indices) * BLOCK_BYTES - (padding if indices[-1] == blocks - 1 else 0)
        segments.append(Segment(first * BLOCK_BYTES, length, workers))
    return tuple(segments)


def _blocks(total_bytes: int, workers: int) -> int:
    if total_bytes < 0:
        raise ValueError(f"a message has 0 or more bytes, not {total_bytes}")
    if workers < 1:
        raise ValueError(f"there is at least one worker, not {workers}")
    return -(-total_bytes // BLOCK_BYTES)


def blocks_after(segments: Sequence[Segment]) -> tuple[int, ...]:
    """Return, for each segment, the number of the message's blocks after its last block.

    This is the exponent of H that its partial hash is multiplied by.
    """
    total = sum(segment.blocks for segment in segments)
    return tuple(total - 1 - segment.indices[-1] for segment in segments)


@dataclass(frozen=True)
class Product:
    """One multiplication of a plan: H^exponent = H^left · H^right, exponent = left + right."""

    exponent: int
    left: int
    right: int


def ladder(largest: int) -> tuple[Product, ...]:
    """Return the squarings for H^2, H^4, H^8, … up to the last H^(2^i) with 2^i <= largest.

    The paper keeps 32 of these powers, from H to H^(2^31) (section 3.2).
    """
    return tuple(Product(2 << i, 1 << i, 1 << i) for i in range(largest.bit_length() - 1))


def plan(exponents: Iterable[int]) -> tuple[Product, ...]:
    """Return the multiplications, in order, that give H^e for every e in `exponents`.

    Exponents are taken in increasing order: H^e = H^(e-last)·H^last (section 3.2), where H^(e-last)
    is a product of ladder powers. No power is computed twice; H^0 and H cost nothing.

    Raises ValueError if an exponent is negative.
    """
    wanted = sorted(set(exponents))
    if wanted and wanted[0] < 0:
        raise ValueError(f"an exponent of H is 0 or more, not {wanted[0]}")
    increments = [e - last for last, e in zip([0, *wanted], wanted, strict=False)]
    products = list(ladder(max(increments, default=0)))
    known = {0, 1, *(product.exponent for product in products)}

    def reach(left: int, right: int) -> None:
        if left + right not in known:
            known.add(left + right)
            products.append(Product(left + right, left, right))

    for increment, e in zip(increments, wanted, strict=True):
        made = 0
        for i in range(increment.bit_length()):
            if increment >> i & 1:
                reach(made, 1 << i)
                made += 1 << i
        reach(increment, e - increment)
    return tuple(products)


def powers(mul: Binary[T], H: T, products: Sequence[Product]) -> dict[int, T]:
    """Carry out a plan: return H^e by exponent, from 1. H^0 is left out because it multiplies
    nothing.
    """
    out = {1: H}
    for product in products:
        out[product.exponent] = mul(out[product.left], out[product.right])
    return out


def exponents(segments: Sequence[Segment]) -> tuple[int, ...]:
    """Return every power that the workers and `combine` need, increasing: steps, places, state."""
    total = sum(segment.blocks for segment in segments)
    steps = (segment.stride for segment in segments)
    return tuple(sorted({*steps, *blocks_after(segments), total}))


def partial(
    mul: Binary[T], xor: Binary[T], segment: Segment, blocks: Sequence[T], power: Mapping[int, T]
) -> T:
    """Return one worker's partial hash t_s, from the blocks of the whole message.

    Horner's rule with steps of H^stride, closed with H; for a contiguous segment, its GHASH.
    """
    first, *rest = segment.indices
    total = blocks[first]
    for index in rest:
        total = xor(mul(total, power[segment.stride]), blocks[index])
    return mul(total, power[1])


def combine(
    mul: Binary[T],
    xor: Binary[T],
    state: T,
    segments: Sequence[Segment],
    partials: Sequence[T],
    power: Mapping[int, T],
) -> T:
    """Return state·H^b + Σ t_s·H^(blocks after s), where b is the number of blocks in all segments.

    `power` holds what `exponents` lists. Raises ValueError unless each segment has one partial.
    """

    def moved(value: T, exponent: int) -> T:
        return mul(value, power[exponent]) if exponent else value

    total = moved(state, sum(segment.blocks for segment in segments))
    for value, exponent in zip(partials, blocks_after(segments), strict=True):
        total = xor(total, moved(value, exponent))
    return total

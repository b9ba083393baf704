"""Segments for threads: the splits by brute force, the plan of powers, GHASH put together again."""

import operator
import random
from collections.abc import Callable

import pytest

from ghashgen.algebra.field import gf128
from ghashgen.algebra.field.bitorder import block_from_element, element_from_block
from ghashgen.algebra.field.ghash import ghash, ghash_padded, pad16
from ghashgen.algebra.schemes import segments
from ghashgen.algebra.schemes.segments import Segment

CASES = [(size, workers) for size in range(0, 420, 3) for workers in range(1, 12)]
SPLITS = (segments.split, segments.interleave)

Split = Callable[[int, int], tuple[Segment, ...]]


def paper_bytes(total: int, workers: int) -> list[int]:
    """Section 3.1 to the letter: the bytes of each worker, W_0 … W_{N-1}."""
    blocks, trailing = total // 16, total % 16
    if trailing:
        blocks += 1
    W = [blocks // workers * 16 for _ in range(workers)]
    for i in range(blocks % workers):
        W[i] += 16
    if trailing:
        W[-1] += trailing - 16
    return W


def test_split_of_the_papers_example() -> None:
    assert [s.length for s in segments.split(88, 4)] == [32, 32, 16, 8]
    assert paper_bytes(88, 4) == [32, 32, 16, 8]


def test_split_is_the_papers_procedure_wherever_every_worker_has_a_block() -> None:
    checked = 0
    for size, workers in CASES:
        if -(-size // 16) >= workers:
            assert [s.length for s in segments.split(size, workers)] == paper_bytes(size, workers)
            checked += 1
    assert checked > len(CASES) // 2


def test_the_papers_procedure_fails_with_fewer_blocks_than_workers_and_split_does_not() -> None:
    assert paper_bytes(8, 4) == [16, 0, 0, -8]
    assert segments.split(8, 4) == (Segment(0, 8),)
    assert segments.split(40, 4) == (Segment(0, 16), Segment(16, 16), Segment(32, 8))


def test_split_deals_every_block_once_contiguously_and_evenly() -> None:
    for size, workers in CASES:
        parts = segments.split(size, workers)
        ends = [s.start + s.length for s in parts]
        assert [s.start for s in parts] == [0, *ends[:-1]][: len(parts)]
        assert (ends[-1] if ends else 0) == size
        assert all(s.start % 16 == 0 and s.length > 0 and s.stride == 1 for s in parts)
        assert all(s.length % 16 == 0 for s in parts[:-1])
        assert len(parts) == min(workers, -(-size // 16))
        counts = [s.blocks for s in parts]
        assert counts == sorted(counts, reverse=True)
        assert not counts or counts[0] - counts[-1] <= 1


@pytest.mark.parametrize("split", SPLITS)
def test_indices_and_blocks_after_agree_with_a_list_of_owners(split: Split) -> None:
    for size, workers in CASES:
        parts = split(size, workers)
        blocks = -(-size // 16)
        owners = sorted((i, s) for s, part in enumerate(parts) for i in part.indices)
        assert [i for i, _ in owners] == list(range(blocks))
        lengths = [0] * len(parts)
        last = [0] * len(parts)
        for i, s in owners:
            lengths[s] += min(16, size - 16 * i)
            last[s] = i
        assert lengths == [part.length for part in parts]
        assert segments.blocks_after(parts) == tuple(blocks - 1 - i for i in last)


def test_interleave_deals_even_and_odd_blocks() -> None:
    assert segments.interleave(88, 2) == (Segment(0, 48, 2), Segment(16, 40, 2))
    assert [list(s.indices) for s in segments.interleave(88, 2)] == [[0, 2, 4], [1, 3, 5]]


@pytest.mark.parametrize("split", SPLITS)
def test_nothing_to_split_and_bad_arguments(split: Split) -> None:
    assert split(0, 3) == ()
    with pytest.raises(ValueError, match="not -1"):
        split(-1, 3)
    with pytest.raises(ValueError, match="at least one worker, not 0"):
        split(16, 0)


def test_plan_does_every_product_after_its_factors_and_none_twice() -> None:
    rng = random.Random(7)
    for _ in range(200):
        wanted = [rng.getrandbits(rng.randrange(1, 40)) for _ in range(rng.randrange(0, 9))]
        known = {0, 1}
        for product in segments.plan(wanted):
            assert product.exponent == product.left + product.right
            assert {product.left, product.right} <= known - {0}
            assert product.exponent not in known
            known.add(product.exponent)
        assert set(wanted) <= known


def test_plan_reuses_the_last_power() -> None:
    steps = segments.plan([4, 8, 12])
    assert [(p.exponent, p.left, p.right) for p in steps] == [
        (2, 1, 1),
        (4, 2, 2),
        (8, 4, 4),
        (12, 4, 8),
    ]
    assert len(segments.plan([1 << 31])) == 31
    assert segments.plan([]) == segments.plan([0, 1]) == ()
    with pytest.raises(ValueError, match="not -2"):
        segments.plan([3, -2])


def test_ladder_is_the_papers_32_powers() -> None:
    assert [p.exponent for p in segments.ladder((1 << 32) - 1)] == [1 << i for i in range(1, 32)]
    assert segments.ladder(1) == segments.ladder(0) == ()


def hash_apart(split: Split, h: bytes, state: bytes, data: bytes, workers: int) -> bytes:
    parts = split(len(data), workers)
    padded = pad16(data)
    blocks = [element_from_block(padded[i : i + 16]) for i in range(0, len(padded), 16)]
    plan = segments.plan(segments.exponents(parts))
    power = segments.powers(gf128.mul, element_from_block(h), plan)
    t = [segments.partial(gf128.mul, operator.xor, part, blocks, power) for part in parts]
    start = element_from_block(state)
    return block_from_element(segments.combine(gf128.mul, operator.xor, start, parts, t, power))


@pytest.mark.parametrize("split", SPLITS)
@pytest.mark.parametrize("workers", [1, 2, 3, 4, 7, 8])
def test_combined_hash_is_ghash(split: Split, workers: int) -> None:
    rng = random.Random(workers)
    for size in (0, 1, 15, 16, 17, 31, 32, 63, 88, 100, 112, 128, 129, 240, 257):
        h, state, data = rng.randbytes(16), rng.randbytes(16), rng.randbytes(size)
        assert hash_apart(split, h, state, data, workers) == ghash_padded(h, state, data)


def test_a_contiguous_partial_is_the_ghash_of_its_piece() -> None:
    rng = random.Random(3)
    h, data = rng.randbytes(16), rng.randbytes(160)
    blocks = [element_from_block(data[i : i + 16]) for i in range(0, 160, 16)]
    for part in segments.split(160, 3):
        t = segments.partial(gf128.mul, operator.xor, part, blocks, {1: element_from_block(h)})
        piece = data[part.start : part.start + part.length]
        assert block_from_element(t) == ghash(h, piece)


def test_combine_notices_a_shifted_power_and_a_missing_partial() -> None:
    rng = random.Random(5)
    h, data = rng.randbytes(16), rng.randbytes(80)
    parts = segments.split(80, 2)
    H = element_from_block(h)
    blocks = [element_from_block(data[i : i + 16]) for i in range(0, 80, 16)]
    power = segments.powers(gf128.mul, H, segments.plan(range(1, 8)))
    t = [segments.partial(gf128.mul, operator.xor, part, blocks, power) for part in parts]
    shifted = {e: gf128.mul(value, H) for e, value in power.items()}
    good = segments.combine(gf128.mul, operator.xor, 0, parts, t, power)
    assert block_from_element(good) == ghash(h, data)
    assert segments.combine(gf128.mul, operator.xor, 0, parts, t, shifted) != good
    with pytest.raises(ValueError, match="zip"):
        segments.combine(gf128.mul, operator.xor, 0, parts, t[:1], power)

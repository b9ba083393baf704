"""Keys and lengths that trials of every AES mode draw."""

from collections.abc import Sequence

from ghashgen.algebra.field.bitorder import BLOCK_BYTES
from ghashgen.check.attack.accepted import Accepted
from ghashgen.kernels.core import Point

_FAR = 40
"""Largest number of groups before a random long text's tail; then every length of a group is
run.
"""
_LONGEST = 70_000


def keys(found: Accepted[Point], size: int) -> Sequence[bytes]:
    """Return keys to expand: with a single one bit, all zero, all one, random."""
    bits = [(1 << k).to_bytes(size, "big") for k in range(8 * size)]
    drawn = (found.rng.randbytes(size) for _ in range(64))
    return [bytes(size), b"\xff" * size, *bits, *drawn][:: 16 if found.few else 1]


def lengths(
    found: Accepted[Point], blocks: int
) -> tuple[Sequence[int], Sequence[int], Sequence[int]]:
    """Return lengths in bytes for groups of `blocks`: near, of a whole group further on, long."""
    group, rng, few = BLOCK_BYTES * blocks, found.rng, found.few
    near = range(3 * group + 2 * BLOCK_BYTES + 1)
    start = group * rng.randrange(3, _FAR) + rng.randrange(group)
    far = range(start, start + group + BLOCK_BYTES)
    long = [rng.randrange(near.stop, _LONGEST) for _ in range(1 if few else 6)]
    return (
        (rng.sample(near, min(len(near), 64)), rng.sample(far, 4), long)
        if few
        else (near, far, long)
    )

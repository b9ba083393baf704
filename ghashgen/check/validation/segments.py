"""Splits messages into segments: cases for kernels that export power and combine.

Every chunk of a vector is hashed from state 0, as a thread would, and folded in from the left with
the power for its number of blocks. The final state must be that of updates in turn: pyca's answer.
"""

import random
from collections.abc import Iterable, Iterator
from itertools import pairwise

from ghashgen.algebra.field.bitorder import (
    BLOCK_BYTES,
    block_from_element,
    byte_reverse,
    element_from_block,
)
from ghashgen.algebra.field.gf128 import X_INVERSE, mul
from ghashgen.algebra.field.powers import power
from ghashgen.check.validation.cases import SEED, Case
from ghashgen.run.harness import Vector

EXPONENTS = (*range(34), *(1 << i for i in range(6, 64)), *((1 << i) - 1 for i in range(6, 65)))
"""Exponents of H to run: small ones, single bits, runs of ones up to 2^64 - 1."""


def resplit(cases: Iterable[Case], most: int) -> Iterator[Case]:
    """Yield `most` of the cases, evenly chosen, each cut at random block boundaries.

    Some segments are empty, and the last block is partial if the case's is.
    """
    rng = random.Random(SEED + 5)
    found = list(cases)
    for case in found[:: max(1, len(found) // most)]:
        pieces: list[bytes] = []
        for chunk in case.vector.chunks:
            blocks = len(chunk) // BLOCK_BYTES
            marks = sorted(BLOCK_BYTES * rng.randint(0, blocks) for _ in range(rng.randrange(5)))
            cuts = [0, *marks, len(chunk)]
            pieces += [chunk[a:b] for a, b in pairwise(cuts)]
        vector = Vector(case.vector.h, case.vector.x, tuple(pieces))
        what = f"{case.what} in {len(pieces)} segments"
        yield Case(vector, what, expected=case.expected, mask=case.mask)


def power_of(h: bytes, m: int, op: str) -> bytes:
    """Return H^m in the form of h: by POLYVAL's dot, or GHASH's product of elements times x."""
    if op == "ghash":
        return block_from_element(power(element_from_block(h), m))
    twisted = mul(power(mul(element_from_block(byte_reverse(h)), 2), m), X_INVERSE)
    return byte_reverse(block_from_element(twisted))


def powers(op: str) -> list[Case]:
    """Return cases for NAME_power; the first 8 bytes of a vector's x are m, little-endian.

    Answers come from the field's specification, because no library exports this.
    """
    rng = random.Random(SEED + 6)
    out = []
    for m in [*EXPONENTS, *(rng.getrandbits(64) for _ in range(32))]:
        h = rng.randbytes(BLOCK_BYTES)
        vector = Vector(h, m.to_bytes(8, "little") + bytes(8))
        out.append(Case(vector, f"power of {m}", expected=power_of(h, m, op)))
    return out

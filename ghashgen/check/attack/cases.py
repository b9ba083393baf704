"""Calls with answers from the field: every length up to three groups, far ones, edges."""

import random
from collections.abc import Sequence

from ghashgen.algebra.field.bitorder import BLOCK_BYTES
from ghashgen.check.validation.cases import ZERO, Case
from ghashgen.check.validation.hashes import product, states
from ghashgen.check.validation.segments import EXPONENTS, power_of
from ghashgen.run.harness import Vector

ONES = b"\xff" * BLOCK_BYTES
_FAR = 40
"""Largest number of groups before a random long message's tail; then every length of a group is
run.
"""
_LONGEST = 70_000
"""Length of the longest message in bytes."""


def _keys(rng: random.Random) -> list[tuple[bytes, bytes]]:
    """Return hash subkeys with states: random, all zero and all one."""
    return [
        (rng.randbytes(BLOCK_BYTES), rng.randbytes(BLOCK_BYTES)),
        (ONES, ONES),
        (rng.randbytes(BLOCK_BYTES), ZERO),
        (ZERO, rng.randbytes(BLOCK_BYTES)),
    ]


def updates(op: str, blocks: int, rng: random.Random, few: bool) -> list[Case]:
    """Return cases for init and update; `few` thins them out for the emulator."""
    group = BLOCK_BYTES * blocks
    near = range(3 * group + 2 * BLOCK_BYTES + 1)
    start = group * rng.randrange(3, _FAR) + rng.randrange(group)
    far = range(start, start + group + BLOCK_BYTES)
    long = sorted(rng.randrange(near.stop, _LONGEST) for _ in range(1 if few else 6))
    out: list[Case] = []
    for h, x in _keys(rng):
        sets: list[Sequence[int]] = [near, far, long]
        if few:
            sets = [sorted(rng.sample(near, min(len(near), 64))), rng.sample(far, 4), long]
            sets = [sorted(lengths) for lengths in sets]
        if out and not few:
            sets = sets[:2]
        for lengths in sets:
            ones = h == ONES
            data = b"\xff" * lengths[-1] if ones else rng.randbytes(lengths[-1])
            right = states(op, h, x, data, lengths)
            out += [
                Case(Vector(h, x, (data[:n],)), f"update of {n} bytes", expected=state)
                for n, state in zip(lengths, right, strict=True)
            ]
        if few:
            break
    return out


def products(op: str, rng: random.Random) -> list[Case]:
    """Return cases for init and mul: single bits, all zero, all one, random."""
    bits = [(1 << k).to_bytes(BLOCK_BYTES, "big") for k in range(8 * BLOCK_BYTES)]
    h = rng.randbytes(BLOCK_BYTES)
    pairs = [(h, x) for x in (ZERO, ONES, *bits)] + [(b, h) for b in (ZERO, ONES, *bits)]
    return [Case(Vector(h, x), "mul", expected=product(op, x, h)) for h, x in pairs]


def powers(op: str, rng: random.Random) -> list[Case]:
    """Return cases for init and power: small exponents, runs of ones, random ones."""
    h = rng.randbytes(BLOCK_BYTES)
    return [
        Case(
            Vector(h, m.to_bytes(8, "little") + bytes(8)),
            f"power of {m}",
            expected=power_of(h, m, op),
        )
        for m in (*EXPONENTS, *(rng.getrandbits(64) for _ in range(16)))
    ]


def segments(cases: Sequence[Case], rng: random.Random) -> list[Case]:
    """Return some messages of `updates`, cut in two: hashed apart and combined."""
    out = []
    for case in cases[:: max(1, len(cases) // 40)]:
        (chunk,) = case.vector.chunks
        cut = BLOCK_BYTES * rng.randint(0, len(chunk) // BLOCK_BYTES)
        vector = Vector(case.vector.h, case.vector.x, (chunk[:cut], chunk[cut:]))
        out.append(Case(vector, f"{case.what}, combined at {cut}", expected=case.expected))
    return out

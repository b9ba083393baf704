"""The second line behind power: run some exponents without the induction over their bits.

The factors are named like those of init: a register that equals H^(a+b), as a form in the bits of
H^a and H^b, becomes the variable of that power. So the degree stays at 2 for any number of bits,
and each exponent is shown for every H.
"""

import random

from ghashgen.verify.core.lengths import Claim
from ghashgen.verify.engine.behind import spread

EXPONENT_BITS = 64
"""Bits of power's exponent."""

SMALL = 128
"""Every exponent below this is run, from the least."""

AROUND = 1
"""How far around every power of two exponents are run."""

ANY = 32
"""The number of random exponents: one from each of ANY equal parts of the claim."""


def exponents(claim: Claim, first: int, name: str) -> list[int]:
    """Return the exponents to run, from `first` on, in order; `name` is the sample's seed."""
    chosen = set(range(first, first + SMALL))
    for k in range(EXPONENT_BITS + 1):
        chosen.update(range((1 << k) - AROUND, (1 << k) + AROUND + 1))
    chosen.update(spread(random.Random(name), range(first, claim.last + 1), ANY))
    return sorted(m for m in chosen if first <= m <= claim.last)

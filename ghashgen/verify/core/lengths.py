"""The lengths or exponents of a theorem, in one object for the proof and the claim.

A proof shows single numbers by execution and progressions by induction. `Claim.missing` checks that
they cover the claim. The report's words come from the same object.
"""

import math
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from ghashgen.verify.core.values import Affine, equals


@dataclass(frozen=True)
class Claim:
    """All multiples of `step` from 0 to `bound`. `unknown` names any one of them."""

    step: int
    bound: int
    unknown: str

    @property
    def last(self) -> int:
        """The greatest number of the claim."""
        return self.bound - self.bound % self.step

    def above(self, first: int) -> Affine:
        """Return the claim's numbers from `first`, a multiple of the step, as one unknown."""
        return Affine(self.step, 0, first // self.step, self.last // self.step, self.unknown)

    def split(self, group: int, first: int) -> Iterator[Affine]:
        """Yield the numbers from group·first on as group·u + rest, for every rest."""
        for rest in range(0, group, self.step):
            yield Affine(group, rest, first, (self.last - rest) // group, self.unknown)

    def missing(self, numbers: Collection[int], progressions: Sequence[Affine]) -> int | None:
        """Return a number of the claim that none of these covers, or None."""
        period = math.lcm(self.step, *(abs(p.scale) for p in progressions))
        for number in range(0, min(period, self.last + 1), self.step):
            while number <= self.last:
                if number not in numbers:
                    ends = [p.greatest for p in progressions if equals(p, number) is not False]
                    if not ends:
                        return number
                    # Whatever follows at this distance lies in the same progression.
                    number += (max(ends) - number) // period * period
                number += period
        return None

    def text(self, first: int) -> str:
        """Return the claim's numbers from `first` on in words."""
        return f"{first}..{self.bound}" + (f", multiples of {self.step}" if self.step > 1 else "")

"""Which lengths, or exponents, a theorem is about: one object that is proved and that is claimed.

A proof shows single numbers by execution and progressions by induction. `Claim.missing` says
whether these are all of what is claimed; the report's words come from the same claim.
"""

import math
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from ghashgen.verify.core.values import Affine, equals


@dataclass(frozen=True)
class Claim:
    """All multiples of `step` from 0 to `bound`, of which `unknown` is any."""

    step: int
    bound: int
    unknown: str

    @property
    def last(self) -> int:
        """The greatest number of the claim."""
        return self.bound - self.bound % self.step

    def above(self, first: int) -> Affine:
        """Return the numbers from `first`, a multiple of the step, as one unknown."""
        return Affine(self.step, 0, first // self.step, self.last // self.step, self.unknown)

    def split(self, group: int, first: int) -> Iterator[Affine]:
        """Yield the numbers from group·first on as group·u + rest, for every rest."""
        for rest in range(0, group, self.step):
            yield Affine(group, rest, first, (self.last - rest) // group, self.unknown)

    def missing(self, numbers: Collection[int], progressions: Sequence[Affine]) -> int | None:
        """Return a number of the claim that is in none of these, None if all of them are."""
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
        """Return the numbers from `first` on in words."""
        return f"{first}..{self.bound}" + (f", multiples of {self.step}" if self.step > 1 else "")

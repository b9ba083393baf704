"""Numbers with several unknowns, and what is known of the unknowns: the checker's only arithmetic.

    Linear   c + sum of k·u over named unknowns u; exact, of any sign
    Facts    a range for each unknown, and linear numbers that are not negative

A question is answered for every value that the facts allow, or with None. An operation on registers
is exact for all of them, or it is refused with `Fork`, which says by which cases it would be.
Facts are the one place where ranges stand: a number does not change when more becomes known of it.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import chain
from math import gcd
from typing import Any

from ghashgen.verify.core.numbers import Number, combined, linear, parts, replaced, times, unknown
from ghashgen.verify.core.refutation import unsupported
from ghashgen.verify.core.term import Term
from ghashgen.verify.core.values import M64, Linear, Pointer, UndecidedError, Value, signed


class Fork(UndecidedError):  # noqa: N818 - a question, with the cases of its answer
    """What is asked depends on the unknowns, by these cases; one of them always holds.

    A case is numbers that are not negative then, and unknowns with the numbers that they are.
    """

    def __init__(self, what: str, cases: "tuple[Case, ...]") -> None:
        super().__init__(what)
        self.cases = cases


@dataclass(frozen=True)
class Case:
    """What holds in one case of several."""

    not_negative: tuple[Number, ...] = ()
    values: tuple[tuple[str, Number], ...] = ()
    fresh: tuple[tuple[str, int, int], ...] = ()
    """Unknowns that come with it, and their ranges."""


MOST_CASES = 4096
"""So many values of a number are gone through one by one, at most."""


@dataclass(frozen=True)
class Facts:
    """What is known of the unknowns."""

    ranges: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    not_negative: tuple[Linear, ...] = ()
    among: Mapping[str, frozenset[int]] = field(default_factory=dict)
    """Of some unknowns, all that they may be."""
    found: dict[object, Any] = field(default_factory=dict, compare=False, repr=False)
    """What follows, as far as it was asked: most questions are asked again."""

    # What follows from the facts.

    def least(self, a: Number, more: int = 2) -> int:
        """Return a number that a is never below: by the ranges, and by up to `more` constraints."""
        return a if isinstance(a, int) else a.c + self._least(a.k, more)

    def _least(self, k: tuple[tuple[str, int], ...], more: int) -> int:
        """Return the same of the sum of k·u: a constant moves it by as much."""
        found: int | None = self.found.get((k, more))
        if found is None:
            found = self.found[k, more] = self._least_sum(dict(k), more)
        return found

    def _least_sum(self, k: Mapping[str, int], more: int) -> int:
        best, ranges = 0, self.ranges
        for u, n in k.items():
            best += n * ranges[u][n < 0]
        for known in self.not_negative if more else ():
            for u, n in known.k:
                m = k.get(u, 0)
                if m * n > 0:
                    # |n|·a >= |n|·a - |m|·known, where u cancels; a is a whole number.
                    whole, part = abs(n), abs(m)
                    rest = {v: whole * x for v, x in k.items()}
                    for v, x in known.k:
                        rest[v] = rest.get(v, 0) - part * x
                    low = self._least_sum(rest, more - 1) - part * known.c
                    best = max(best, -(-low // whole))
        return best

    def greatest(self, a: Number) -> int:
        """Return a number that a is never above."""
        if isinstance(a, int):
            return a
        return a.c - self._least(tuple((u, -n) for u, n in a.k), 2)

    def shows(self, a: Number) -> bool:
        """Return whether a is certainly not negative."""
        return self.least(a) >= 0

    def below(self, a: Number, bound: int) -> bool | None:
        """Return whether a < bound; None if that depends on the unknowns."""
        if isinstance(a, int):
            return a < bound
        if self.least(a) >= bound:
            return False
        return True if self.greatest(a) < bound else None

    def equals(self, a: Number, value: int) -> bool | None:
        """Return whether a = value; None if that depends on the unknowns."""
        if isinstance(a, int):
            return a == value
        if (value - a.c) % gcd(*(n for _, n in a.k)):
            return False
        low, high = self.least(a), self.greatest(a)
        if low > value or high < value:
            return False
        return True if low == high else None

    def bit(self, a: Number, k: int) -> bool | None:
        """Return bit k of a in two's complement; None if that depends on the unknowns."""
        if isinstance(a, int):
            return bool(a >> k & 1)
        if all(n % (2 << k) == 0 for _, n in a.k):
            return bool(a.c >> k & 1)
        first = self.least(a) >> k
        return bool(first & 1) if self.greatest(a) >> k == first else None

    def one_of(self, a: Number, values: frozenset[int]) -> bool:
        """Return whether a is certainly one of some values."""
        if isinstance(a, int):
            return a in values
        if a.c == 0 and len(a.k) == 1 and a.k[0][1] == 1 and a.k[0][0] in self.among:
            low, high = self.ranges[a.k[0][0]]
            return all(v in values for v in self.among[a.k[0][0]] if low <= v <= high)
        low, high = self.least(a), self.greatest(a)
        return high - low < MOST_CASES and all(v in values for v in range(low, high + 1))

    def fits(self, a: object, bits: int) -> bool:
        """Return whether a value certainly has no bit beyond the lowest `bits`."""
        if isinstance(a, int):
            return a >> bits == 0
        if isinstance(a, Term):
            return a.mask >> bits == 0
        if isinstance(a, Linear):
            return self.shows(a) and self.greatest(a) >> bits == 0
        return isinstance(a, Pointer) and bits == 64

    def possible(self) -> bool:
        """Return whether nothing that is known contradicts the rest, as far as that is seen."""
        return all(low <= high for low, high in self.ranges.values()) and all(
            self.greatest(known) >= 0 for known in self.not_negative
        )

    # Registers: modulo 2^bits.

    def reduced(self, a: Number, bits: int) -> Number:
        """Return a modulo 2^bits.

        Raises:
            Fork: how often it wraps around depends on the unknowns.
        """
        if isinstance(a, int):
            return a & (1 << bits) - 1
        wraps, most = self.least(a) >> bits, self.greatest(a) >> bits
        if wraps != most:
            half = wraps + most + 1 >> 1
            raise Fork("a number that may wrap around", compared(combined(a, half << bits, -1)))
        return combined(a, -(wraps << bits)) if wraps else a

    def as_signed(self, a: Number, bits: int) -> Number | None:
        """Return the number of the two's complement a of `bits` bits; None if its sign is open."""
        sign = self.bit(a, bits - 1)
        return None if sign is None else combined(a, -1 << bits) if sign else a

    def _amount(self, b: Number) -> Number:
        """Return a 64-bit number as the signed amount that an address moves by."""
        if isinstance(b, int):
            return signed(b & M64)
        value = self.as_signed(b, 64)
        if value is None:
            raise Fork("an amount of any sign", compared(combined(b, 1 << 63, -1)))
        return value

    def add(self, a: Value, b: Value, bits: int = 64, sign: int = 1) -> Value | None:
        """Return a + sign·b modulo 2^bits, or None if no row says what it is."""
        if isinstance(a, Number) and isinstance(b, Number):
            return self.reduced(combined(a, b, sign), bits)
        if sign > 0 and isinstance(b, Pointer):
            a, b = b, a
        if bits != 64 or not isinstance(a, Pointer):
            return None
        if isinstance(b, Number):
            return Pointer(a.region, combined(a.offset, self._amount(b), sign))
        if sign < 0 and isinstance(b, Pointer) and a.region == b.region:
            return self.reduced(combined(a.offset, b.offset, -1), 64)
        return None

    def shift_right(self, a: Linear, count: int) -> Number:
        """Return a >> count, a being not negative.

        Raises:
            Fork: which bits are shifted out depends on the unknowns.
        """
        low = self.low_bits(a, count)
        moved = combined(a, low, -1)
        c, k = parts(moved)
        return linear(c >> count, {u: n >> count for u, n in k})

    def low_bits(self, a: Number, count: int) -> int:
        """Return the lowest bits of a.

        Raises:
            Fork: they depend on the unknowns.
        """
        step = 1 << count
        if isinstance(a, Linear) and any(n % step for _, n in a.k):
            raise Fork("the low bits of a number", self.residues(a, step))
        return parts(a)[0] % step

    def mask_number(self, a: Linear, mask: int, bits: int = 64) -> Number:
        """Return a AND mask, for a mask among low bits or of all but low bits."""
        ones = (1 << bits) - 1
        if not mask & mask + 1:
            if self.fits(a, mask.bit_length()):
                return a
            return self.low_bits(a, mask.bit_length())
        rest = mask ^ ones
        if not rest & rest + 1:
            return combined(a, self.low_bits(a, rest.bit_length()), -1)
        if mask < MOST_CASES:
            return self.low_bits(a, mask.bit_length()) & mask
        raise UndecidedError("a mask of a number with unknowns")

    # Cases. What is chosen here is never wrong: the cases of one question are all that there are.

    def small(self, names: frozenset[str]) -> Iterator[tuple[Linear, str]]:
        """Yield numbers of few values, each with an unknown of `names` that stands in it once."""
        for u in sorted(names):
            low, high = self.ranges[u]
            if high - low < MOST_CASES:
                yield unknown(u), u
        for known in self.not_negative:
            step = gcd(*(n for _, n in known.k))
            e = Linear(0, tuple((u, n // step) for u, n in known.k))
            for u, n in e.k:
                if u in names and abs(n) == 1 and self.greatest(e) - self.least(e) < MOST_CASES:
                    yield e, u

    def residues(self, a: Linear, step: int) -> tuple[Case, ...]:
        """Return the cases of a modulo a step, by what one of its unknowns is then.

        Raises:
            UndecidedError: there is no unknown for it.
        """
        odd = frozenset(u for u, n in a.k if n % step)
        u = min(odd, key=lambda name: (dict(a.k)[name] & -dict(a.k)[name], name))
        e = a
        # Of a sum the residue is one number, however many those of its parts are.
        if len(odd) == 1 or abs(dict(a.k)[u]) > 1:
            e, u = next(self.small(odd), (unknown(u), u))
        # Of 16·u modulo 64, u modulo 4 is enough.
        return self.each(e, u, step // gcd(dict(a.k)[u], step))

    def each(self, e: Linear, u: str, step: int = MOST_CASES) -> tuple[Case, ...]:
        """Return the cases of a number modulo a step, or of all its values if these are few.

        By what u is then, which stands in it once.
        """
        n, low, high = dict(e.k)[u], self.least(e), self.greatest(e)
        rest = combined(e, Linear(0, ((u, n),)), -1)
        if high - low < step:
            values = range(low, high + 1)
            return tuple(Case((), ((u, times(combined(v, rest, -1), n)),)) for v in values)
        fresh = f"{u}_{step}"
        if fresh in self.ranges:
            raise UndecidedError("a number divided twice")
        out = []
        for r in range(step):
            first, last = -((r - low) // step), (high - r) // step
            if first <= last:
                value = combined(Linear(r, ((fresh, step),)), rest, -1)
                out.append(Case((), ((u, times(value, n)),), ((fresh, first, last),)))
        return tuple(out)

    def negative(self, a: Number, what: str) -> bool:
        """Return whether a is negative, which has to be known.

        Raises:
            Fork: that depends on the unknowns.
        """
        answer = self.below(a, 0)
        if answer is None:
            raise Fork(what, compared(a))
        return answer

    def zero(self, a: Number, what: str) -> bool:
        """Return whether a is 0, which has to be known.

        Raises:
            Fork: that depends on the unknowns.
        """
        answer = self.equals(a, 0)
        if answer is None:
            raise Fork(what, equal_or_not(a))
        return answer

    def known(self, a: Number, at: int | None = None) -> int:
        """Return a number that has to be known.

        Raises:
            Fork: it is one of a few.
            Refutation: it is one of many.
        """
        if isinstance(a, Linear):
            self.near(a)
            raise unsupported(f"{a}, which has to be known", at)
        return a

    def near(self, a: Linear) -> None:
        """Ask for cases where a place depends on a number of few values.

        Raises:
            Fork: it does.
        """
        few = self.greatest(a) - self.least(a) < MOST_CASES
        own = ((a, u) for u, n in a.k if abs(n) == 1 and few)
        found = next(chain(own, self.small(frozenset(u for u, _ in a.k))), None)
        if found is not None:
            raise Fork("a place that is one of a few", self.each(*found))

    # More facts.

    def with_range(self, u: str, low: int, high: int) -> "Facts":
        """Return these facts and a new unknown."""
        if u in self.ranges:
            raise AssertionError(f"two unknowns of the name {u}")
        return Facts({**self.ranges, u: (low, high)}, self.not_negative, self.among)

    def with_values(self, values: Mapping[str, Number]) -> "Facts":
        """Return what is known where some unknowns are numbers: their ranges hold of these."""
        among = {u: known for u, known in self.among.items() if u not in values}
        out = Facts({u: r for u, r in self.ranges.items() if u not in values}, (), among)
        for u, value in values.items():
            if u in self.among and isinstance(value, int) and value not in self.among[u]:
                return out.with_not_negative(-1)
        news: list[Number] = [replaced(known, values) for known in self.not_negative]
        for u, value in values.items():
            low, high = self.ranges[u]
            news += [combined(value, low, -1), combined(high, value, -1)]
        return out.with_not_negative(*news)

    def with_not_negative(self, *numbers: Number) -> "Facts":
        """Return these facts, and that some numbers are not negative."""
        ranges, known = dict(self.ranges), list(self.not_negative)
        for a in numbers:
            if isinstance(a, int):
                if a < 0:
                    return Facts({**ranges, "": (0, -1)}, (), {})
            elif len(a.k) == 1:
                ((u, n),) = a.k
                low, high = ranges[u]
                ranges[u] = (max(low, -(a.c // n)), high) if n > 0 else (low, min(high, a.c // -n))
            else:
                step = gcd(*(n for _, n in a.k))
                a = Linear(a.c // step, tuple((u, n // step) for u, n in a.k))
                tighter = [e for e in known if e.k == a.k and e.c <= a.c]
                if not tighter:
                    known = [e for e in known if e.k != a.k] + [a]
        for a in known:
            for u, n in a.k:
                others = [(v, m) for v, m in a.k if v != u]
                most = a.c + sum(m * ranges[v][m > 0] for v, m in others)
                low, high = ranges[u]
                bound = most // abs(n)
                ranges[u] = (max(low, -bound), high) if n > 0 else (low, min(high, bound))
        for u, values in self.among.items():
            low, high = ranges[u]
            left = [v for v in values if low <= v <= high]
            ranges[u] = (min(left), max(left)) if left else (0, -1)
        return Facts(ranges, tuple(known), self.among)


def compared(e: Number) -> tuple[Case, ...]:
    """Return the cases that e is not negative, and that it is."""
    return Case((e,)), Case((combined(-1, e, -1),))


def equal_or_not(e: Number) -> tuple[Case, ...]:
    """Return the cases that e is 0, above and below."""
    for u, n in parts(e)[1]:
        if abs(n) == 1:
            rest = combined(e, Linear(0, ((u, n),)), -1)
            zero = Case((), ((u, times(rest, -n)),))
            break
    else:
        zero = Case((e, times(e, -1)))
    return zero, Case((combined(e, 1, -1),)), Case((combined(-1, e, -1),))

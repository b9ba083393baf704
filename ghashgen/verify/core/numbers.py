"""Numbers with several unknowns: c + sum of k·u, exact and of any sign."""

import re
from collections.abc import Mapping
from functools import cache

from ghashgen.verify.core.refutation import unsupported
from ghashgen.verify.core.values import Linear

Number = int | Linear
"""A number that is known is an int, never a Linear without unknowns."""


def linear(c: int, k: Mapping[str, int]) -> Number:
    """Return c + sum of k·u."""
    kept = tuple(sorted([(u, n) for u, n in k.items() if n]))
    return Linear(c, kept) if kept else c


def unknown(name: str) -> Linear:
    """Return an unknown as a number."""
    return Linear(0, ((name, 1),))


def parts(a: Number) -> tuple[int, tuple[tuple[str, int], ...]]:
    """Return the constant of a number, and its unknowns with their coefficients."""
    return (a, ()) if isinstance(a, int) else (a.c, a.k)


def combined(a: Number, b: Number, sign: int = 1) -> Number:
    """Return a + sign·b."""
    if isinstance(b, int):
        if isinstance(a, int):
            return a + sign * b
        return Linear(a.c + sign * b, a.k) if b else a
    if isinstance(a, int):
        return Linear(a + sign * b.c, b.k if sign == 1 else tuple([(u, sign * n) for u, n in b.k]))
    if sign == -1 and a.k == b.k:
        return a.c - b.c
    total = dict(a.k)
    for u, n in b.k:
        total[u] = total.get(u, 0) + sign * n
    return linear(a.c + sign * b.c, total)


def within(a: Number, step: int) -> int | None:
    """Return how far a is behind a multiple of a step; None if that depends on the unknowns."""
    if isinstance(a, int):
        return a % step
    for _, n in a.k:
        if n % step:
            return None
    return a.c % step


def times(a: Number, n: int) -> Number:
    """Return a·n."""
    if isinstance(a, int):
        return a * n
    if n == 1:
        return a
    return Linear(a.c * n, tuple([(u, m * n) for u, m in a.k])) if n else 0


def replaced(a: Number, values: Mapping[str, Number]) -> Number:
    """Return a with numbers in the place of some unknowns, all at once."""
    if isinstance(a, int) or values.keys().isdisjoint([u for u, _ in a.k]):
        return a
    c, total = a.c, dict[str, int]()
    for u, n in a.k:
        more, k = parts(values[u]) if u in values else (0, ((u, 1),))
        c += more * n
        for v, m in k:
            total[v] = total.get(v, 0) + m * n
    return linear(c, total)


_PART = re.compile(r"([+-]?)(?:(\d{1,99})(?:\*([a-z]\w*))?|([a-z]\w*))")


def parse(text: object) -> Number:
    """Read "128*t+r-16".

    Raises:
        Refutation: it is anything else.
    """
    if not isinstance(text, str) or not text:
        raise unsupported(f"no number: {text!r}")
    return _parsed(text)


@cache
def _parsed(text: str) -> Number:
    out: Number = 0
    at = 0
    while at < len(text):
        match = _PART.match(text, at)
        if match is None or (at and not match[1]):
            raise unsupported(f"no number: {text!r}")
        sign, digits, times_u, alone = match.groups()
        n = int(digits) if digits else 1
        u = times_u or alone
        out = combined(out, Linear(0, ((u, n),)) if u and n else n, -1 if sign == "-" else 1)
        at = match.end()
    return out

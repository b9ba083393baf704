"""Numbers with unknowns are exact, in one form each, whatever short cut is taken."""

import random
from typing import Any

from ghashgen.verify.core.numbers import Number, combined, linear, parts, replaced, times, within

NAMES = ("a", "b", "length")


def numbers(count: int, seed: int) -> list[Number]:
    """Return numbers with few unknowns and small coefficients, so that many of them cancel."""
    chosen = random.Random(seed)
    return [
        linear(chosen.randint(-40, 40), {u: chosen.choice((-16, -1, 0, 0, 1, 16)) for u in NAMES})
        for _ in range(count)
    ]


def at(a: Number, values: dict[str, int]) -> int:
    c, k = parts(a)
    return c + sum(n * values[u] for u, n in k)


def check(a: Number, wanted: Any) -> None:
    """Compare a number with a function of values of the unknowns; it must be in its one form."""
    for seed in range(4):
        chosen = random.Random(seed)
        values = {u: chosen.randint(-1000, 1000) for u in NAMES}
        assert at(a, values) == wanted(values)
    c, k = parts(a)
    assert a == linear(c, dict(k))
    assert isinstance(a, int) == (not k)


def test_sums_and_multiples_are_exact() -> None:
    first, second = numbers(300, 1), numbers(300, 2)
    for a, b in zip(first, second, strict=True):
        for sign in (1, -1):
            check(combined(a, b, sign), lambda v, a=a, b=b, s=sign: at(a, v) + s * at(b, v))
            check(combined(a, 7, sign), lambda v, a=a, s=sign: at(a, v) + 7 * s)
            check(combined(7, b, sign), lambda v, b=b, s=sign: 7 + s * at(b, v))
        assert combined(a, a, -1) == 0
        assert combined(a, 0) == a
        for n in (-3, 0, 1, 16):
            check(times(a, n), lambda v, a=a, n=n: n * at(a, v))


def test_replacements_are_made_all_at_once() -> None:
    first, second, third = numbers(200, 3), numbers(200, 4), numbers(200, 5)
    for a, b, c in zip(first, second, third, strict=True):
        check(
            replaced(a, {"a": b, "b": c}),
            lambda v, a=a, b=b, c=c: at(a, {**v, "a": at(b, v), "b": at(c, v)}),
        )
        check(replaced(a, {"b": 5}), lambda v, a=a: at(a, {**v, "b": 5}))
        assert replaced(a, {"other": b}) == a


def test_a_place_within_a_step_is_known_where_no_unknown_moves_it() -> None:
    for a in numbers(200, 6):
        c, k = parts(a)
        known = all(n % 16 == 0 for _, n in k)
        assert within(a, 16) == (c % 16 if known else None)

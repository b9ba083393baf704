"""Generations of vector code: one rule for what was measured, what is modelled, and the report."""

import pytest

from ghashgen.records.core import Subject
from ghashgen.records.levels import LEVELS, level_of


@pytest.mark.parametrize(
    ("needs", "level"),
    [
        ((), "SSE"),
        (("pclmulqdq", "ssse3"), "SSE"),
        (("avx", "pclmulqdq"), "AVX"),
        (("avx2", "bmi2", "pclmulqdq"), "AVX2"),
        (("avx", "vpclmulqdq"), "VPCLMULQDQ, 256 bits"),
        (("avx2", "vpclmulqdq"), "VPCLMULQDQ, 256 bits"),
        (("avx512vl", "avx"), "AVX-512"),
        (("avx512f", "vpclmulqdq"), "AVX-512"),
    ],
)
def test_the_last_extension_decides(needs: tuple[str, ...], level: str) -> None:
    assert LEVELS[level_of(needs)] == level
    # As iced names features.
    assert LEVELS[level_of(name.upper() for name in needs)] == level
    assert LEVELS[Subject("x", "peer", needs=needs).level] == level

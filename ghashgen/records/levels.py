"""Generations of vector code, by CPU features, so that like is compared with like."""

from collections.abc import Iterable

LEVELS = ("SSE", "AVX", "AVX2", "VPCLMULQDQ, 256 bits", "AVX-512")
"""The earliest first. AVX2 alone has no wider product, only 256-bit shuffles and sums."""

_NEEDED = ("avx", "avx2", "vpclmulqdq", "avx512")
"""For each level after the first, the beginning of the feature names that indicate it."""


def level_of(features: Iterable[str]) -> int:
    """Return the index in LEVELS of code that needs these features, in any case of letters."""
    names = [name.lower() for name in features]
    levels = enumerate(_NEEDED, 1)
    return max((at for at, start in levels if any(n.startswith(start) for n in names)), default=0)

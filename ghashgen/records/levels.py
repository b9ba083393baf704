"""Generations of vector code, by the CPU features that it needs: like is compared with like."""

from collections.abc import Iterable

LEVELS = ("SSE", "AVX", "AVX2", "VPCLMULQDQ, 256 bits", "AVX-512")
"""The earliest first. AVX2 alone has no wider product, but shuffles and sums of 256 bits."""

_NEEDED = ("avx", "avx2", "vpclmulqdq", "avx512")
"""How the name of a feature begins from which each level after the first is known."""


def level_of(features: Iterable[str]) -> int:
    """Return the place in LEVELS of code that needs these features, in capitals or not."""
    names = [name.lower() for name in features]
    levels = enumerate(_NEEDED, 1)
    return max((at for at, start in levels if any(n.startswith(start) for n in names)), default=0)

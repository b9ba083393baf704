"""The GHASH and POLYVAL kernels to recommend if nothing was measured."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

PREFERENCE: Mapping[str, tuple[Any, ...]] = MappingProxyType(
    {
        "isa": ("avx512", "avx512vl", "avx2", "avx", "sse"),
        "wipe": (False, True),
        "multiply": ("winograd", "karatsuba", "k", "schoolbook"),
        "blocks": (16, 12, 8, 32, 24, 48, 6, 4, 2, 1),
        "order": ("reflected", "natural"),
        "reduce": ("clmul1", "clmul2", "clmul3", "shift-xor"),
    }
)
"""The order of preference: wider registers, then fewer carry-less products. An earlier axis
outweighs all later ones, and unlisted values come last. Of kernels that are equal on these axes,
the one with the fewest other axes away from their defaults leads.
"""

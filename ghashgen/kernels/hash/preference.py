"""Which GHASH and POLYVAL kernels are recommended where nothing was measured."""

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
"""The convention where nothing was measured: wider registers, then fewer carry-less products. An
earlier axis outweighs all later ones, values that are not listed come last, and of kernels equal in
all axes here the one with the fewest axes away from default leads."""

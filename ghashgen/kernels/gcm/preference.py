"""The AES-GCM kernels to recommend if nothing was measured."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

PREFERENCE: Mapping[str, tuple[Any, ...]] = MappingProxyType(
    {
        "isa": ("avx512", "avx512vl", "avx2", "avx", "sse"),
        "wipe": (False, True),
        "messages": (True, False),
        "multiply": ("winograd", "karatsuba", "k", "schoolbook"),
        "blocks": (32, 16, 24, 12, 8, 48, 6, 4, 2, 1),
        "order": ("reflected", "natural"),
        "reduce": ("clmul1", "clmul2", "clmul3", "shift-xor"),
    }
)
"""The order of preference: wider registers, whole messages, then fewer carry-less products. An
earlier axis outweighs all later ones, as for GHASH.
"""

"""The AES-CTR kernels to recommend if nothing was measured."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

PREFERENCE: Mapping[str, tuple[Any, ...]] = MappingProxyType(
    {
        "isa": ("avx512", "avx512vl", "avx2", "avx", "sse"),
        "wipe": (False, True),
        "blocks": (32, 16, 8, 24, 12, 6, 4, 2, 1),
    }
)
"""The order of preference: wider registers, then groups of eight of them. An earlier axis outweighs
all later ones.
"""

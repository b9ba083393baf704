"""The CPU features that AArch64 kernels are told apart by, and which instructions need them."""

from collections.abc import Mapping
from types import MappingProxyType

FEATURES = ("asimd", "pmull", "sha3")
"""As Linux names them in HWCAP: FEAT_AdvSIMD, FEAT_PMULL, FEAT_SHA3."""

NEEDED: Mapping[str, str] = MappingProxyType(
    {"pmull": "pmull", "pmull2": "pmull", "eor3": "sha3", "bcax": "sha3", "rax1": "sha3"}
)
"""The feature that a mnemonic needs beside Advanced SIMD."""

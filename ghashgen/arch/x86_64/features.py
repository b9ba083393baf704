"""The CPU features that distinguish x86-64 kernels, and their place in CPUID."""

from collections.abc import Mapping
from types import MappingProxyType

_YMM, _ZMM = "XCR0_YMM", "XCR0_ZMM"

_ROWS = (
    ("sse2", "LEAF1_EDX", 26, "0"),
    ("ssse3", "LEAF1_ECX", 9, "0"),
    ("sse4_1", "LEAF1_ECX", 19, "0"),
    ("pclmulqdq", "LEAF1_ECX", 1, "0"),
    ("aesni", "LEAF1_ECX", 25, "0"),
    ("avx", "LEAF1_ECX", 28, _YMM),
    ("avx2", "LEAF7_EBX", 5, _YMM),
    ("bmi2", "LEAF7_EBX", 8, "0"),
    ("avx512f", "LEAF7_EBX", 16, _ZMM),
    ("avx512bw", "LEAF7_EBX", 30, _ZMM),
    ("avx512vl", "LEAF7_EBX", 31, _ZMM),
    ("avx512dq", "LEAF7_EBX", 17, _ZMM),
    ("avx512vbmi", "LEAF7_ECX", 1, _ZMM),
    ("vpclmulqdq", "LEAF7_ECX", 10, _YMM),
    ("vaes", "LEAF7_ECX", 9, _YMM),
    ("gfni", "LEAF7_ECX", 8, "0"),
)

DETECTED: Mapping[str, str] = MappingProxyType(
    {name: f"{word}, {bit}, {state}" for name, word, bit, state in _ROWS}
)
"""Word of CPUID, bit in it, and the state of XCR0 without which the feature may not be used.

Source of the bits: Intel SDM volume 2A, CPUID. ``harness/x86_64/cpu_detect.h`` reads them.
"""

_SAVED = {"0": "", _YMM: "; XCR0 & 0x06", _ZMM: "; XCR0 & 0xE6"}

CPUID: Mapping[str, str] = MappingProxyType(
    {
        name: f"leaf {word[4]}, {word[6:]} bit {bit}{_SAVED[state]}"
        for name, word, bit, state in _ROWS
    }
)
"""The same in words, for the reader of a header."""

FEATURES = tuple(DETECTED)
"""The CPU features that a kernel may need, in the order of their bits in C."""

DETECTION = "cpu_detect.h"
"""The file of ``harness/x86_64/`` that detects them, also in an emitted dispatcher."""

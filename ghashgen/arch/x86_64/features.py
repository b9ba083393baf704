"""The CPU features that kernels are told apart by, and how a machine is made to lack some."""

FEATURES = (
    "sse2",
    "ssse3",
    "sse4_1",
    "pclmulqdq",
    "aesni",
    "avx",
    "avx2",
    "bmi2",
    "avx512f",
    "avx512bw",
    "avx512vl",
    "avx512dq",
    "avx512vbmi",
    "vpclmulqdq",
    "vaes",
    "gfni",
)
"""The CPU features that a kernel may need, as ``harness/cpu.h`` names them."""

FEATURES_OFF = "GHASHGEN_FEATURES_OFF"
"""Environment variable: CPU features that this machine is to lack, separated by commas.

``harness/cpu.c`` reads it, so it holds for every program that runs kernels: the harness and the
benchmark, and what asks them (validate, bench, tune, compare, doctor). The emitted dispatcher knows
it by the same name.
"""

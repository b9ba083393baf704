"""Its one instruction set."""

from dataclasses import replace

from ghashgen.arch.toy_arch import ARCH  # type: ignore[import-not-found]

from ghashgen.arch.x86_64.sets.avx import ISA as AVX

ISA = replace(AVX, name="toy", arch=ARCH)
"""The set."""

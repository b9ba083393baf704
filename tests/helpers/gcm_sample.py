"""A kernel of AES-GCM for each value of each axis, in a harness."""

from functools import partial
from pathlib import Path

import pytest

from ghashgen.kernels.gcm.kernel import GcmKernel
from ghashgen.run.harness import Harness, build
from helpers.cpus import AS_FOUND, need
from helpers.gcm import made
from helpers.sharing import shared

WINOGRAD, FOLDED = ("winograd", "clmul1"), ("karatsuba", "shift-xor")
bare = partial(GcmKernel, messages=False)
SAMPLE = (
    bare(128, "sse", *WINOGRAD, 6),
    bare(256, "sse", *FOLDED, 2),
    bare(128, "avx", *WINOGRAD, 8),
    bare(192, "avx", "k", "clmul1", 5, wipe=True),
    bare(256, "avx", "schoolbook", "clmul3", 1),
    bare(128, "avx2", *WINOGRAD, 12, wipe=True),
    bare(192, "avx2", *WINOGRAD, 2, order="natural"),
    bare(256, "avx512vl", *WINOGRAD, 6),
    bare(128, "avx512", *WINOGRAD, 32),
    bare(256, "avx512", "k", "clmul1", 12, order="natural", wipe=True),
    bare(192, "avx512", *WINOGRAD, 8, roundkeys="memory"),
    bare(128, "sse", *WINOGRAD, 3, stitch=False),
)
samples = pytest.mark.parametrize("kernel", SAMPLE, ids=lambda kernel: kernel.name)
here = pytest.mark.cpu(AS_FOUND)


def harness_of(kernel: GcmKernel, folder: Path, abi: str = "sysv") -> Harness:
    """The harness with a kernel, compiled and linked once a session; `folder` is the session's."""

    def linked() -> tuple[tuple[str, ...], Harness]:
        item = made(kernel, abi)
        return item.features, build([item.harness_kernel(folder)], folder)

    features, harness = shared(folder, f"{kernel.name}-{abi}", linked)
    need(features)
    return harness

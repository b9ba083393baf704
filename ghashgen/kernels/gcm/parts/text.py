"""The text of an AES-GCM kernel, and its two streams.

A group's GHASH is recorded before its AES, each as a stream of its own. Neither waits for the
other, and `compiler.schedule.weave` merges them. GHASH reads a group before its output is written,
so the two texts may be one.
"""

from contextlib import AbstractContextManager, nullcontext

from ghashgen.kernels.aes import text
from ghashgen.kernels.gcm.kernel import GcmKernel

Place = text.Place[GcmKernel]
Text = text.Text[GcmKernel]


def stream(
    place: Place, name: str, start: float = 0.0, end: float = 1.0, *, lean: bool = True
) -> AbstractContextManager[None]:
    """Return a context that makes its contents a stream, if the kernel stitches."""
    if not place.kernel.stitch:
        return nullcontext()
    return place.b.stream(name, start, end, lean=lean)

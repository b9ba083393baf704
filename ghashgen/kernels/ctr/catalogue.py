"""The checked-in AES-CTR kernels: one for each instruction set and key size, and one that wipes.

Eight registers in a group, as for AES-GCM: enough to hide the latency of a round.
"""

from ghashgen.kernels.combine import Values, combinations
from ghashgen.kernels.ctr.axes import AXES
from ghashgen.kernels.ctr.kernel import CtrKernel

_GROUPS = {"sse": 8, "avx": 8, "avx2": 16, "avx512": 32}
"""Blocks in a group by instruction set. avx512vl is made on demand."""

_SHIPPED: tuple[Values, ...] = ({"key": (128, 192, 256)}, {"key": (128,), "wipe": (True,)})


def catalogue() -> tuple[CtrKernel, ...]:
    """Return every checked-in kernel, by instruction set."""
    found: list[CtrKernel] = []
    for isa, blocks in _GROUPS.items():
        for values in _SHIPPED:
            found += combinations(AXES, CtrKernel, {"isa": (isa,), "blocks": (blocks,), **values})[
                0
            ]
    return tuple(found)

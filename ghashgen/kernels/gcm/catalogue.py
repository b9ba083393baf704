"""The shipped variants."""

from ghashgen.kernels.combine import Values, combinations
from ghashgen.kernels.gcm.axes import AXES
from ghashgen.kernels.gcm.kernel import GcmKernel

_GROUPS = {
    # Half of the 16 registers hold a group: enough rounds to cover the latency of one.
    "sse": 8,
    "avx": 8,
    # The same eight registers, of two lanes.
    "avx2": 16,
    # Eight registers of four lanes; 16 would fit, for a table of twice the size.
    "avx512": 32,
}
"""Blocks a group by set. avx512vl is made on demand: CPUs that have it have avx512 or avx2 too."""

_LEAST: Values = {"multiply": ("winograd",), "reduce": ("clmul1",)}
"""The multiply scheme with the fewest instructions, with its reduction."""

_SHIPPED: tuple[Values, ...] = (
    # Every size of key.
    {**_LEAST, "key": (128, 192, 256)},
    # One a set whose functions leave no secret behind: what wiping costs and that it is proved;
    # the size of the key changes neither.
    {**_LEAST, "key": (128,), "wipe": (True,)},
)

PAPER = (
    # The schemes of papers/intel-2023 whose AES-GCM its Tables 12 and 13 compare.
    GcmKernel(128, "avx", "schoolbook", "clmul3", 8),
    GcmKernel(128, "avx", "k", "clmul1", 8),
)


def catalogue() -> tuple[GcmKernel, ...]:
    """Return every checked-in kernel, set by set; the paper's last."""
    found: list[GcmKernel] = []
    for isa, blocks in _GROUPS.items():
        for values in _SHIPPED:
            kernels, _ = combinations(
                AXES, GcmKernel, {"isa": (isa,), "blocks": (blocks,), **values}
            )
            found += kernels
    return (*found, *PAPER)

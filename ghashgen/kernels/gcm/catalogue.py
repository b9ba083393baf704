"""The shipped variants: what a user would choose, as measured, and what papers compare.

Measured on a Zen 5 by `ghashgen bench --family gcm` (docs/bench/gcm/amd-26-2-1.json has those that
are here): seal and open of 16 bytes to 16 KiB, with the same say, every set but avx512vl, keys of
128 and 256 bits; a difference under 5% is none.

- Eight registers a group. Four or six of sse, avx and avx2, and four or six of avx512, are slower
  with long messages and gain nothing with short ones.
- Twelve of avx512 too, for long messages: eight states at two rounds a cycle take as long for a
  round as a round takes, so that what delays one is lost; twelve leave slack. They take fewer
  cycles from 16 KiB on, most with keys of 256 bits, and no fewer at 1 KiB.
- `winograd`, the scheme with the fewest carry-less products, which compete with AES: the fastest
  with long messages, and with one lane at every length but 16 bytes to seal.
- `k`, the scheme with the shortest way from product to sum, which is what a message of few blocks
  waits for: the fastest up to 64 bytes with avx2, 128 bytes with avx512.
- `karatsuba` and `schoolbook` are nowhere ahead of both.
- In pieces of 1 KiB and more `winograd` is the faster of the two, in pieces of 16 bytes the
  slower. avx and avx512 have one that takes pieces, for CPUs without VAES and with it.
- The straight path of `short` goes with `k` of sse, avx2 and avx512, the kernel for messages of few
  blocks, and with `winograd` of avx, which is ahead of `k` there at 16 bytes and from 96 on.
"""

from ghashgen.kernels.combine import Values, combinations
from ghashgen.kernels.gcm.axes import AXES
from ghashgen.kernels.gcm.kernel import GcmKernel

_GROUPS = {"sse": 8, "avx": 8, "avx2": 16, "avx512": 32}
"""Blocks a group by set. avx512vl is made on demand: CPUs that have it have avx512 or avx2 too."""

_LONG: Values = {"multiply": ("winograd",), "reduce": ("clmul1",), "isa": tuple(_GROUPS)}
_STRAIGHT: Values = {
    **_LONG,
    "multiply": ("k",),
    "isa": ("sse", "avx2", "avx512"),
    "short": (True,),
}
_STRAIGHT_AVX: Values = {**_LONG, "isa": ("avx",), "short": (True,)}

_LONGEST: Values = {**_LONG, "isa": ("avx512",), "blocks": (48,)}
_PIECES: Values = {**_LONG, "isa": ("avx", "avx512"), "streams": (True,)}

_SHIPPED: tuple[Values, ...] = (
    {**_LONG, "key": (128, 192, 256)},
    # Of 192 bits one a set: few protocols have them.
    {**_STRAIGHT, "key": (128, 256)},
    {**_STRAIGHT_AVX, "key": (128, 256)},
    # One a set whose functions leave no secret behind: what wiping costs and that it is proved;
    # the size of the key changes neither.
    {**_LONG, "key": (128,), "wipe": (True,)},
    {**_PIECES, "key": (128, 256)},
    {**_LONGEST, "key": (128, 256)},
    # Each call wipes, one of 16 bytes as much as one of a message.
    {**_PIECES, "key": (128,), "isa": ("avx",), "wipe": (True,)},
)

PAPER = (
    # papers/intel-2010: SSE, Karatsuba, four blocks a turn, reduced by shifts.
    GcmKernel(128, "sse", "karatsuba", "shift-xor", 4),
    # papers/intel-2023, Tables 12 and 13: its baseline and its K.
    GcmKernel(128, "avx", "schoolbook", "clmul3", 8),
    GcmKernel(128, "avx", "k", "clmul1", 8),
)


def catalogue() -> tuple[GcmKernel, ...]:
    """Return every checked-in kernel, set by set; the papers' last."""
    found: list[GcmKernel] = []
    for isa, blocks in _GROUPS.items():
        for values in _SHIPPED:
            if isa in values["isa"]:
                own = {"blocks": (blocks,), **values, "isa": (isa,)}
                found += combinations(AXES, GcmKernel, own)[0]
    return (*found, *PAPER)

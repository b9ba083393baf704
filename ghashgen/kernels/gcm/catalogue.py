"""The checked-in AES-GCM kernels: those that a user would choose by measurement, and papers'
kernels.

Measured on a Zen 5 by `ghashgen bench --family gcm`: seal and open of 16 bytes to 16 KiB, weighted
equally, every instruction set but avx512vl, keys of 128 and 256 bits. Differences below 5% were
ignored.

- Eight registers in a group. With sse, avx and avx2, and with avx512, four or six are slower for
  long messages and no faster for short ones. With avx512, twelve are less than 5% faster, from
  16 KiB on.
- Also five with avx512, `k` and `short`, by measurement on a Zen 4. They are as fast as eight for
  packets and for all lengths together. Their table has six registers instead of nine, and `k` has
  no key terms. So key set-up takes less time than BoringSSL's.
- `winograd` has the fewest carry-less products, which compete with AES. It is the fastest for long
  messages, and with one lane at every length except sealing 16 bytes.
- `k` has the shortest path from product to sum, for which a message of few blocks waits. It is the
  fastest up to 64 bytes with avx2 and 128 bytes with avx512.
- `karatsuba` and `schoolbook` never beat both.
- For pieces of 1 KiB and more `winograd` is faster than `k`, for pieces of 16 bytes slower. avx and
  avx512 each have a kernel for pieces, for CPUs without and with VAES.
- The `short` path goes with `k` on sse, avx2 and avx512, the kernels for messages of few blocks,
  and with `winograd` on avx, which beats `k` there at 16 bytes and from 96 on.
"""

from ghashgen.kernels.combine import Values, combinations
from ghashgen.kernels.gcm.axes import AXES
from ghashgen.kernels.gcm.kernel import GcmKernel

_GROUPS = {"sse": 8, "avx": 8, "avx2": 16, "avx512": 32}
"""Blocks in a group by instruction set. avx512vl is made on demand: CPUs that have it also have
avx512 or avx2.
"""

_LONG: Values = {"multiply": ("winograd",), "reduce": ("clmul1",), "isa": tuple(_GROUPS)}
_STRAIGHT: Values = {
    **_LONG,
    "multiply": ("k",),
    "isa": ("sse", "avx2", "avx512"),
    "short": (True,),
}
_STRAIGHT_AVX: Values = {**_LONG, "isa": ("avx",), "short": (True,)}

_MANY_KEYS: Values = {**_STRAIGHT, "isa": ("avx512",), "blocks": (20,)}
_PIECES: Values = {**_LONG, "isa": ("avx", "avx512"), "streams": (True,)}
_BURSTS: Values = {
    **_LONG,
    "isa": ("avx512",),
    "multiply": ("k",),
    "blocks": (16,),
    "many": ("alike",),
}
_BURSTS_NARROW: Values = {
    **_LONG,
    "isa": ("sse", "avx", "avx2"),
    "short": (True,),
    "many": ("alike",),
}

_SHIPPED: tuple[Values, ...] = (
    {**_LONG, "key": (128, 192, 256)},
    {**_MANY_KEYS, "key": (128, 192, 256)},
    # Few protocols use keys of 192 bits. So only the kernels above have them.
    {**_STRAIGHT, "key": (128, 256)},
    {**_STRAIGHT_AVX, "key": (128, 256)},
    # One for each set wipes. It shows the cost of wiping, and that it is proved; the key size
    # changes neither.
    {**_LONG, "key": (128,), "wipe": (True,)},
    {**_PIECES, "key": (128, 256)},
    # One for each set is compact: of every key size, and of little code.
    {**_LONG, "key": (256,), "compact": (True,)},
    # For bursts: the least code of those within 5% of the fastest on a Zen 4. With avx512 that is
    # 83 KB with keys of 128 bits; groups take the same in all. With the others, `winograd` is up to
    # 10% (avx2) or 16% faster than `k`, and without the short path messages of 128 bytes take 20 to
    # 30% more.
    {**_BURSTS, "key": (128, 256)},
    {**_BURSTS_NARROW, "key": (128, 256)},
    # Each call wipes: a call of 16 bytes costs as much as one of a whole message.
    {**_PIECES, "key": (128,), "isa": ("avx",), "wipe": (True,)},
)

PAPER = (
    # papers/intel-2010: SSE, Karatsuba, four blocks in a turn, reduction by shifts.
    GcmKernel(128, "sse", "karatsuba", "shift-xor", 4),
    # papers/intel-2023, Tables 12 and 13: its baseline and its K.
    GcmKernel(128, "avx", "schoolbook", "clmul3", 8),
    GcmKernel(128, "avx", "k", "clmul1", 8),
)


def catalogue() -> tuple[GcmKernel, ...]:
    """Return every checked-in kernel, by instruction set; the papers' kernels last."""
    found: list[GcmKernel] = []
    for isa, blocks in _GROUPS.items():
        for values in _SHIPPED:
            if isa in values["isa"]:
                own = {"blocks": (blocks,), **values, "isa": (isa,)}
                found += combinations(AXES, GcmKernel, own)[0]
    return (*found, *PAPER)

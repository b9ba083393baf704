"""The checked-in GHASH and POLYVAL kernels."""

from collections.abc import Iterable
from functools import cache

from ghashgen.algebra.field.bitorder import Order
from ghashgen.algebra.schemes.registry import multiplies, reduces
from ghashgen.arch.registry import isas
from ghashgen.arch.rows import Isa
from ghashgen.kernels.combine import Values, combinations
from ghashgen.kernels.hash.axes import AXES
from ghashgen.kernels.hash.kernel import Kernel

REFLECTED, NATURAL = Order.REFLECTED.value, Order.NATURAL.value

PAPER = (
    Kernel("avx", "schoolbook", "clmul3", 1, alias="paper_baseline"),
    Kernel("avx", "k", "clmul1", 1, alias="paper_optimized"),
)
"""The two columns of papers/intel-2023, Table 11."""


@cache
def scheduled() -> tuple[Kernel, ...]:
    """Return the scheduled kernels.

    For each CPU with a table: the multiply scheme with the fewest instructions, with a short and a
    long group, and one kernel each that wipes and that keeps a sum in each lane. These are few,
    because an out-of-order core gains little (docs/scheduling.md); others are made on demand.
    """
    return (
        Kernel("avx", "winograd", "clmul1", 8, schedule="skylake-avx512"),
        Kernel("avx", "winograd", "clmul1", 16, schedule="skylake-avx512"),
        Kernel("avx", "winograd", "clmul1", 16, wipe=True, schedule="skylake-avx512"),
        Kernel("avx2", "winograd", "clmul1", 16, schedule="icelake-server"),
        Kernel("avx2", "winograd", "clmul1", 48, schedule="zen4"),
        Kernel("avx512", "winograd", "clmul1", 16, schedule="sapphirerapids"),
        Kernel("avx512", "winograd", "clmul1", 48, schedule="icelake-server"),
        Kernel("avx512", "winograd", "clmul1", 48, schedule="sapphirerapids"),
        Kernel("avx512", "winograd", "clmul1", 48, schedule="zen4"),
        Kernel("avx512", "winograd", "clmul1", 48, fold="end", schedule="sapphirerapids"),
    )


_FOLDING = ("clmul1", "clmul2")
_PRECOMPUTED = ("winograd", "k")


def _shipped(isa: Isa) -> Iterable[Values]:
    """Yield an ISA's checked-in kernels, as values by axis; invalid combinations are dropped
    later.
    """
    wide = isa.lanes > 1
    yield {
        "multiply": tuple(name for name, scheme in multiplies().items() if scheme.listed),
        # Narrow kernels show every reduction, wide ones only those worth using.
        "reduce": _FOLDING if wide else tuple(reduces()),
        "order": (REFLECTED, NATURAL) if wide else (REFLECTED,),
        "blocks": isa.catalogue_blocks,
    }
    yield {"op": ("polyval",), "multiply": _PRECOMPUTED, "reduce": _FOLDING, "blocks": (8, 16)}
    if wide:
        order = (REFLECTED, NATURAL)
        yield {"fold": ("end",), "multiply": _PRECOMPUTED, "order": order, "blocks": (16, 48)}
    if isa.vector_registers == 32:
        yield {"powers": ("registers",), "multiply": _PRECOMPUTED, "blocks": (16,)}
    if "shuffle_bytes@256" in isa.lower:
        yield {"swap": ("stack",), "multiply": _PRECOMPUTED, "blocks": (8, 16, 32)}
    yield {"wipe": (True,), "multiply": ("winograd",), "blocks": (16,)}
    ahead: Values = {"pipeline": ("ahead",), "multiply": ("winograd",), "blocks": (16,)}
    if wide:
        yield {**ahead, "wipe": (False, True)}
        yield {**ahead, "fold": ("end",)}
    else:
        yield {**ahead, "multiply": _PRECOMPUTED, "blocks": (8, 16)}
    if isa.vector_registers == 32:
        yield {**ahead, "order": (NATURAL,), "blocks": (48,)}
    yield {
        "segments": (True,),
        "wipe": (False, True),
        "multiply": ("winograd",),
        "reduce": ("clmul1",),
        "blocks": (16,),
    }


def catalogue() -> tuple[Kernel, ...]:
    """Return every checked-in kernel, by ISA; scheduled kernels and papers' kernels last."""
    return _catalogue(tuple(isas()), tuple(multiplies()), tuple(reduces()))


# The names are arguments, so that a set or scheme that joins later is found.
@cache
def _catalogue(*names: tuple[str, ...]) -> tuple[Kernel, ...]:
    del names
    found: dict[Kernel, None] = {}
    for isa in isas().values():
        if not isa.arch.proved:
            continue
        for values in _shipped(isa):
            kernels, _ = combinations(AXES, Kernel, {"isa": (isa.name,), **values})
            found.update(dict.fromkeys(kernels))
    return (*found, *scheduled(), *PAPER)

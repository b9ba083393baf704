"""The shipped variants, and the choice of variants by axis."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from itertools import product
from typing import Any

from ghashgen.errors import GhashgenError
from ghashgen.field.bitorder import Order
from ghashgen.isa.core import Isa
from ghashgen.isa.registry import isas
from ghashgen.kernel import FOLDS, OPERATIONS, PIPELINES, POWERS, SWAPS, Kernel, check
from ghashgen.schemes.aggregate import MAX_BLOCKS
from ghashgen.schemes.registry import multiplies, reduces
from ghashgen.uarch.schedules import schedules

REFLECTED, NATURAL = Order.REFLECTED.value, Order.NATURAL.value

PAPER = (
    Kernel("avx", "schoolbook", "clmul3", 1, alias="paper_baseline"),
    Kernel("avx", "k", "clmul1", 1, alias="paper_optimized"),
)
"""The two columns of papers/intel-2023, Table 11."""

SCHEDULED = (
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
"""The scheduled kernels: the multiply scheme with the fewest instructions, once for each CPU with a
table, at a short and a long group, and one each that wipes and that keeps a sum a lane. Few, since
an out-of-order core gains little (docs/scheduling.md); any other is made on demand."""

SOLVED = (Kernel("avx", "winograd", "clmul1", 4, schedule="skylake-avx512-solved"),)
"""Kernels whose loop body has a stored order from `ghashgen solve`."""

Axes = Mapping[str, tuple[Any, ...]]

_FOLDING = ("clmul1", "clmul2")
_PRECOMPUTED = ("winograd", "k")


def _families(isa: Isa) -> Iterable[Axes]:
    """Yield the shipped families of an ISA: values by axis; combinations that fit are shipped."""
    wide = isa.lanes > 1
    yield {
        "multiply": tuple(multiplies()),
        # Narrow kernels show every reduction; wide ones those that anyone would use.
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
    ahead: Axes = {"pipeline": ("ahead",), "multiply": ("winograd",), "blocks": (16,)}
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


@dataclass(frozen=True)
class Choice:
    """Values allowed for each axis; an empty tuple allows any."""

    isa: tuple[str, ...] = ()
    multiply: tuple[str, ...] = ()
    reduce: tuple[str, ...] = ()
    order: tuple[str, ...] = ()
    blocks: tuple[int, ...] = ()
    op: tuple[str, ...] = ()
    fold: tuple[str, ...] = ()
    swap: tuple[str, ...] = ()
    powers: tuple[str, ...] = ()
    pipeline: tuple[str, ...] = ()
    schedule: tuple[str, ...] = ()
    wipe: tuple[bool, ...] = ()
    segments: tuple[bool, ...] = ()
    name: tuple[str, ...] = ()
    """Kernel names, instead of axes."""

    @property
    def axes(self) -> dict[str, tuple[Any, ...]]:
        """The restricted axes."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        return {axis: value for axis, value in values.items() if value and axis != "name"}


def catalogue() -> tuple[Kernel, ...]:
    """Return every checked-in kernel, ISA by ISA; scheduled ones and papers' last."""
    found: dict[Kernel, None] = {}
    for isa in isas().values():
        for family in _families(isa):
            kernels, _ = _combinations({"isa": (isa.name,), **family})
            found.update(dict.fromkeys(kernels))
    return (*found, *SCHEDULED, *SOLVED, *PAPER)


def choose(choice: Choice) -> tuple[Kernel, ...]:
    """Return the catalogue's kernels that a choice allows; if there are none, make them.

    Axes that the choice leaves open then take their defaults, multiply and reduce every value.

    Raises:
        GhashgenError: a value is unknown, or no combination makes sense (says why).
    """
    if choice.name:
        return _by_name(choice.name)
    axes = choice.axes
    _require_known(axes)
    shipped = tuple(
        kernel
        for kernel in catalogue()
        if all(getattr(kernel, axis) in values for axis, values in axes.items())
    )
    if shipped:
        return shipped
    kernels, refusals = _combinations(axes)
    if not kernels:
        raise refusals[0]
    return kernels


def _by_name(names: tuple[str, ...]) -> tuple[Kernel, ...]:
    known = {kernel.name: kernel for kernel in catalogue()}
    unknown = sorted(set(names) - known.keys())
    if unknown:
        raise GhashgenError(
            f"no kernel of the catalogue is called {unknown[0]!r}",
            "see ghashgen list, or choose by axes",
        )
    return tuple(known[name] for name in names)


def _require_known(axes: Axes) -> None:
    """Refuse a value that no kernel can have, whatever the other axes say."""
    allowed: Axes = {
        "isa": tuple(isas()),
        "multiply": tuple(multiplies()),
        "reduce": tuple(reduces()),
        "order": tuple(order.value for order in Order),
        "op": OPERATIONS,
        "fold": FOLDS,
        "swap": SWAPS,
        "powers": POWERS,
        "pipeline": PIPELINES,
        "schedule": schedules() if "schedule" in axes else (),
    }
    for axis, values in axes.items():
        for value in values:
            if axis in allowed and value not in allowed[axis]:
                raise GhashgenError(
                    f"unknown {axis} {value!r}", f"choose one of {', '.join(allowed[axis])}"
                )
            if axis == "blocks" and not 1 <= value <= MAX_BLOCKS:
                raise GhashgenError(
                    f"blocks must be 1 to {MAX_BLOCKS}, not {value}",
                    "choose a value in that range",
                )


def _combinations(axes: Axes) -> tuple[tuple[Kernel, ...], list[GhashgenError]]:
    """Return the kernels of a product of axes that make sense, and why the others do not."""
    found: list[Kernel] = []
    refusals: list[GhashgenError] = []
    for isa in axes.get("isa") or tuple(isas()):
        names = [axis for axis in axes if axis != "isa"]
        values = [axes[axis] for axis in names]
        for axis, default in (
            ("multiply", tuple(multiplies())),
            ("reduce", tuple(reduces())),
            ("blocks", isas()[isa].catalogue_blocks),
        ):
            if axis not in names:
                names.append(axis)
                values.append(default)
        for combination in product(*values):
            try:
                found.append(check(Kernel(isa=isa, **dict(zip(names, combination, strict=True)))))
            except GhashgenError as refusal:
                refusals.append(refusal)
    return tuple(found), refusals

"""The shipped variants, and the choice of variants by axis."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from fnmatch import fnmatchcase
from functools import cache
from itertools import product
from typing import Any

from ghashgen.algebra.field.bitorder import Order
from ghashgen.algebra.schemes.registry import multiplies, reduces
from ghashgen.arch.registry import isas
from ghashgen.arch.rows import Isa
from ghashgen.kernels.axes import said
from ghashgen.kernels.hash.axes import AXES
from ghashgen.kernels.hash.kernel import Kernel
from ghashgen.support.errors import GhashgenError
from ghashgen.support.wording import did_you_mean

REFLECTED, NATURAL = Order.REFLECTED.value, Order.NATURAL.value

PAPER = (
    Kernel("avx", "schoolbook", "clmul3", 1, alias="paper_baseline"),
    Kernel("avx", "k", "clmul1", 1, alias="paper_optimized"),
)
"""The two columns of papers/intel-2023, Table 11."""


@cache
def scheduled() -> tuple[Kernel, ...]:
    """Return the scheduled kernels.

    The multiply scheme with the fewest instructions, once for each CPU with a table, at a short and
    a long group, and one each that wipes and that keeps a sum a lane. Few, since an out-of-order
    core gains little (docs/scheduling.md); any other is made on demand.
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
    """Names of the catalogue's kernels, or globs over them."""

    @property
    def axes(self) -> dict[str, tuple[Any, ...]]:
        """The restricted axes."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        return {axis: value for axis, value in values.items() if value and axis != "name"}


@dataclass(frozen=True)
class LeftOut:
    """A combination of values that was asked for and makes no kernel."""

    values: Mapping[str, Any]
    """By axis."""
    why: GhashgenError

    def __str__(self) -> str:
        return said(self.values)


@dataclass(frozen=True)
class Selection:
    """The kernels that a choice stands for."""

    kernels: tuple[Kernel, ...]
    made: tuple[Kernel, ...] = ()
    """Those of them that are not in the catalogue."""
    left_out: tuple[LeftOut, ...] = ()


_AXES = {axis.name: axis for axis in AXES}


def _proved() -> tuple[Isa, ...]:
    """Return the sets whose kernels are proved: the others are made only where they are named."""
    return tuple(isa for isa in isas().values() if isa.arch.proved)


def catalogue() -> tuple[Kernel, ...]:
    """Return every checked-in kernel, ISA by ISA; scheduled ones and papers' last."""
    found: dict[Kernel, None] = {}
    for isa in _proved():
        for family in _families(isa):
            kernels, _ = _combinations({"isa": (isa.name,), **family})
            found.update(dict.fromkeys(kernels))
    return (*found, *scheduled(), *PAPER)


def choose(choice: Choice) -> tuple[Kernel, ...]:
    """Return the kernels that a choice stands for; see `look_up`."""
    return look_up(choice).kernels


def look_up(choice: Choice) -> Selection:
    """Return the kernels that a choice stands for, the catalogue's first and in its order.

    Each combination of the values given stands for itself: for the catalogue's kernels that have
    these values; where it has none, for those that are made, with the axes left open at their
    defaults and every multiply and reduce that fits; where none can be made, it is left out, with
    the reason. A choice of several values is so the union of the choices of one value each.

    One value for every axis names one kernel, in the catalogue or not, whatever a paper calls it.

    Names and globs stand for kernels of the catalogue; values of axes narrow them down.

    Raises:
        GhashgenError: a value or a name is unknown, a glob matches nothing, or no combination makes
            sense (says why).
    """
    axes = choice.axes
    for axis, wanted in axes.items():
        for value in wanted:
            _AXES[axis].require(value)
    if choice.name:
        return Selection(_by_name(choice.name, axes))
    if len(axes) == len(_AXES) and all(len(values) == 1 for values in axes.values()):
        return _one(axes)
    shipped: dict[tuple[Any, ...], list[Kernel]] = {}
    for kernel in catalogue():
        shipped.setdefault(tuple(getattr(kernel, axis) for axis in axes), []).append(kernel)
    taken: set[Kernel] = set()
    made: dict[Kernel, None] = {}
    left_out: list[LeftOut] = []
    for cell in product(*(dict.fromkeys(values) for values in axes.values())):
        if cell in shipped:
            taken.update(shipped[cell])
            continue
        values = dict(zip(axes, cell, strict=True))
        kernels, refusals = _combinations({axis: (value,) for axis, value in values.items()})
        made.update(dict.fromkeys(kernels))
        if not kernels:
            left_out.append(LeftOut(values, refusals[0]))
    if not taken and not made:
        raise _nothing(left_out)
    ours = (kernel for kernel in catalogue() if kernel in taken)
    return Selection((*ours, *made), tuple(made), tuple(left_out))


def _one(axes: Axes) -> Selection:
    kernel = Kernel(**{axis: value for axis, (value,) in axes.items()})
    return Selection((kernel,), () if kernel in set(catalogue()) else (kernel,))


def _nothing(left_out: list[LeftOut]) -> GhashgenError:
    first = left_out[0]
    if len(left_out) == 1:
        return first.why
    cause = f"none of the {len(left_out)} combinations makes sense, first {first}: "
    return GhashgenError(cause + first.why.cause, first.why.remedy)


def _by_name(patterns: tuple[str, ...], axes: Axes) -> tuple[Kernel, ...]:
    """Return the kernels of these names and globs, in the order given; axes narrow each down."""
    known = {kernel.name: kernel for kernel in catalogue()}
    found: dict[Kernel, None] = {}
    for pattern in patterns:
        is_glob = any(mark in pattern for mark in "*?[")
        names = [name for name in known if fnmatchcase(name, pattern)] if is_glob else [pattern]
        if not names or names[0] not in known:
            raise GhashgenError(
                f"no kernel of the catalogue {'matches' if is_glob else 'is called'} {pattern!r}",
                did_you_mean(
                    re.sub(r"[*?\[\]]+", "", pattern), known, "see ghashgen list, or choose by axes"
                ),
            )
        fitting = [
            known[name]
            for name in names
            if all(getattr(known[name], axis) in values for axis, values in axes.items())
        ]
        if not fitting:
            raise GhashgenError(
                f"the axes leave nothing of {pattern!r}", "leave out --name, or the axes"
            )
        found.update(dict.fromkeys(fitting))
    return tuple(found)


def values_of(axis: str) -> tuple[str, ...]:
    """Return every value of an axis, as words."""
    return tuple(str(value) for value in _AXES[axis].values())


def _combinations(axes: Axes) -> tuple[tuple[Kernel, ...], list[GhashgenError]]:
    """Return the kernels of a product of axes that make sense, and why the others do not.

    What was tried only because an axis is open comes last among the reasons.
    """
    found: list[Kernel] = []
    refusals: list[GhashgenError] = []
    unasked: list[GhashgenError] = []
    asked_for_both = "multiply" in axes and "reduce" in axes
    for isa in axes.get("isa") or tuple(isa.name for isa in _proved()):
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
            axis_values = dict(zip(names, combination, strict=True))
            try:
                found.append(Kernel(isa=isa, **axis_values))
            except GhashgenError as refusal:
                multiply, reduce = axis_values["multiply"], axis_values["reduce"]
                fits = multiplies()[multiply].shape is reduces()[reduce].shape
                (refusals if fits or asked_for_both else unasked).append(refusal)
    return tuple(found), [*refusals, *unasked]

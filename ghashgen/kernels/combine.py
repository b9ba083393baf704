"""Kernels from a product of axes: the valid ones, and why the others are not."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

from ghashgen.kernels.axes import Axis
from ghashgen.support.errors import GhashgenError

K = TypeVar("K")

Values = Mapping[str, tuple[Any, ...]]
"""Values by axis."""


def combinations(
    axes: Sequence[Axis], make: Callable[..., K], given: Values
) -> tuple[tuple[K, ...], list[GhashgenError]]:
    """Return the kernels with the given values, and the refusals of invalid combinations, in order.

    The first axis varies slowest; then come the given axes in their order, then those left open
    (`Axis.left_open`). `make` takes values by axis.
    """
    found: list[K] = []
    refusals: list[GhashgenError] = []
    for values in _product(_order(axes, given), given, {}):
        try:
            found.append(make(**values))
        except GhashgenError as refusal:
            refusals.append(refusal)
    return tuple(found), refusals


def _order(axes: Sequence[Axis], given: Values) -> tuple[Axis, ...]:
    by_name = {axis.name: axis for axis in axes}
    varied = [axes[0], *(by_name[name] for name in given)]
    varied += [axis for axis in axes if axis.left_open is not None]
    return tuple(dict.fromkeys(varied))


def _product(
    axes: Sequence[Axis], given: Values, chosen: Mapping[str, Any]
) -> Iterator[Mapping[str, Any]]:
    if not axes:
        yield chosen
        return
    first, *rest = axes
    for value in _values(first, given, chosen):
        yield from _product(rest, given, {**chosen, first.name: value})


def _values(axis: Axis, given: Values, chosen: Mapping[str, Any]) -> Sequence[Any]:
    if axis.name in given:
        return given[axis.name]
    if axis.left_open is not None:
        return axis.left_open(chosen)
    return (axis.default,) if axis.default is not None else axis.values()

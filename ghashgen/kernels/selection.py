"""Chooses kernels by name or by axis, in all families.

An axis that several families have is one axis of a choice. A family that lacks an axis, or all of
the requested values, is not considered.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from itertools import product
from typing import Any, Generic, TypeVar

from ghashgen.kernels.axes import Axis, said
from ghashgen.kernels.combine import combinations
from ghashgen.kernels.core import Family, Point
from ghashgen.kernels.families import families, in_order
from ghashgen.support.errors import GhashgenError
from ghashgen.support.wording import choose_one, did_you_mean

K = TypeVar("K", bound=Point)


@dataclass(frozen=True, init=False)
class Choice:
    """A request: values by axis, names and families. Whatever is not given may have any value."""

    axes: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)
    """The values of the restricted axes."""
    name: tuple[str, ...] = ()
    """Names of kernels, or globs of names in the catalogue."""
    family: tuple[str, ...] = ()
    plain: bool = False
    """Whether unrestricted axes must be at their defaults."""

    def __init__(
        self,
        *,
        name: tuple[str, ...] = (),
        family: tuple[str, ...] = (),
        plain: bool = False,
        **axes: tuple[Any, ...],
    ) -> None:
        given = {axis: values for axis, values in axes.items() if values}
        object.__setattr__(self, "axes", given)
        object.__setattr__(self, "name", name)
        object.__setattr__(self, "family", family)
        object.__setattr__(self, "plain", plain)

    def with_axes(self, **axes: tuple[Any, ...]) -> "Choice":
        """Return this choice with other values of some axes."""
        axes = {**self.axes, **axes}
        return Choice(name=self.name, family=self.family, plain=self.plain, **axes)

    def of(self, family: str) -> "Choice":
        """Return this choice in one family."""
        return Choice(name=self.name, family=(family,), plain=self.plain, **self.axes)

    def beyond(self, kernel: Point) -> tuple[str, ...]:
        """Return the unrestricted axes on which a kernel is not at the default."""
        own = families()[kernel.family].axes
        free = [axis for axis in own if axis.name not in self.axes and axis.default is not None]
        return tuple(axis.name for axis in free if getattr(kernel, axis.name) != axis.default)

    def allows(self, kernel: Point) -> bool:
        """Return whether plainness allows a kernel."""
        return not (self.plain and self.beyond(kernel))


@dataclass(frozen=True)
class LeftOut:
    """A requested combination of values that is invalid."""

    values: Mapping[str, Any]
    """By axis."""
    why: GhashgenError

    def __str__(self) -> str:
        return said(self.values)


@dataclass(frozen=True)
class Selection(Generic[K]):
    """The kernels of a choice."""

    kernels: tuple[K, ...]
    made: tuple[K, ...] = ()
    """Those that are not in the catalogue."""
    left_out: tuple[LeftOut, ...] = ()


def all_axes() -> dict[str, tuple[Axis, ...]]:
    """Return the axes of all families by name, each as the families have it.

    Raises:
        ValueError: two families differ on the type of an axis: flags, numbers or words.
    """
    found: dict[str, list[Axis]] = {}
    for family in in_order():
        for axis in family.axes:
            found.setdefault(axis.name, []).append(axis)
    for name, alike in found.items():
        if len({(axis.is_flag, axis.is_number) for axis in alike}) > 1:
            raise ValueError(f"families differ on the kind of values that {name} has")
    return {name: tuple(alike) for name, alike in found.items()}


def values_of(axis: str) -> tuple[str, ...]:
    """Return every value of an axis in any family, as words."""
    return tuple(dict.fromkeys(str(value) for own in all_axes()[axis] for value in own.values()))


def catalogue() -> tuple[Point, ...]:
    """Return every checked-in kernel, family by family."""
    return tuple(kernel for family in in_order() for kernel in family.catalogue())


def choose(choice: Choice) -> tuple[Point, ...]:
    """Return the kernels of a choice; see `look_up`."""
    return look_up(choice).kernels


def choose_of(kind: type[K], choice: Choice) -> tuple[K, ...]:
    """Return a choice's kernels of one family; see `look_up_of`."""
    return look_up_of(kind, choice).kernels


def look_up(choice: Choice, facet: str = "") -> Selection[Point]:
    """Return the kernels of a choice, in catalogue order, then those that are made.

    Each combination of given values selects the catalogue's kernels with these values, in any
    family. If there are none, kernels are made, with the other axes at their defaults and every
    multiply and reduce that fits. If none can be made, the combination is left out, with the
    reason. So a choice of several values is the union of choices of one value each. A kernel that
    is made belongs to the first family with these axes, the default family first, unless the choice
    names families.

    One value for every axis of a family selects one kernel, in the catalogue or not, even if a
    paper gives it another name.

    Globs select kernels of the catalogue, and so do names; a name that the catalogue lacks selects
    the kernel that is made with it. Values of axes narrow both down, and so do, for a plain choice,
    the defaults of the axes that are not given.

    Families that do not bring `facet` are not considered.

    Raises:
        GhashgenError: a family, an axis, a value or a name is unknown, a glob matches nothing, or
        no
            combination is valid (says why); or a family is named, or a kernel of one, that brings
            no `facet`.
    """
    among = [family for family in in_order() if not facet or facet in family.facets]
    _require_among(choice, among, f"it brings no {facet}")
    wanted = choice.family or tuple(families())
    return _look_up(choice, [family for family in among if family.name in wanted])


def look_up_of(kind: type[K], choice: Choice) -> Selection[K]:
    """Return a choice's kernels of the family with this type of kernel.

    Raises:
        GhashgenError: as `look_up`, or another family, or a kernel of one, is named.
    """
    (own,) = (family for family in in_order() if family.make is kind)
    _require_among(choice, [own], f"this works on {own.title} alone")
    return _look_up(choice, [own])


def _require_among(choice: Choice, among: Sequence[Family[Any]], why: str) -> None:
    names = [family.name for family in among]
    remedy = f"choose family {' or '.join(names)}"
    for name in choice.family:
        if name not in families():
            raise GhashgenError(f"unknown family {name!r}", choose_one(name, families()))
        if name not in names:
            raise GhashgenError(f"family {name} does not fit: {why}", remedy)
    for kernel in catalogue() if choice.name and len(among) < len(families()) else ():
        if kernel.name in choice.name and kernel.family not in names:
            raise GhashgenError(
                f"{kernel.name} is of family {kernel.family}, which does not fit: {why}", remedy
            )


def _look_up(choice: Choice, among: Sequence[Family[Any]]) -> Selection[Any]:
    fitting = _fitting(choice.axes, among)
    order = {axis.name: None for family in fitting for axis in family.axes}
    axes = {name: choice.axes[name] for name in order if name in choice.axes}
    if choice.name:
        return _by_name(choice, axes, fitting)
    shipped = [kernel for family in fitting for kernel in family.catalogue()]
    first = fitting[0]
    if axes.keys() == _axes(first).keys() and all(len(values) == 1 for values in axes.values()):
        return _one(first, axes, shipped)
    cells: dict[tuple[Any, ...], list[Point]] = {}
    for kernel in filter(choice.allows, shipped):
        cells.setdefault(tuple(getattr(kernel, axis) for axis in axes), []).append(kernel)
    taken: set[Point] = set()
    made: dict[Point, None] = {}
    left_out: list[LeftOut] = []
    for cell in product(*(dict.fromkeys(values) for values in axes.values())):
        if cell in cells:
            taken.update(cells[cell])
            continue
        values = dict(zip(axes, cell, strict=True))
        kernels, refusals = _made(values, fitting, bool(choice.family))
        made.update(dict.fromkeys(kernels))
        if not kernels:
            left_out.append(LeftOut(values, refusals[0]))
    if not taken and not made:
        raise _nothing(left_out)
    ours = (kernel for kernel in shipped if kernel in taken)
    return Selection((*ours, *made), tuple(made), tuple(left_out))


def _fitting(
    axes: Mapping[str, tuple[Any, ...]], among: Sequence[Family[Any]]
) -> list[Family[Any]]:
    """Return the families with these axes and, for each axis, one of the values.

    Raises:
        GhashgenError: there are none, or none of them has some value.
    """
    fitting = list(among)
    for name, wanted in axes.items():
        having = [family for family in fitting if name in _axes(family)]
        if not having:
            known = dict.fromkeys(axis for family in among for axis in _axes(family))
            if name not in known and name in all_axes():
                named = " and ".join(family.name for family in among)
                raise GhashgenError(
                    f"kernels of family {named} have no axis {name!r}", "leave it out"
                )
            raise GhashgenError(
                f"no family of kernels has {said({axis: axes[axis][0] for axis in axes})}"
                if name in known
                else f"unknown axis {name!r}",
                choose_one(name, known) if name not in known else "leave out one of the axes",
            )
        for value in wanted:
            refusals = [_refusal(_axes(family)[name], value) for family in having]
            if refusals[0] is not None and None not in refusals:
                raise refusals[0]
        fitting = [
            family
            for family in having
            if any(_refusal(_axes(family)[name], value) is None for value in wanted)
        ]
    return fitting


def _axes(family: Family[Any]) -> dict[str, Axis]:
    return {axis.name: axis for axis in family.axes}


def _has_all(family: Family[Any], values: Mapping[str, Any]) -> bool:
    own = _axes(family)
    return all(_refusal(own[axis], value) is None for axis, value in values.items())


def _refusal(axis: Axis, value: Any) -> GhashgenError | None:
    try:
        axis.require(value)
    except GhashgenError as refusal:
        return refusal
    return None


def _one(
    family: Family[Any], axes: Mapping[str, tuple[Any, ...]], shipped: Sequence[Point]
) -> Selection[Any]:
    kernel = family.make(**{axis: value for axis, (value,) in axes.items()})
    return Selection((kernel,), () if kernel in shipped else (kernel,))


def _made(
    values: Mapping[str, Any], fitting: Sequence[Family[Any]], every: bool
) -> tuple[tuple[Point, ...], list[GhashgenError]]:
    """Return the kernels with these values that can be made, and why others cannot."""
    found: list[Point] = []
    refusals: list[GhashgenError] = []
    given = {axis: (value,) for axis, value in values.items()}
    able = [family for family in fitting if _has_all(family, values)] or list(fitting)
    for family in able if every else able[:1]:
        kernels, why = combinations(family.axes, family.make, given)
        found += kernels
        refusals += why
    return tuple(found), refusals


def _nothing(left_out: list[LeftOut]) -> GhashgenError:
    first = left_out[0]
    if len(left_out) == 1:
        return first.why
    cause = f"none of the {len(left_out)} combinations makes sense, first {first}: "
    return GhashgenError(cause + first.why.cause, first.why.remedy)


def _named(names: Sequence[str], fitting: Sequence[Family[Any]]) -> dict[str, Point]:
    """Return the catalogue's kernels by name, of no more families than have these names."""
    known: dict[str, Point] = {}
    for family in fitting:
        known |= {kernel.name: kernel for kernel in family.catalogue()}
        if all(name in known for name in names):
            break
    return known


def _spelt(name: str, fitting: Sequence[Family[Any]]) -> Point | None:
    """Return the kernel that would have this name, in the first family that can make it."""
    marks = {*name.split("_"), *re.findall(r"\d+", name)}
    for family in fitting:
        values = [
            [
                value
                for value in axis.values()
                if (not (m := axis.in_name(value)) or m.replace("-", "") in marks)
            ]
            for axis in family.axes
        ]
        # The key size is not in the name of a kernel that takes every size.
        lacking = [number for number, some in enumerate(values) if not some]
        if len(lacking) > 1:
            continue
        for number in lacking:
            values[number] = list(family.axes[number].values())
        for cell in product(*values):
            try:
                kernel: Point = family.make(
                    **dict(zip((axis.name for axis in family.axes), cell, strict=True))
                )
            except GhashgenError:
                continue
            if kernel.name == name:
                return kernel
    return None


def _by_name(
    choice: Choice, axes: Mapping[str, tuple[Any, ...]], fitting: Sequence[Family[Any]]
) -> Selection[Any]:
    """Return the kernels with these names and globs, in the given order; axes narrow each down."""
    known = _named(choice.name, fitting)
    found: dict[Point, None] = {}
    made: dict[Point, None] = {}
    for pattern in choice.name:
        is_glob = any(mark in pattern for mark in "*?[")
        names = [name for name in known if fnmatchcase(name, pattern)] if is_glob else [pattern]
        if not is_glob and pattern not in known and (kernel := _spelt(pattern, fitting)):
            if kernel not in known.values():
                made[kernel] = None
            known[pattern] = kernel
        if not names or names[0] not in known:
            if any(fnmatchcase(kernel.name, pattern) for kernel in catalogue()):
                raise _excluded(choice, pattern)
            raise GhashgenError(
                f"no kernel {'of the catalogue matches' if is_glob else 'is called'} {pattern!r}",
                did_you_mean(
                    re.sub(r"[*?\[\]]+", "", pattern), known, "see ghashgen list, or choose by axes"
                ),
            )
        allowed = [
            known[name]
            for name in names
            if all(getattr(known[name], axis) in values for axis, values in axes.items())
            and choice.allows(known[name])
        ]
        if not allowed:
            raise _excluded(choice, pattern)
        found.update(dict.fromkeys(allowed))
    return Selection(tuple(found), tuple(made))


def _excluded(choice: Choice, pattern: str) -> GhashgenError:
    given = (("the axes", choice.axes), ("--family", choice.family), ("--plain", choice.plain))
    others = [word for word, value in given if value] or ["the family"]
    verb = "exclude" if others[1:] or others == ["the axes"] else "excludes"
    cause = f"{' and '.join(others)} {verb} all of {pattern!r}"
    return GhashgenError(cause, f"leave out --name, or {' and '.join(others)}")

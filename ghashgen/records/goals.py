"""Goals: what a family's kernels should reach on each kind of CPU, compared with the records.

The file is `goals.toml` in the folder of the records; a family without one has no goals.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import product
from pathlib import Path

from msgspec import Struct

from ghashgen.records.core import MODES, SEAL_MODES
from ghashgen.records.levels import LEVELS
from ghashgen.support.documents import Document

NAME = "goals.toml"
"""The file, in the folder of a family's records."""


SEAL, *_ = SEAL_MODES


class _Goal(Struct, frozen=True, forbid_unknown_fields=True):
    sizes: tuple[int, ...]
    keys: tuple[int, ...]
    modes: tuple[str, ...] = (SEAL,)
    ratio: float | None = None
    cycles: dict[str, float] = {}
    per_byte: dict[str, float] = {}
    chained: dict[str, float] = {}
    within: float = 0.0


class _Goals(Struct, frozen=True, forbid_unknown_fields=True):
    features: tuple[str, ...]
    core: str
    goal: tuple[_Goal, ...]
    title: str = ""
    level: str = ""


class _Remark(Struct, frozen=True, forbid_unknown_fields=True):
    core: str
    sizes: tuple[int, ...]
    said: str
    keys: tuple[int, ...] = ()
    modes: tuple[str, ...] = (SEAL,)
    level: str = ""


class _File(Struct, frozen=True, forbid_unknown_fields=True):
    goals: tuple[_Goals, ...] = ()
    remark: tuple[_Remark, ...] = ()


_FILE = Document(_File, "holds no goals", "mend it")


@dataclass(frozen=True)
class Goal:
    """The goal for messages of one size and one key size."""

    size: int
    """Bytes of a message."""
    mode: str
    """What is measured."""
    key: int
    """AES key size in bits."""
    ratio: float | None
    """At least the best peer's time divided by the kernel's."""
    cycles: float | None
    """At most this many core cycles for a message on `Goals.core`."""
    chained: float | None
    """The same for a message that waits for the previous tag."""
    within: float
    """Allowed excess over `cycles`, as a fraction."""

    @property
    def per_byte(self) -> float | None:
        """`cycles` per byte."""
        return None if self.cycles is None else self.cycles / self.size


@dataclass(frozen=True)
class Goals:
    """The goals for one kind of CPU."""

    features: tuple[str, ...]
    """The features of such a CPU, by the records' names."""
    core: str
    """The core that the cycle figures refer to."""
    each: tuple[Goal, ...]
    title: str
    """What they are about beside single messages; "" for those."""
    level: int | None = None
    """The newest generation of code that they are about (`levels.LEVELS`); None for any."""


@dataclass(frozen=True)
class Remark:
    """An explanation of missed goals on a core."""

    core: str
    sizes: tuple[int, ...]
    keys: tuple[int, ...]
    """() for every key size."""
    modes: tuple[str, ...]
    said: str
    """Without a capital and a full stop."""
    level: int | None = None
    """As of `Goals`."""

    def about(self, core: str, goal: Goal) -> bool:
        """Return whether it is about this goal on this core."""
        mine = not self.keys or goal.key in self.keys
        here = self.core == core and goal.mode in self.modes
        return mine and here and goal.size in self.sizes


@dataclass(frozen=True)
class Book:
    """The goals of a family."""

    kinds: tuple[Goals, ...] = ()
    remarks: tuple[Remark, ...] = ()

    def every(self, features: Iterable[str]) -> tuple[Goals, ...]:
        """Return all goals for a CPU with these features."""
        subjects = dict.fromkeys((kind.title, kind.level) for kind in self.kinds)
        found = (self.of(features, title, level) for title, level in subjects)
        return tuple(goals for goals in found if goals is not None)

    def of(
        self, features: Iterable[str], title: str = "", level: int | None = None
    ) -> Goals | None:
        """Return those with this title and level: of the most specific kind that fits."""
        has = frozenset(features)
        named = [kind for kind in self.kinds if (kind.title, kind.level) == (title, level)]
        fitting = [kind for kind in named if has.issuperset(kind.features)]
        return max(fitting, key=lambda kind: len(kind.features), default=None)


def _figure(figures: Mapping[str, float], key: int, times: int = 1) -> float | None:
    found = figures.get(str(key))
    return None if found is None else found * times


def _each(goals: _Goals) -> Iterable[Goal]:
    for goal in goals.goal:
        for key in goal.keys:
            for mode, size in product(goal.modes, goal.sizes):
                cycles = _figure(goal.cycles, key)
                yield Goal(
                    size=size,
                    mode=mode,
                    key=key,
                    ratio=goal.ratio,
                    cycles=_figure(goal.per_byte, key, size) if cycles is None else cycles,
                    chained=_figure(goal.chained, key),
                    within=goal.within,
                )


def parse(text: str | bytes, where: str) -> Book:
    """Parse goals; `where` names the file in refusals.

    Raises:
        GhashgenError: the text is not TOML, a key is missing or unknown, a value has another type,
            a level is unknown, one size and key has two goals, or a figure is for a key without a
            goal.
    """
    body = _FILE.parse(text, where, toml=True)
    kinds = []
    for goals in body.goals:
        if strange := sorted({m for goal in goals.goal for m in goal.modes} - set(MODES)):
            raise _FILE.refuse(where, f"{goals.core}: no mode {strange[0]!r}")
        each = tuple(sorted(_each(goals), key=_place))
        kind = Goals(goals.features, goals.core, each, goals.title, _level(goals, where))
        places = [_place(goal) for goal in kind.each]
        if len(set(places)) != len(places):
            raise _FILE.refuse(where, f"{goals.core}: two goals of one size and key")
        for goal in goals.goal:
            named = {*goal.cycles, *goal.per_byte, *goal.chained}
            if strange := sorted(named - set(map(str, goal.keys))):
                raise _FILE.refuse(where, f"{goals.core}: cycles of the key {strange[0]}")
        kinds.append(kind)
    remarks = (
        Remark(r.core, r.sizes, r.keys, r.modes, " ".join(r.said.split()), _level(r, where))
        for r in body.remark
    )
    return Book(tuple(kinds), tuple(remarks))


def _level(named: _Goals | _Remark, where: str) -> int | None:
    if named.level not in ("", *LEVELS):
        raise _FILE.refuse(where, f"{named.core}: no level {named.level!r}")
    return LEVELS.index(named.level) if named.level else None


def _place(goal: Goal) -> tuple[int, int, int]:
    return goal.key, MODES.index(goal.mode), goal.size


def load_goals(folder: Path) -> Book:
    """Return the goals in a folder of records; none without such a file.

    Raises:
        GhashgenError: as `parse`, or the file cannot be read.
    """
    path = folder / NAME
    return parse(_FILE.content_of(path), str(path)) if path.exists() else Book()

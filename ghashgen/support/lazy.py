"""A mapping whose keys are known before its values are made."""

from collections.abc import Callable, Iterator, Mapping
from functools import cache
from typing import TypeVar

V = TypeVar("V")


class Lazy(Mapping[str, V]):
    """The value of a key is made when it is first asked for."""

    def __init__(self, names: tuple[str, ...], make: Callable[[str], V]) -> None:
        self._names = names
        self._make = cache(make)

    def __getitem__(self, name: str) -> V:
        if name not in self._names:
            raise KeyError(name)
        return self._make(name)

    def __contains__(self, name: object) -> bool:
        return name in self._names

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)

"""What is made or imported when it is first asked for."""

from collections.abc import Callable, Iterator, Mapping
from functools import cache
from importlib import import_module
from typing import Any, TypeVar

V = TypeVar("V")


def later(module: str, export: str) -> Callable[..., Any]:
    """Return a module's function of this name; a call imports the module."""
    return lambda *given: getattr(import_module(module), export)(*given)


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

"""The functions of a family: every module of its folder `functions` exports one FUNCTION."""

from collections.abc import Callable, Mapping
from importlib import import_module
from types import MappingProxyType, ModuleType
from typing import Any

from ghashgen.kernels.core import Function
from ghashgen.support.registry import found


def functions_in(package: str) -> Callable[[], Mapping[str, Function[Any]]]:
    """Return the `functions` of a family whose package of them has this name."""
    return lambda: found_in(import_module(package))


def found_in(package: ModuleType) -> Mapping[str, Function[Any]]:
    """Return the functions that a package's modules export as FUNCTION, by name, in order.

    Raises:
        GhashgenError: a module exports none, or two functions have the same name.
        ValueError: two have the same place in the order.
    """
    functions = sorted(found(package, "FUNCTION").values(), key=lambda f: f.order)
    orders = [function.order for function in functions]
    if twice := [order for order in orders if orders.count(order) > 1]:
        raise ValueError(f"two functions of {package.__name__} have the order {twice[0]}")
    return MappingProxyType({function.name: function for function in functions})

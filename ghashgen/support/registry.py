"""Finds what the modules of a folder export: a new module is a new entry, and no list names it."""

import importlib
import importlib.util
import pkgutil
from collections.abc import Mapping
from functools import cache
from types import MappingProxyType, ModuleType
from typing import Any

from ghashgen.support.errors import GhashgenError


def modules_of(package: ModuleType) -> tuple[str, ...]:
    """Return the names of the modules in a package's folder, sorted."""
    return _modules(tuple(package.__path__), False)


def found(
    package: ModuleType,
    export: str,
    *,
    besides: tuple[str, ...] = (),
    folders: bool = False,
    module: str = "",
) -> Mapping[str, Any]:
    """Return what each module of a package exports by this name, by the name that the value has.

    With `folders`, only folders are looked at, and in each the module of this name. `besides` are
    modules that export nothing.

    Raises:
        GhashgenError: a module exports no such value, or two values have the same name.
    """
    where = package.__name__, tuple(package.__path__)
    return _found(*where, export, besides, folders, module)


# The path is an argument, so that a folder that joins a package later is found.
@cache
def _found(
    package: str,
    path: tuple[str, ...],
    export: str,
    besides: tuple[str, ...],
    folders: bool,
    module: str,
) -> Mapping[str, Any]:
    found: dict[str, Any] = {}
    for name in _modules(path, folders):
        if name in besides:
            continue
        whole = ".".join(filter(None, (package, name, module)))
        value = exported(whole, export)
        if value.name in found:
            raise GhashgenError(
                f"{package} has two entries of the name {value.name!r}, the second in {whole}",
                "rename one of them",
            )
        found[value.name] = value
    return MappingProxyType(found)


def exported(module: str, export: str) -> Any:
    """Return what a module exports by this name.

    Raises:
        GhashgenError: there is no such module, or it does not export it.
    """
    if not _is_there(module):
        raise GhashgenError(f"there is no module {module}", f"add it; it must export {export}")
    own = importlib.import_module(module)
    if not hasattr(own, export):
        raise GhashgenError(f"{module} exports no {export}", "add it, or move the module away")
    return getattr(own, export)


def _is_there(module: str) -> bool:
    try:
        return importlib.util.find_spec(module) is not None
    except ModuleNotFoundError:
        return False


def _modules(path: tuple[str, ...], folders: bool) -> tuple[str, ...]:
    infos = pkgutil.iter_modules(path)
    return tuple(sorted(info.name for info in infos if info.ispkg or not folders))

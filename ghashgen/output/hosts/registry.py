"""Finds the hosts: every module of `output.hosts` that exports HOST."""

import importlib
import pkgutil
from collections.abc import Mapping
from functools import cache
from types import MappingProxyType

from ghashgen.output import hosts as package
from ghashgen.output.hosts.core import Host

DEFAULT = "plain"


@cache
def hosts() -> Mapping[str, Host]:
    """Return every host by name, sorted."""
    names = sorted(info.name for info in pkgutil.iter_modules(package.__path__))
    modules = [importlib.import_module(f"{package.__name__}.{name}") for name in names]
    found = [module.HOST for module in modules if hasattr(module, "HOST")]
    return MappingProxyType({host.name: host for host in found})

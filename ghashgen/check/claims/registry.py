"""Finds the families' claims: every module of `check.claims` that exports CLAIMS."""

import importlib
import pkgutil
from collections.abc import Mapping
from functools import cache
from types import MappingProxyType
from typing import Any

from ghashgen.check import claims as package
from ghashgen.check.claims.core import Claims
from ghashgen.kernels.core import Family
from ghashgen.support.errors import GhashgenError


@cache
def claims() -> Mapping[str, Claims[Any]]:
    """Return the claims of every family that the prover knows, sorted by name."""
    names = sorted(info.name for info in pkgutil.iter_modules(package.__path__))
    modules = [importlib.import_module(f"{package.__name__}.{name}") for name in names]
    found = [module.CLAIMS for module in modules if hasattr(module, "CLAIMS")]
    return MappingProxyType({claim.family: claim for claim in found})


def is_known(family: Family[Any]) -> bool:
    """Return whether the prover knows a family."""
    return family.name in claims()


def claims_of(family: str) -> Claims[Any]:
    """Return the claims of a family.

    Raises:
        GhashgenError: the prover does not know it.
    """
    if family not in claims():
        raise GhashgenError(
            f"the prover does not know family {family!r}", f"it knows {', '.join(claims())}"
        )
    return claims()[family]

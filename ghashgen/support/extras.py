"""Packages that only some verbs need: the extras of pyproject.toml.

Such a package is imported inside the function that needs it, after `require`.
"""

import importlib.util
import shlex
import sys
from collections.abc import Mapping
from functools import cache
from types import MappingProxyType

from ghashgen.support.errors import GhashgenError

EXTRAS: Mapping[str, Mapping[str, str]] = MappingProxyType(
    {
        "validate": {
            "cryptography": "cryptography",
            "cryptography_vectors": "cryptography-vectors",
        },
        "emulate": {"bochscpu": "bochscpu-python"},
        "bench": {"cryptography": "cryptography"},
        "report": {"matplotlib": "matplotlib"},
        "lab": {"dask": "dask", "distributed": "distributed"},
    }
)
"""For each extra, its modules and the packages that contain them."""

USES: Mapping[str, str] = MappingProxyType(
    {
        "validate": "validating kernels",
        "emulate": "running kernels that this CPU cannot",
        "bench": "measuring pyca/cryptography beside kernels",
        "report": "the report's plots",
        "lab": "tuning over several machines",
    }
)
"""What each extra is needed for."""


def command(extra: str) -> str:
    """Return the command that installs an extra for the running Python."""
    return f"{shlex.quote(sys.executable)} -m pip install 'ghashgen[{extra}]'"


def missing(extra: str) -> tuple[str, ...]:
    """Return the packages of an extra that are not installed."""
    return tuple(
        package
        for module, package in EXTRAS[extra].items()
        if importlib.util.find_spec(module) is None
    )


@cache
def require(extra: str) -> None:
    """Refuse to continue without an extra.

    Raises:
        GhashgenError: a package of it is not installed; the remedy is the command that installs it.
    """
    if absent := missing(extra):
        verb = "is" if len(absent) == 1 else "are"
        raise GhashgenError(
            f"{' and '.join(absent)}, needed for {USES[extra]}, {verb} not installed",
            f"run: {command(extra)}",
        )

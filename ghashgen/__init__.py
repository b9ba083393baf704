"""Generates, proves, validates and audits GHASH and AES-GCM kernels.

The names below are the public interface (docs/api.md). Everything else may change in any version.
"""

import importlib

__version__ = "0.3.0"

TYPE_CHECKING = False  # type checkers know the name; importing typing would delay every start

if TYPE_CHECKING:
    from ghashgen.api import (
        GhashgenError,
        Kernel,
        Point,
        Proof,
        Theorem,
        assembly,
        choose,
        emit,
        prove,
    )

__all__ = [
    "GhashgenError",
    "Kernel",
    "Point",
    "Proof",
    "Theorem",
    "__version__",
    "assembly",
    "choose",
    "emit",
    "prove",
]


if not TYPE_CHECKING:  # a type checker would accept every name

    def __getattr__(name: str) -> object:
        # At first use: every module of the package imports this one, and none needs all of them.
        if name in __all__:
            return getattr(importlib.import_module("ghashgen.api"), name)
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})

"""What every statement has, whatever its family."""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from ghashgen.verify.meaning import function as meanings


class Function(Protocol):
    """One exported function of a statement, with its parameters in the order of its interface."""

    @property
    def symbol(self) -> str: ...  # noqa: D102
    @property
    def operation(self) -> str: ...  # noqa: D102
    @property
    def parameters(self) -> tuple[str, ...]: ...  # noqa: D102


class Statement(Protocol):
    """What an object claims."""

    @property
    def name(self) -> str: ...  # noqa: D102
    @property
    def abi(self) -> str: ...  # noqa: D102
    @property
    def wipe(self) -> bool: ...  # noqa: D102
    @property
    def functions(self) -> Sequence[Any]: ...  # noqa: D102

    def meaning(self, function: Any, /) -> meanings.Function:
        """Return what one of these functions means.

        Raises:
            Refutation: it has no meaning here.
        """


def sizes_of(spec: Statement) -> Mapping[str, Statement]:
    """Return the statements of each size of a key, if a statement is of several; else nothing."""
    return getattr(spec, "key_sizes", {})


def one_size(spec: Statement) -> Statement:
    """Return a statement, or that of one size of a key if it is of several."""
    return next(iter(sizes_of(spec).values()), spec)

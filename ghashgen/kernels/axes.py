"""An axis of a family of kernels: a name, its values, and one line of help.

The axes of a family, in their order, determine the options of the command line, the columns of
`list`, the command in a banner and the refusal of unknown values.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ghashgen.support.errors import GhashgenError
from ghashgen.support.wording import choose_one


@dataclass(frozen=True)
class Axis:
    """One axis. `values` is called when needed, because registries look into folders."""

    name: str
    help: str
    values: Callable[[], Sequence[Any]]
    default: Any = None
    """The default value; None if the axis must be given."""
    left_open: Callable[[Mapping[str, Any]], Sequence[Any]] | None = None
    """(values by axis so far) → the values of an unset axis when kernels are made. None means the
    default, or every value if there is no default.
    """
    mark: Callable[[Any], str] | None = None
    """(value) → its mark in a kernel's name. None means the value itself, or the axis if it is a
    flag.
    """
    always_named: bool = False
    """Whether names include the default too."""
    always_told: bool = True
    """Whether commands and manifests give the default too."""

    @property
    def is_flag(self) -> bool:
        """Whether its values are yes and no."""
        return isinstance(self.default, bool)

    @property
    def is_number(self) -> bool:
        """Whether its values are numbers."""
        if self.default is not None:
            return type(self.default) is int
        return all(type(value) is int for value in self.values())

    @property
    def flag(self) -> str:
        """The option of the command line."""
        return f"--{self.name.replace('_', '-')}"

    def require(self, value: object) -> None:
        """Refuse a value that no kernel can have.

        Raises:
            GhashgenError: names the axis and what to choose instead.
        """
        if value == self.default or value in (allowed := self.values()):
            return
        if isinstance(allowed, range) and allowed.step == 1:
            raise GhashgenError(
                f"{self.name} must be {allowed[0]} to {allowed[-1]}, not {value}",
                "choose a value in that range",
            )
        raise GhashgenError(
            f"unknown {self.name} {str(value)!r}", choose_one(str(value), map(str, allowed))
        )

    def in_name(self, value: object) -> str:
        """Return the part of a kernel's name for a value; "" for a default."""
        if value == self.default and not self.always_named:
            return ""
        if self.mark is not None:
            return self.mark(value)
        return self.name if self.is_flag else str(value)

    def mentioned(self, kernel: object) -> bool:
        """Whether commands and manifests give a kernel's value."""
        return self.always_told or getattr(kernel, self.name) != self.default

    def option(self, value: object) -> str:
        """Return the option for a value: --isa avx, --no-wipe."""
        if self.is_flag:
            return f"--{self.name}" if value else f"--no-{self.name}"
        return f"{self.flag} {value}"


def said(values: Mapping[str, Any]) -> str:
    """Return values by axis as words: "isa avx, blocks 3, no wipe"."""
    words = {True: "{}", False: "no {}"}
    return ", ".join(
        words[value].format(axis) if isinstance(value, bool) else f"{axis} {value}"
        for axis, value in values.items()
    )


def name_of(axes: Sequence[Axis], kernel: object) -> str:
    """Return a kernel's name: the marks of its values on these axes, in order."""
    parts = (axis.in_name(getattr(kernel, axis.name)) for axis in axes)
    return "_".join(filter(None, parts)).replace("-", "")

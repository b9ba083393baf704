"""What is proved: theorems, the proof of a function, and the proof of an object."""

from dataclasses import dataclass

from ghashgen.verify.core.refutation import Refutation
from ghashgen.verify.statements.core import Function, Statement, one_size

THEOREMS = ("function", "memory", "constant-time", "abi")
"""What holds for every length covered; "wipe" joins them if the spec asks for it."""


@dataclass(frozen=True)
class Theorem:
    """One proved statement."""

    what: str
    symbol: str
    lengths: str
    method: str


def theorems_of(spec: Statement, function: Function, numbers: str) -> tuple[Theorem, ...]:
    """Return what has been shown of a function that was checked for these numbers."""
    two_buffers = any(buffer.over for buffer in one_size(spec).meaning(function).buffers.values())
    return tuple(
        Theorem(what, function.symbol, numbers, f"certificate{how}")
        for how in ((", apart", ", in place") if two_buffers else ("",))
        for what in ((*THEOREMS, "wipe") if spec.wipe else THEOREMS)
    )


@dataclass(frozen=True)
class FunctionProof:
    """The proof of one function, with its cost in instructions and seconds."""

    symbol: str
    operation: str
    theorems: tuple[Theorem, ...]
    instructions: int = 0
    seconds: float = 0.0


@dataclass(frozen=True)
class Proof:
    """The verdict on an object: proved if `refutation` is None."""

    kernel: str
    code_sha256: str
    functions: tuple[FunctionProof, ...]
    refutation: Refutation | None
    seconds: float
    unstated: tuple[str, ...] = ()
    """Symbols that others can call and the statement does not name. The proof says nothing of them.
    """

    @property
    def proved(self) -> bool:
        """Whether every theorem holds."""
        return self.refutation is None

    @property
    def theorems(self) -> tuple[Theorem, ...]:
        """All theorems of all functions."""
        return tuple(t for f in self.functions for t in f.theorems)

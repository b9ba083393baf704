"""What is proved: theorems, the proof of a function, and the proof of an object, in words."""

from dataclasses import asdict, dataclass
from typing import Any

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


def covered(theorem: Theorem) -> str:
    """Return the lengths or exponents of a theorem in words."""
    return theorem.lengths if "=" in theorem.lengths else f"lengths {theorem.lengths}"


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

    def as_data(self) -> dict[str, Any]:
        """Return the proof as JSON data: what, for which symbol and lengths, by which method."""
        return {
            "kernel": self.kernel,
            "code_sha256": self.code_sha256,
            "proved": self.proved,
            "refutation": None if self.refutation is None else self.refutation.as_data(),
            "functions": [asdict(function) for function in self.functions],
            "unstated": list(self.unstated),
            "seconds": self.seconds,
        }

    def report(self) -> str:
        """Return the proof in words, one line for each function and theorem."""
        lines = [f"{self.kernel}: {'proved' if self.proved else 'NOT proved'}"]
        lines.append(f"  code sha256 {self.code_sha256}")
        for function in self.functions:
            lines.append(
                f"  {function.symbol}: {function.instructions} instructions followed, "
                f"{function.seconds:.2f} s"
            )
            lines += [f"    {t.what}: {covered(t)}, by {t.method}" for t in function.theorems]
        if self.unstated:
            lines.append(f"  nothing is stated or proved about {', '.join(self.unstated)}")
        if self.refutation is not None:
            lines.append(f"  {self.refutation}")
            if self.refutation.explanation is not None:
                lines += [f"    {line}" for line in self.refutation.explanation.lines()]
        return "\n".join(lines)

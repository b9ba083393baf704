"""Prove a kernel from its object file.

    proof = prove_object(Path("kernel.o"), spec)
    proof.refutation      # None, or why the kernel is wrong

Each function's meaning defines what it should do and the plan of its proof. A family provides it
(`ghashgen.verify.engine.family`); nothing here knows a family.
"""

import hashlib
import time
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from ghashgen.verify.core.refutation import Refutation, unsupported
from ghashgen.verify.engine.behind import Behind
from ghashgen.verify.engine.family import Function, Statement
from ghashgen.verify.engine.prover import Prover
from ghashgen.verify.machine.image import Image
from ghashgen.verify.x86_64.abi import check_entry
from ghashgen.verify.x86_64.elf import load_image

THEOREMS = ("function", "memory", "constant-time", "abi")
"""What holds for every length covered; "wipe" joins them if the spec asks for it."""


@dataclass(frozen=True)
class Theorem:
    """One proved statement."""

    what: str
    symbol: str
    lengths: str
    method: str


_EXHAUSTED: dict[type[BaseException], str] = {
    RecursionError: "its values are nested deeper than the prover can follow: unroll less",
    MemoryError: "its values need more memory than there is here: unroll less, or prove it where "
    "there is more",
}
"""Limits of the prover, not faults of the kernel."""


def covered(theorem: Theorem) -> str:
    """Return the lengths or exponents of a theorem in words."""
    return theorem.lengths if theorem.lengths[0] == "m" else f"lengths {theorem.lengths}"


@dataclass(frozen=True)
class FunctionProof:
    """The proof of one function, with its cost in instructions and seconds.

    `behind` has those of the second line, if there is one. The seconds here include them.
    """

    symbol: str
    operation: str
    theorems: tuple[Theorem, ...]
    instructions: int
    seconds: float
    behind: Behind | None = None


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
            if function.behind is not None:
                lines.append(f"    {function.behind}")
        if self.unstated:
            lines.append(f"  nothing is stated or proved about {', '.join(self.unstated)}")
        if self.refutation is not None:
            lines.append(f"  {self.refutation}")
            if self.refutation.explanation is not None:
                lines += [f"    {line}" for line in self.refutation.explanation.lines()]
        return "\n".join(lines)


Prove = Callable[[Image, Statement, Function, list[int] | None], FunctionProof]
"""What proves one function, as `prove_function` does."""


def code_sha256(image: Image) -> str:
    """Return the hash of the sections of an object, relocations applied, and of its symbols."""
    digest = hashlib.sha256()
    for section in image.sections:
        digest.update(f"{section.name} {section.address} {len(section.data)}\n".encode())
        digest.update(section.data)
    for name, address in sorted(image.symbols.items()):
        digest.update(f"{name} {address}\n".encode())
    return digest.hexdigest()


def prove_object(
    source: bytes | Path,
    spec: Statement,
    lengths: Iterable[int] | None = None,
    prove: Prove | None = None,
) -> Proof:
    """Prove every function of the spec, or stop at the first theorem that fails.

    A spec without functions or an empty list of lengths is refused: it would prove nothing.

    `lengths` restricts update to some lengths in bytes, for tests. Nothing is claimed of others.
    `prove` proves one function in place of `prove_function`.

    Raises:
        GhashgenError: the object cannot be read or lacks a symbol.
    """
    return prove_image(load_image(source), spec, lengths, prove)


def prove_image(
    image: Image,
    spec: Statement,
    lengths: Iterable[int] | None = None,
    prove: Prove | None = None,
) -> Proof:
    """Prove an object that has already been read (`prove_object`).

    Raises:
        GhashgenError: the image lacks a symbol.
    """
    began = time.perf_counter()
    chosen = None if lengths is None else sorted(set(lengths))
    unstated = image.exported - {function.symbol for function in spec.functions}
    proofs: list[FunctionProof] = []
    refutation: Refutation | None = None
    if not spec.functions or chosen == []:
        # A statement about nothing would always hold.
        what = "length is chosen" if spec.functions else "function is stated"
        refutation = unsupported(f"no {what}: there is nothing to prove")
    for function in () if refutation else spec.functions:
        try:
            proofs.append((prove or prove_function)(image, spec, function, chosen))
        except Refutation as error:
            refutation = error
        except (RecursionError, MemoryError) as error:
            refutation = unsupported(_EXHAUSTED[type(error)])
            refutation.symbol = function.symbol
        if refutation is not None:
            break
    return Proof(
        spec.name,
        code_sha256(image),
        tuple(proofs),
        refutation,
        time.perf_counter() - began,
        tuple(sorted(unstated)),
    )


def prove_function(
    image: Image, spec: Statement, function: Function, lengths: list[int] | None = None
) -> FunctionProof:
    """Prove one function.

    Raises:
        Refutation: a theorem fails.
    """
    began = time.perf_counter()
    prover: Prover[Any] = Prover(image, spec, function)
    try:
        return _prove(prover, lengths, began)
    finally:
        # Forms are large, and terms refer to their pool: do not wait for a garbage collection.
        prover.meaning.terms.clear()


def _prove(prover: Prover[Any], lengths: Iterable[int] | None, began: float) -> FunctionProof:
    statement, function = prover.statement, prover.function
    with prover.judging():
        check_entry(prover.image, function.symbol)
    shown = prover.meaning.prove(prover, lengths)
    if not shown.parts:
        raise unsupported("nothing was shown", prover.entry_address)
    whats = (*THEOREMS, "wipe") if statement.wipe else THEOREMS
    theorems = (
        Theorem(what, function.symbol, numbers, method)
        for numbers, method in shown.parts
        for what in whats
    )
    return FunctionProof(
        function.symbol,
        function.operation,
        tuple(theorems),
        prover.executed,
        time.perf_counter() - began,
        shown.behind,
    )

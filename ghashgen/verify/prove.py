"""Prove a kernel from its object file.

    proof = prove_object(Path("kernel.o"), spec)
    proof.refutation      # None, or why the kernel is wrong

Certificates decide about each function (`ghashgen.verify.certified`).
"""

import hashlib
import time
from collections.abc import Callable, Iterable
from pathlib import Path

from ghashgen.verify.certified import Certified
from ghashgen.verify.core.refutation import Refutation, unsupported
from ghashgen.verify.machine.image import Image
from ghashgen.verify.statements.core import Function, Statement
from ghashgen.verify.theorems import THEOREMS, FunctionProof, Proof
from ghashgen.verify.x86_64.elf import load_image

__all__ = ("THEOREMS", "Proof", "Prove", "code_sha256", "prove_image", "prove_object")

_EXHAUSTED: dict[type[BaseException], str] = {
    RecursionError: "its values are nested deeper than the prover can follow: unroll less",
    MemoryError: "its values need more memory than there is here: unroll less, or prove it where "
    "there is more",
}
"""Limits of the prover, not faults of the kernel."""

Prove = Callable[[Image, Statement, Function, list[int] | None], FunctionProof]
"""What proves one function, as `Certified.prove` does."""


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

    `lengths` restricts messages to some lengths in bytes, for tests. Nothing is claimed of others.
    `prove` proves one function; by default, certificates are searched.

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
    prove = prove or Certified().prove
    for function in () if refutation else spec.functions:
        try:
            proofs.append(prove(image, spec, function, chosen))
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

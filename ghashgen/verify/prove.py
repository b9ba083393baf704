"""Prove a kernel from its object file.

    proof = prove_object(Path("kernel.o"), spec)
    proof.refutation      # None, or why the kernel is wrong

A function is proved by a certificate that `ghashgen.verify.checking` accepts. Where certificates
come from is of no consequence: by default they are searched (`ghashgen.verify.search.certified`).
"""

import hashlib
import time
from collections.abc import Callable
from pathlib import Path

from ghashgen.verify.checking import Way, check_function
from ghashgen.verify.core.refutation import Refutation, unsupported
from ghashgen.verify.machine.image import Image
from ghashgen.verify.statements.core import Function, Statement
from ghashgen.verify.theorems import THEOREMS, FunctionProof, Proof, theorems_of
from ghashgen.verify.x86_64.elf import load_image

__all__ = ("THEOREMS", "Proof", "Search", "code_sha256", "prove_image", "prove_object")

Search = Callable[[Image, Statement, Function, Callable[[object], None]], None]
"""Has certificates of a function checked until one is accepted, or raises a Refutation."""


def code_sha256(image: Image) -> str:
    """Return the hash of the sections of an object, relocations applied, and of its symbols."""
    digest = hashlib.sha256()
    for section in image.sections:
        digest.update(f"{section.name} {section.address} {len(section.data)}\n".encode())
        digest.update(section.data)
    for name, address in sorted(image.symbols.items()):
        digest.update(f"{name} {address}\n".encode())
    return digest.hexdigest()


def prove_object(source: bytes | Path, spec: Statement, search: Search | None = None) -> Proof:
    """Prove every function of the spec, or stop at the first theorem that fails.

    A spec without functions is refused: it would prove nothing.

    Raises:
        GhashgenError: the object cannot be read or lacks a symbol.
    """
    return prove_image(load_image(source), spec, search)


def prove_image(image: Image, spec: Statement, search: Search | None = None) -> Proof:
    """Prove an object that has already been read (`prove_object`).

    Raises:
        GhashgenError: the image lacks a symbol.
    """
    began = time.perf_counter()
    unstated = image.exported - {function.symbol for function in spec.functions}
    proofs: list[FunctionProof] = []
    refutation: Refutation | None = None
    if not spec.functions:
        # A statement about nothing would always hold.
        refutation = unsupported("no function is stated: there is nothing to prove")
    if search is None:
        # Not trusted, and not loaded before it is needed.
        from ghashgen.verify.search.certified import Certified

        search = Certified().search
    for function in spec.functions:
        try:
            proofs.append(_proved(image, spec, function, search))
        except Refutation as error:
            refutation = error
            refutation.symbol = function.symbol
            break
    return Proof(
        spec.name,
        code_sha256(image),
        tuple(proofs),
        refutation,
        time.perf_counter() - began,
        tuple(sorted(unstated)),
    )


def _proved(image: Image, spec: Statement, function: Function, search: Search) -> FunctionProof:
    """Return the proof of a function: what the check says of a certificate, not the search.

    Raises:
        Refutation: no certificate is accepted.
    """
    began = time.perf_counter()
    accepted: list[Way] = []

    def check(certificate: object) -> None:
        accepted.append(check_function(image, spec, function, certificate))

    search(image, spec, function, check)
    if not accepted:
        raise unsupported("no certificate is accepted")
    way, seconds = accepted[0], time.perf_counter() - began
    theorems = theorems_of(spec, function, way.numbers)
    return FunctionProof(function.symbol, function.operation, theorems, way.steps, seconds)

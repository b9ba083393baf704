"""What the tests of the checker of certificates share: search one, and check it from its text."""

import json
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

from ghashgen.check.proofs import statement
from ghashgen.kernels.selection import catalogue
from ghashgen.support.errors import GhashgenError
from ghashgen.verify.core.refutation import Refutation, unsupported
from ghashgen.verify.core.values import UndecidedError
from ghashgen.verify.machine.image import Image
from ghashgen.verify.meaning.hash import meaning_of
from ghashgen.verify.rules.assertion import read_certificate
from ghashgen.verify.rules.check import Checker
from ghashgen.verify.search.hash import certificate, certificates
from ghashgen.verify.statements.hash import FunctionSpec, KernelSpec
from ghashgen.verify.x86_64.elf import load_image
from helpers.verify_objects import assembled

GENERATED = Path(__file__).parents[2] / "generated"


@cache
def emitted(name: str) -> str:
    """Return the text of a kernel of the catalogue."""
    return next(GENERATED.glob(f"*/{name}.asm")).read_text()


@cache
def spec_of(name: str) -> KernelSpec:
    """Return the statement of a kernel of the catalogue."""
    kernel = next(k for k in catalogue() if k.name == name)
    spec = statement(kernel, name, "sysv")
    assert isinstance(spec, KernelSpec)
    return spec


def function_of(spec: KernelSpec, operation: str) -> FunctionSpec:
    """Return the function of an operation."""
    return next(f for f in spec.functions if f.operation == operation)


def searched(image: Image, spec: KernelSpec, function: FunctionSpec) -> dict[str, Any]:
    """Return the certificate that is found for a function.

    Raises:
        Refutation: none is found.
    """
    try:
        return certificate(image, meaning_of(spec, function), spec.abi)
    except UndecidedError as error:
        raise unsupported(str(error)) from None


def checked(
    image: Image, spec: KernelSpec, function: FunctionSpec, data: dict[str, Any]
) -> Checker:
    """Check a certificate as it is read from its text.

    Raises:
        Refutation: it is refused.
    """
    assertions = read_certificate(json.loads(json.dumps(data)))
    checker = Checker(image, meaning_of(spec, function), assertions)
    checker.check()
    return checker


def accepted(image: Image, spec: KernelSpec, function: FunctionSpec) -> dict[str, Any]:
    """Return the first certificate that is accepted.

    Raises:
        Refutation: none is.
    """
    refused: Refutation | None = None
    try:
        for data in certificates(Checker(image, meaning_of(spec, function), {}), spec.abi):
            try:
                checked(image, spec, function, data)
            except Refutation as error:
                refused = error
            else:
                return data
    except UndecidedError as error:
        raise unsupported(str(error)) from None
    raise refused or unsupported("no certificate")


def refusals(data: bytes, spec: KernelSpec) -> Iterator[str]:
    """Yield why each function of an object is not proved."""
    try:
        image = load_image(data)
    except GhashgenError as error:
        yield f"object: {error}"
        return
    for function in spec.functions:
        try:
            accepted(image, spec, function)
        except (Refutation, GhashgenError) as error:
            yield f"{function.operation}: {error}"


def proved(data: bytes, spec: KernelSpec) -> bool:
    """Return whether every function of an object is proved."""
    return not list(refusals(data, spec))


def kernel_object(name: str) -> bytes:
    """Return the ELF object of a kernel of the catalogue."""
    return assembled(emitted(name))

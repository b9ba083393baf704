"""Check an object by certificates: every function of a statement, by the rules alone.

    check_object(Path("kernel.o"), spec, json.loads(text))

Whoever wrote the certificates, and however, is of no consequence: nothing here searches. They are
plain data, one for each function by its symbol:

    {"schema": 1, "functions": {"gcm_seal": certificate, "gcm_open": certificate}}

The form of a certificate stands in `ghashgen.verify.rules.assertion`.
"""

import json
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from ghashgen.support.errors import GhashgenError
from ghashgen.verify.core.refutation import Refutation, unsupported
from ghashgen.verify.engine.family import Function, Statement
from ghashgen.verify.machine.image import Image
from ghashgen.verify.meaning.function import Function as Meaning
from ghashgen.verify.meaning.operations import meaning_of
from ghashgen.verify.rules.assertion import read_certificate
from ghashgen.verify.rules.check import Checker
from ghashgen.verify.x86_64.elf import load_image

SCHEMA = 1


@dataclass(frozen=True)
class Checked:
    """One function that has been checked, and what that took."""

    symbol: str
    operation: str
    steps: int
    cases: int
    returns: int


def check_object(source: bytes | Path, spec: Statement, data: object) -> tuple[Checked, ...]:
    """Check every function of a statement by its certificates.

    Raises:
        Refutation: a certificate is refused, or is missing, or is of no function; its `symbol` says
            of which one.
        GhashgenError: the object cannot be read or lacks a symbol.
    """
    certificates = by_name(data)
    symbols = [function.symbol for function in spec.functions]
    if not symbols or len(set(symbols)) != len(symbols):
        raise unsupported("no function is stated, or one twice")
    if odd := sorted(certificates.keys() ^ set(symbols)):
        raise unsupported(f"{', '.join(odd)}: a function and no certificate, or one of no function")
    image = load_image(source)
    return tuple(check_function(image, spec, f, certificates) for f in spec.functions)


def check_function(
    image: Image, spec: Statement, function: Function, certificates: Mapping[str, object]
) -> Checked:
    """Check one function by its certificate.

    Raises:
        Refutation: it is missing or refused.
    """
    symbol = function.symbol
    try:
        if symbol not in certificates:
            raise unsupported(f"no certificate of {symbol}")
        return _check(image, function, meaning_of(spec, function), certificates[symbol])
    except Refutation as error:
        error.symbol = symbol
        raise


def _check(image: Image, function: Function, meaning: Meaning, certificate: object) -> Checked:
    try:
        checker = Checker(image, meaning, read_certificate(certificate))
        checker.check()
    except Refutation as error:
        if error.at is not None:
            with suppress(Refutation, GhashgenError):
                error.instruction = image.target.text(image, error.at)
        raise
    except (RecursionError, MemoryError) as error:
        raise unsupported(f"{type(error).__name__}: its values are more than fits here") from None
    finally:
        # Forms are large, and terms refer to their pool: do not wait for a garbage collection.
        meaning.terms.clear()
    return Checked(
        function.symbol, function.operation, checker.steps, checker.runs, checker.returns
    )


def text_of(certificates: Mapping[str, object]) -> str:
    """Return certificates by their names as a document."""
    document = {"schema": SCHEMA, "functions": dict(sorted(certificates.items()))}
    return json.dumps(document, indent=1) + "\n"


def by_name(data: object) -> Mapping[str, object]:
    """Return the certificates of a document by their names.

    Raises:
        Refutation: it is no document of this schema.
    """
    match data:
        case {"schema": int(schema), "functions": dict(functions), **rest} if not rest:
            if (
                schema == SCHEMA
                and schema is not True
                and all(isinstance(symbol, str) for symbol in functions)
            ):
                return functions
    raise unsupported("no certificates of this schema")

"""Finds the certificates of an object, for `ghashgen.verify.checking`. Nothing here is trusted."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ghashgen.verify.checking import SCHEMA, check_function
from ghashgen.verify.core.refutation import Refutation, unsupported
from ghashgen.verify.core.values import UndecidedError
from ghashgen.verify.engine.family import Function, Statement
from ghashgen.verify.machine.image import Image
from ghashgen.verify.meaning.function import Function as Meaning
from ghashgen.verify.meaning.hashing import Hashing
from ghashgen.verify.meaning.operations import meaning_of
from ghashgen.verify.meaning.power import Power
from ghashgen.verify.search.hash import certificates
from ghashgen.verify.search.message import certificate
from ghashgen.verify.search.pieces import certificates as pieces
from ghashgen.verify.x86_64.elf import load_image


def find_object(source: bytes | Path, spec: Statement) -> dict[str, Any]:
    """Return certificates of every function of a statement, each of which has been checked once.

    Raises:
        Refutation: of one function none is accepted; its `symbol` says of which one.
        GhashgenError: the object cannot be read or lacks a symbol.
    """
    image = load_image(source)
    found: dict[str, Any] = {}
    for function in spec.functions:
        found |= find_function(image, spec, function)
    return {"schema": SCHEMA, "functions": found}


def find_function(image: Image, spec: Statement, function: Function) -> dict[str, Any]:
    """Return the certificate of a function by its name: the first that the rules accept.

    Raises:
        Refutation: of the last one that was tried.
    """
    refused = unsupported("search: no certificate")
    try:
        for data in _proposed(image, spec, meaning_of(spec, function)):
            try:
                check_function(image, spec, function, {function.symbol: data})
            except Refutation as error:
                refused = error
            else:
                return {function.symbol: data}
    except Refutation as error:
        refused = error
    except UndecidedError as error:
        refused = unsupported(f"search: {error}")
    except (RecursionError, MemoryError) as error:
        refused = unsupported(f"search: {type(error).__name__}")
    refused.symbol = function.symbol
    raise refused


def _proposed(image: Image, spec: Statement, meaning: Meaning) -> Iterator[dict[str, Any]]:
    if any(isinstance(p, Hashing) and p.start for p in meaning.parts):
        yield from pieces(image, meaning, spec.abi)
    elif all(isinstance(p, Hashing | Power) for p in meaning.parts):
        yield from certificates(image, meaning, spec.abi)
    else:
        yield certificate(image, meaning, spec.abi)

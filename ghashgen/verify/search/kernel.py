"""Finds the certificates of an object, for `ghashgen.verify.checking`. Nothing here is trusted."""

from pathlib import Path
from typing import Any

from ghashgen.verify.checking import SCHEMA, check_function
from ghashgen.verify.core.refutation import Refutation, unsupported
from ghashgen.verify.core.values import UndecidedError
from ghashgen.verify.hash.spec import FunctionSpec, KernelSpec
from ghashgen.verify.meaning.hash import meaning_of
from ghashgen.verify.search.hash import certificates
from ghashgen.verify.x86_64.elf import Image, load_image


def find_object(source: bytes | Path, spec: KernelSpec) -> dict[str, Any]:
    """Return certificates of every function of a statement, each of which has been checked once.

    Raises:
        Refutation: of one function none is accepted; its `symbol` says of which one.
        GhashgenError: the object cannot be read or lacks a symbol.
    """
    image = load_image(source)
    found = {f.symbol: find_function(image, spec, f) for f in spec.functions}
    return {"schema": SCHEMA, "functions": found}


def find_function(image: Image, spec: KernelSpec, function: FunctionSpec) -> dict[str, Any]:
    """Return the first certificate of a function that is accepted.

    Raises:
        Refutation: of the last one that was tried.
    """
    refused = unsupported("search: no certificate")
    try:
        for data in certificates(image, meaning_of(spec, function), spec.abi):
            try:
                check_function(image, spec, function, data)
            except Refutation as error:
                refused = error
            else:
                return data
    except Refutation as error:
        refused = error
    except UndecidedError as error:
        refused = unsupported(f"search: {error}")
    refused.symbol = function.symbol
    raise refused

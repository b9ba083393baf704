"""Check an object by certificates: every function of a statement, by the rules alone.

    check_object(Path("kernel.o"), spec, json.loads(text))

Whoever wrote the certificates, and however, is of no consequence: nothing here searches. They are
plain data, one for each function of the statement by its symbol:

    {"schema": 1, "functions": {symbol: certificate}}

The form of a certificate stands in `ghashgen.verify.rules.assertion`.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from ghashgen.verify.core.refutation import Refutation, unsupported
from ghashgen.verify.hash.spec import FunctionSpec, KernelSpec
from ghashgen.verify.meaning.hash import meaning_of
from ghashgen.verify.rules.assertion import read_certificate
from ghashgen.verify.rules.check import Checker
from ghashgen.verify.x86_64.elf import Image, load_image

SCHEMA = 1


@dataclass(frozen=True)
class Checked:
    """One function that has been checked, and what that took: instructions, cases and returns."""

    symbol: str
    operation: str
    steps: int
    cases: int
    returns: int


def check_object(source: bytes | Path, spec: KernelSpec, data: object) -> tuple[Checked, ...]:
    """Check every function of a statement by its certificate.

    Raises:
        Refutation: a certificate is refused, or is missing, or is of no function; its `symbol` says
            of which one.
        GhashgenError: the object cannot be read or lacks a symbol.
    """
    certificates = _by_symbol(data)
    symbols = [function.symbol for function in spec.functions]
    if not symbols or len(set(symbols)) != len(symbols):
        raise unsupported("no function is stated, or one twice")
    if odd := sorted(certificates.keys() ^ set(symbols)):
        raise unsupported(f"{', '.join(odd)}: a function and no certificate, or one of no function")
    image = load_image(source)
    return tuple(check_function(image, spec, f, certificates[f.symbol]) for f in spec.functions)


def check_function(
    image: Image, spec: KernelSpec, function: FunctionSpec, certificate: object
) -> Checked:
    """Check one function by its certificate.

    Raises:
        Refutation: it is refused.
    """
    meaning = meaning_of(spec, function)
    try:
        checker = Checker(image, meaning, read_certificate(certificate))
        checker.check()
    except Refutation as error:
        error.symbol = function.symbol
        raise
    except (RecursionError, MemoryError) as error:
        refusal = unsupported(f"{type(error).__name__}: its values are more than fits here")
        refusal.symbol = function.symbol
        raise refusal from None
    finally:
        # Forms are large, and terms refer to their pool: do not wait for a garbage collection.
        meaning.terms.clear()
    return Checked(
        function.symbol, function.operation, checker.steps, checker.runs, checker.returns
    )


def _by_symbol(data: object) -> Mapping[str, object]:
    match data:
        case {"schema": int(schema), "functions": dict(functions), **rest} if not rest:
            if (
                schema == SCHEMA
                and schema is not True
                and all(isinstance(symbol, str) for symbol in functions)
            ):
                return functions
    raise unsupported("no certificates of this schema")

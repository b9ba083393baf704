"""Check an object by certificates: every function of a statement, by the rules alone.

    check_object(Path("kernel.o"), spec, json.loads(text))

Whoever wrote the certificates, and however, is of no consequence: nothing here searches. They are
plain data, one for each function:

    {"schema": 1, "functions": {"gcm_seal": certificate, "gcm_open": certificate}}

The form of a certificate stands in `ghashgen.verify.rules.assertion`. That of a function that
aligns its frame to 32 or 64 bytes is {"stack": {"8": certificate, "24": …, "40": …, "56": …}}: one
for each value that the stack pointer may have at the entry, modulo 64.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from ghashgen.support.errors import GhashgenError
from ghashgen.verify.core.refutation import Refutation, unsupported
from ghashgen.verify.machine.image import Image
from ghashgen.verify.machine.target import Target
from ghashgen.verify.meaning.function import Function as Meaning
from ghashgen.verify.rules.assertion import read_certificate
from ghashgen.verify.rules.check import MOST_STEPS, Checker
from ghashgen.verify.statements.core import Function, Statement, sizes_of
from ghashgen.verify.x86_64.elf import load_image

SCHEMA = 1

ALIGNED = 64
"""Bytes to which a function may align its frame itself, at most."""

NOTHING: dict[str, object] = {"assertions": {}}
"""The certificate of a run that is not cut."""


@dataclass(frozen=True)
class Way:
    """What has been checked of a function: for which numbers, and what that took."""

    numbers: str
    steps: int
    cases: int
    returns: int


def check_object(source: bytes | Path, spec: Statement, data: object) -> tuple[Way, ...]:
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
    return tuple(check_function(image, spec, f, certificates[f.symbol]) for f in spec.functions)


def check_function(image: Image, spec: Statement, function: Function, certificate: object) -> Way:
    """Check one function by a certificate.

    Raises:
        Refutation: it is refused, or the function has no meaning.
    """
    try:
        return check_sizes(image, spec, function, certificate)
    except Refutation as error:
        error.symbol = function.symbol
        raise


def check_sizes(image: Image, spec: Statement, function: Function, certificate: object) -> Way:
    """Check one function for every size of a key that its statement is of.

    Raises:
        Refutation: the certificate is refused.
    """
    sizes = sizes_of(spec)
    if not sizes:
        return check_way(image, lambda: spec.meaning(function), certificate)
    match certificate:
        case {"keys": dict(cases), **rest} if not rest and cases.keys() == sizes.keys():
            return all_of([check_sizes(image, sizes[k], function, cases[k]) for k in sizes])
    raise unsupported(f"no certificate for each of keys of {', '.join(sizes)} bits")


def check_way(image: Image, meaning: Callable[[], Meaning], certificate: object) -> Way:
    """Check a function in one way, for every place that its stack may have.

    Raises:
        Refutation: the certificate is refused.
    """
    match certificate:
        case {"stack": dict(cases), **rest} if not rest:
            aligned = residues(image.target)
            if cases.keys() != aligned.keys():
                raise unsupported(f"cases of the stack pointer modulo {ALIGNED} are missing or odd")
            return all_of([check_case(image, meaning(), cases[k], aligned[k]) for k in cases])
    return check_case(image, meaning(), certificate)


def residues(target: Target) -> dict[str, tuple[int, int]]:
    """Return what the stack pointer may be modulo 64 at the entry: each is a case by itself."""
    step, first = target.stack_align
    return {str(k): (ALIGNED, k) for k in range(first, ALIGNED, step)}


def check_case(
    image: Image, meaning: Meaning, certificate: object, align: tuple[int, int] | None = None,
    most: int = MOST_STEPS,
) -> Way:  # fmt: skip
    """Check a function in one way, the stack pointer at its entry being so aligned: without
    `align`, as the convention says. `most` is how many instructions there may be between two cuts.

    Raises:
        Refutation: the certificate is refused.
    """
    with _judging(image, meaning):
        checker = Checker(image, meaning, read_certificate(certificate), align)
        checker.most = most
        checker.check()
        return Way(_numbers(meaning), checker.steps, checker.runs, checker.returns)


def all_of(ways: Sequence[Way]) -> Way:
    """Return what several checks of one way took together."""
    steps, cases, returns = (
        sum(getattr(way, name) for way in ways) for name in ("steps", "cases", "returns")
    )
    return Way(" or ".join(dict.fromkeys(way.numbers for way in ways)), steps, cases, returns)


@contextmanager
def _judging(image: Image, meaning: Meaning) -> Iterator[None]:
    """Name the instruction of a refutation; let limits of the machine be one."""
    try:
        yield
    except Refutation as error:
        if error.difference is not None:
            said = partial(_instruction, image)
            error.difference = replace(error.difference, instruction=said)
        if error.at is not None:
            error.instruction = _instruction(image, error.at)
        raise
    except (RecursionError, MemoryError) as error:
        raise unsupported(f"{type(error).__name__}: its values are more than fits here") from None
    finally:
        # Forms are large, and terms refer to their pool: do not wait for a garbage collection.
        meaning.terms.clear()


def _instruction(image: Image, at: int) -> str:
    try:
        return image.target.text(image, at)
    except (Refutation, GhashgenError):
        return ""


def _numbers(meaning: Meaning) -> str:
    """Return in words for which numbers a function was checked: all that its facts begin with."""
    unit = meaning.multiple
    spans = {
        name: str(low * unit) if low == high else f"{low * unit}..{(high + 1) * unit - 1}"
        for name, (low, high) in meaning.numbers.items()
    }
    every = (
        spans["length"]
        if [*spans] == ["length"]
        else ", ".join(f"{name} = {span}" for name, span in spans.items())
    )
    every += f", multiples of {unit}" if unit > 1 else ""
    return (every or "none") + (", as the caller promises them" if meaning.promised[1:] else "")


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
                and all(isinstance(symbol, str) and symbol.isprintable() for symbol in functions)
            ):
                return functions
    raise unsupported("no certificates of this schema")

"""Proposes certificates of a function, for `ghashgen.verify.checking`. Nothing here is trusted."""

from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

from ghashgen.verify.checking import check_case, residues
from ghashgen.verify.core.refutation import Refutation, unsupported
from ghashgen.verify.core.values import UndecidedError
from ghashgen.verify.machine.image import Image
from ghashgen.verify.meaning.counters import Counters
from ghashgen.verify.meaning.function import Function as Meaning
from ghashgen.verify.meaning.hashing import Hashing
from ghashgen.verify.meaning.power import Power
from ghashgen.verify.meaning.records import Records
from ghashgen.verify.meaning.text import Text
from ghashgen.verify.rules.check import Checker
from ghashgen.verify.search.flow import flow_of, looks_of
from ghashgen.verify.search.hash import certificates
from ghashgen.verify.search.merge import finer
from ghashgen.verify.search.message import certificate
from ghashgen.verify.search.pieces import certificates as pieces
from ghashgen.verify.search.places import Places
from ghashgen.verify.search.records import Many
from ghashgen.verify.search.text import certificates as texts
from ghashgen.verify.statements.core import Statement


def proposed(
    image: Image, spec: Statement, meaning: Callable[[], Meaning]
) -> Iterator[dict[str, Any] | Refutation]:
    """Yield certificates of a function, each of which may or may not be right, and why there is
    none where a search comes to nothing.
    """
    try:
        if not _rounds(image, meaning().symbol):
            yield from _proposed(image, spec, meaning())
            return
        cases = residues(image.target)
        yield {"stack": {k: _first(image, spec, meaning, align) for k, align in cases.items()}}
    except (Refutation, UndecidedError, RecursionError, MemoryError) as error:
        yield _told(error)


def _told(error: Exception) -> Refutation:
    """Return why a search came to nothing."""
    if isinstance(error, Refutation):
        return error
    return unsupported(f"search: {str(error) or type(error).__name__}")


def _rounds(image: Image, symbol: str) -> bool:
    """Return whether a function aligns its frame itself."""
    return any(look.rounds for look in looks_of(image, image.symbol(symbol)).values())


def _proposed(
    image: Image, spec: Statement, meaning: Meaning, align: tuple[int, int] | None = None
) -> Iterator[dict[str, Any] | Refutation]:
    checker = Checker(image, meaning, {}, align)
    where = Places(image, flow_of(checker, spec.abi), checker.entry)
    try:
        for data in _whole(checker, spec, meaning):
            # With more assertions first: they take less time to check.
            with suppress(Refutation, UndecidedError):
                if isinstance(data, Refutation) or isinstance(meaning, Records):
                    pass
                elif (more := finer(checker, where, data)) is not None:
                    yield more
                    apart = finer(checker, where, data, zeros=True)
                    if apart is not None and apart != more:
                        yield apart
            yield data
    finally:
        meaning.terms.clear()


def _whole(
    checker: Checker, spec: Statement, meaning: Meaning
) -> Iterator[dict[str, Any] | Refutation]:
    """Yield certificates with the assertions that there have to be."""
    if isinstance(meaning, Records):
        yield from Many(checker, spec.abi, True).certificates()
    elif any(isinstance(p, Hashing) and p.start for p in meaning.parts):
        yield from pieces(checker, spec.abi)
    elif all(isinstance(p, Hashing | Power) for p in meaning.parts):
        yield from certificates(checker, spec.abi)
    elif all(isinstance(p, Counters | Text) for p in meaning.parts):
        yield from texts(checker, spec.abi)
    else:
        try:
            yield certificate(checker, spec.abi, together=True)
        except (Refutation, UndecidedError) as error:
            yield _told(error)
        yield certificate(checker, spec.abi)


def _first(
    image: Image, spec: Statement, meaning: Callable[[], Meaning], align: tuple[int, int]
) -> dict[str, Any]:
    """Return the first certificate that is accepted where the stack pointer is so aligned."""
    refused = unsupported("search: no certificate")
    for data in _proposed(image, spec, meaning(), align):
        if isinstance(data, Refutation):
            refused = data
            continue
        try:
            check_case(image, meaning(), data, align)
        except Refutation as error:
            refused = error
        else:
            return data
    raise refused

"""Asks the prover about an object, as `ghashgen prove-object` does, with a time limit."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol

from ghashgen.check.attack.limit import CutOffError, OutOfTimeError, limit
from ghashgen.support.errors import GhashgenError
from ghashgen.verify.core.refutation import Refutation
from ghashgen.verify.prove import prove_object
from ghashgen.verify.search.certified import Certified
from ghashgen.verify.search.telling import telling_lengths, wrong_at
from ghashgen.verify.statements.core import Statement

SECONDS = 120
"""Longer than any kernel's proof takes."""

ACCEPTED, OBJECT = "", "object"


class Grouped(Statement, Protocol):
    """A statement about a kernel whose loop takes `blocks` blocks in a turn."""

    @property
    def blocks(self) -> int: ...  # noqa: D102


@dataclass(frozen=True)
class Verdict:
    """The prover's verdict on an object."""

    refused: str = ACCEPTED
    """The category of the refutation; "object" if reading it failed."""
    stopped: str = ""
    """The unexpected exception that ended the prover."""
    late: bool = False
    """No verdict came in time."""


def verdict(
    data: bytes,
    spec: Grouped,
    seconds: float = SECONDS,
    *,
    suspected: bool = True,
    given: Mapping[str, object] | None = None,
) -> Verdict:
    """Return the prover's verdict on an object's bytes: all functions, all lengths.

    Functions with `given` certificates are checked by these alone. Otherwise, if it is `suspected`
    to be wrong, a few telling lengths are tried first.
    """

    def ask() -> Refutation | None:
        # Most mutants are refuted at a few telling lengths; the others are proved completely.
        lengths = telling_lengths(spec.blocks)
        refutation = wrong_at(data, spec, lengths) if suspected and not given else None
        search = Certified(given or {}).search
        return refutation or prove_object(data, spec, search).refutation

    return judged(ask, seconds)


def judged(ask: Callable[[], Refutation | None], seconds: float = SECONDS) -> Verdict:
    """Return the verdict of what refutes an object, or does not."""
    try:
        with limit(seconds):
            refutation = ask()
            if refutation is not None:
                return Verdict(str(refutation.category))
    except CutOffError:
        raise
    except OutOfTimeError:
        return Verdict(late=True)
    except GhashgenError:
        return Verdict(OBJECT)
    except Exception as error:  # any exception here was caused by a stranger's object
        return Verdict(stopped=f"{type(error).__name__}: {error}")
    return Verdict()

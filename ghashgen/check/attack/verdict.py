"""Asks the prover about an object, as `ghashgen prove-object` does, within a time."""

from dataclasses import dataclass
from typing import Protocol

from ghashgen.algebra.field.bitorder import BLOCK_BYTES
from ghashgen.check.attack.limit import CutOffError, OutOfTimeError, limit
from ghashgen.support.errors import GhashgenError
from ghashgen.verify.engine.family import Statement
from ghashgen.verify.prove import prove_object

SECONDS = 120
"""More than any kernel's proof takes."""

ACCEPTED, OBJECT = "", "object"


class Grouped(Statement, Protocol):
    """A statement about a kernel whose loop takes some blocks a turn."""

    @property
    def blocks(self) -> int: ...  # noqa: D102


@dataclass(frozen=True)
class Verdict:
    """What the prover says of an object."""

    refused: str = ACCEPTED
    """The category of the refutation; "object" if it was refused when it was read."""
    stopped: str = ""
    """The exception that ended the prover, which should have said one of these."""
    late: bool = False
    """No verdict came in time."""


def telling_lengths(blocks: int) -> list[int]:
    """Return lengths in bytes on both sides of every boundary of the control flow."""
    group = blocks * BLOCK_BYTES
    around = (0, BLOCK_BYTES, group, group + BLOCK_BYTES, 2 * group)
    lengths = {base + extra for base in around for extra in (0, 3, 7, 13)}
    return sorted(lengths | {max(0, base - 1) for base in around})


def verdict(
    data: bytes, spec: Grouped, seconds: float = SECONDS, *, suspected: bool = True
) -> Verdict:
    """Return what the prover says of an object's bytes: all of its functions, all lengths.

    One that is `suspected` to be wrong is asked about at a few telling lengths first.
    """
    try:
        with limit(seconds):
            # Most mutants are refuted at a few telling lengths; what is not, is proved whole.
            few = [telling_lengths(spec.blocks)] if suspected else []
            for lengths in (*few, None):
                refutation = prove_object(data, spec, lengths).refutation
                if refutation is not None:
                    return Verdict(str(refutation.category))
    except CutOffError:
        raise
    except OutOfTimeError:
        return Verdict(late=True)
    except GhashgenError:
        return Verdict(OBJECT)
    except Exception as error:  # whatever it is, a stranger's object caused it
        return Verdict(stopped=f"{type(error).__name__}: {error}")
    return Verdict()

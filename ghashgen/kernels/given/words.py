"""What emitted files say about kernels in a host's layout."""

from collections.abc import Sequence

from ghashgen.kernels.core import Values, Words
from ghashgen.kernels.given.interface import interfaces
from ghashgen.kernels.given.kernel import GivenKernel
from ghashgen.kernels.hash.words import words as hash_words

NOTES = """\
AES-GCM kernels with symbols, prototypes and key schedule of a host (SP 800-38D, AES of FIPS 197).
They take the place of the host's own functions, all of them together: only the table that their
init fills is theirs. They read the key schedule and the counter block, and write neither."""


def words(kernel: GivenKernel) -> Words:
    """Return what a kernel's banner says."""
    own = hash_words(kernel.hash)
    return Words(
        title=f"{line({'interface': kernel.interface, 'blocks': kernel.blocks})}, AES of FIPS 197",
        parts=own.parts,
        table=own.table,
        closing=(
            "Time depends only on len and on the number of rounds. in and out may be the same",
            "pointer. Otherwise no output may overlap another argument's memory.",
        ),
    )


def line(values: Values) -> str:
    """Return what a kernel with these values computes, for a header."""
    title = interfaces()[str(values["interface"])].title
    return f"AES-GCM as {title} calls it, {values['blocks']} blocks per group"


def notes(entries: Sequence[Values]) -> tuple[str, ...]:
    """Return a header's notes on its kernels."""
    return tuple(NOTES.split("\n"))

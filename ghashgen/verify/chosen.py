"""Runs a function at chosen lengths, from its entry to its return, without a certificate."""

from collections.abc import Callable, Sequence
from dataclasses import replace

from ghashgen.verify.checking import Way, all_of, run_at
from ghashgen.verify.core.refutation import unsupported
from ghashgen.verify.machine.image import Image
from ghashgen.verify.meaning.function import Function as Meaning

LENGTH = "length"

USUAL = {
    "iv_length": (16, 12, 1, 33),
    "aad_length": (20, 0, 16),
    "tag_length": (16, 4, 13, 9, 8),
    "phase": (2, 1),
    "text_done": (16, 0, 37, 0, 7, 0),
    "aad_done": (20, 0, 16),
}
"""What a function's other numbers are, in turn; any that is not listed is the least that it may be.
"""


def at_lengths(image: Image, meaning: Callable[[], Meaning], lengths: Sequence[int]) -> Way:
    """Run a function at these lengths in bytes, as far as there may be such ones.

    Raises:
        Refutation: at one it is wrong; or there may be none of them.
    """
    ways, other = [], {}
    for length in lengths:
        own = meaning()
        if length % own.multiple == 0:
            other = {n: v for n, v in others(own, 0).items() if n != LENGTH}
            ways.append(run_at(image, meaning, {LENGTH: length // own.multiple, **other}))
    if not ways:
        raise unsupported("no length is chosen that there may be: there is nothing to prove")
    said = [f"{len(ways)} chosen", *(f"{name} = {n}" for name, n in other.items())]
    return replace(all_of(ways), numbers=", ".join(said))


def others(meaning: Meaning, turn: int) -> dict[str, int]:
    """Return a number for each of a function's, other ones in other turns."""
    return {
        name: USUAL[name][turn % len(USUAL[name])] if name in USUAL else low
        for name, (low, _) in meaning.numbers.items()
    }

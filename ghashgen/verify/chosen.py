"""Runs a function at chosen numbers, from its entry to its return, without a certificate.

For tests that want a few lengths, and to show where a function of which no certificate is accepted
is wrong: a length says more than "no invariant".
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from math import lcm

from ghashgen.algebra.field.bitorder import BLOCK_BYTES
from ghashgen.verify.checking import Way, all_of, run_at
from ghashgen.verify.core.refutation import Category, Refutation, unsupported
from ghashgen.verify.machine.image import Image
from ghashgen.verify.meaning.function import Function as Meaning
from ghashgen.verify.meaning.power import EXPONENT

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

EXPONENTS = (0, 1)
"""Exponents that are run: without an assertion, no turn of a loop over the bits has a name."""

MOST_OF_POWER = 300
"""Instructions of such a run. Unnamed squares of squares get long."""

MOST_UNFOLLOWED = 3
"""Runs in a row that say nothing, after which no more are tried."""

LENGTHS = range(400)
"""Lengths in bytes that are tried after the telling ones."""

MOST_STEPS = 60_000
"""Instructions of all runs, after which no more are tried: a few seconds."""


def at_lengths(image: Image, meaning: Callable[[], Meaning], lengths: Sequence[int]) -> Way:
    """Run a function at these lengths in bytes, as far as there may be such ones.

    Raises:
        Refutation: at one it is wrong; or there may be none of them.
    """
    ways, other = [], {}
    for length in lengths:
        own = meaning()
        if length % own.multiple == 0:
            other = {n: v for n, v in _others(own, 0).items() if n != LENGTH}
            ways.append(run_at(image, meaning, {LENGTH: length // own.multiple, **other}))
    if not ways:
        raise unsupported("no length is chosen that there may be: there is nothing to prove")
    said = [f"{len(ways)} chosen", *(f"{name} = {n}" for name, n in other.items())]
    return replace(all_of(ways), numbers=", ".join(said))


def telling(
    image: Image, blocks: int, meaning: Callable[[], Meaning], refused: Refutation
) -> Refutation:
    """Return the most telling refutation of a function of which no certificate is accepted.

    Its loop takes `blocks` blocks in a turn. A run at known numbers tells most: that one is wrong,
    else that one is not followed. `refused` is why the last certificate was not accepted.
    """
    unfollowed: Refutation | None = None
    row = steps = 0
    own = meaning()
    most = MOST_OF_POWER if EXPONENT in own.numbers else MOST_STEPS
    for numbers in _choices(own, blocks):
        try:
            steps += run_at(image, meaning, numbers, most).steps
            row = 0
        except Refutation as error:
            if error.category is not Category.UNSUPPORTED:
                return error
            unfollowed, row = unfollowed or error, row + 1
        if row == MOST_UNFOLLOWED or steps > MOST_STEPS:
            break
    if unfollowed is not None and refused.category is Category.UNSUPPORTED:
        return unfollowed
    return refused


def _choices(meaning: Meaning, blocks: int) -> Iterator[dict[str, int]]:
    if EXPONENT in meaning.numbers:
        yield from ({EXPONENT: n} for n in EXPONENTS)
    elif LENGTH in meaning.numbers:
        lengths = *telling_lengths(blocks), *LENGTHS, *_longer(blocks)
        for turn, length in enumerate(dict.fromkeys(lengths)):
            if length % meaning.multiple == 0:
                yield _others(meaning, turn) | {LENGTH: length // meaning.multiple}
    else:
        turns = lcm(*(len(USUAL[n]) for n in meaning.numbers if n in USUAL))
        yield from (_others(meaning, turn) for turn in range(turns))


def _others(meaning: Meaning, turn: int) -> dict[str, int]:
    """Return a number for each of a function's, other ones in other turns."""
    return {
        name: USUAL[name][turn % len(USUAL[name])] if name in USUAL else low
        for name, (low, _) in meaning.numbers.items()
    }


def _longer(blocks: int) -> Iterator[int]:
    for turns in (3, 4, 5, 8, 9, 16, 17):
        yield from (turns * blocks * BLOCK_BYTES + extra for extra in (0, 16, 37, 48))


def telling_lengths(blocks: int) -> list[int]:
    """Return lengths in bytes on both sides of every boundary of the control flow."""
    group = blocks * BLOCK_BYTES
    around = (0, BLOCK_BYTES, group, group + BLOCK_BYTES, 2 * group)
    lengths = {base + extra for base in around for extra in (0, 3, 7, 13)}
    return sorted(lengths | {max(0, base - 1) for base in around})

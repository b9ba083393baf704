"""Says where a function is wrong, when no certificate is accepted: runs at numbers that may tell.

A length says more than "no invariant". Nothing here proves anything.
"""

from collections.abc import Callable, Iterator
from math import lcm

from ghashgen.algebra.field.bitorder import BLOCK_BYTES
from ghashgen.verify.checking import run_at
from ghashgen.verify.chosen import LENGTH, USUAL, others
from ghashgen.verify.core.refutation import Category, Refutation
from ghashgen.verify.machine.image import Image
from ghashgen.verify.meaning.function import Function as Meaning
from ghashgen.verify.meaning.power import EXPONENT

EXPONENTS = (0, 1)
"""Exponents that are run: without an assertion, no turn of a loop over the bits has a name."""

MOST_OF_POWER = 300
"""Instructions of such a run. Unnamed squares of squares get long."""

MOST_UNFOLLOWED = 3
"""Runs in a row that say nothing, after which no more are tried."""

TAKEN = (LENGTH, "aad_length", "iv_length")
"""Lengths of what a function takes in: the first that it has is varied."""

LENGTHS = range(400)
"""Lengths in bytes that are tried after the telling ones."""

BRIEF = 12_000
"""Instructions of the runs before a search that may take long: about two seconds of a right
function, up to seven of one with groups of 48 blocks. They save the search of many a wrong one.
"""

MOST_STEPS = 120_000
"""Instructions of all runs, after which no more are tried: a few seconds."""


def tried(
    image: Image, blocks: int, meaning: Callable[[], Meaning], all_steps: int = MOST_STEPS
) -> Refutation | None:
    """Return what a run at known numbers says against a function: that it is wrong, or else that
    the run is not followed; None: nothing.

    The function's loop takes `blocks` blocks in a turn. After `all_steps` no more runs are tried.
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
        if row == MOST_UNFOLLOWED or steps > all_steps:
            break
    return unfollowed


def _choices(meaning: Meaning, blocks: int) -> Iterator[dict[str, int]]:
    if EXPONENT in meaning.numbers:
        yield from ({EXPONENT: n} for n in EXPONENTS)
        return
    taken = next((n for n in TAKEN if n in meaning.numbers), None)
    if taken != LENGTH:
        turns = lcm(*(len(USUAL[n]) for n in meaning.numbers if n in USUAL))
        yield from (others(meaning, turn) for turn in range(turns))
    if taken is not None:
        lengths = *telling_lengths(blocks), *LENGTHS, *_longer(blocks)
        for turn, length in enumerate(dict.fromkeys(lengths)):
            if length % meaning.multiple == 0:
                yield others(meaning, turn) | {taken: length // meaning.multiple}


def _longer(blocks: int) -> Iterator[int]:
    for turns in (3, 4, 5, 8, 9, 16, 17):
        yield from (turns * blocks * BLOCK_BYTES + extra for extra in (0, 16, 37, 48))


def telling_lengths(blocks: int) -> list[int]:
    """Return lengths in bytes on both sides of every boundary of the control flow."""
    group = blocks * BLOCK_BYTES
    around = (0, BLOCK_BYTES, group, group + BLOCK_BYTES, 2 * group)
    lengths = {base + extra for base in around for extra in (0, 3, 7, 13)}
    return sorted(lengths | {max(0, base - 1) for base in around})

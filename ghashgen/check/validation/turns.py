"""Lengths at many turns of a loop: what is right around two groups may be wrong at the third.

Whatever a loop carries from turn to turn, a pointer, a count, a block, is used again at each; what
it carries wrongly may show at a later turn alone, at one residue alone.
"""

import random
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from ghashgen.algebra.field.bitorder import BLOCK_BYTES
from ghashgen.check.validation.cases import SEED
from ghashgen.check.validation.trials import Trial

FIRST, TURNS = 3, 16
"""The turns of a loop at which residues are run; before them every length is."""

FARTHEST = 64
"""Turns up to which lengths are drawn at random."""

DRAWN, DRAWN_FEW = 24, 4
"""How many of these there are; and where calls take long."""

OUT = "out"
"""The parameter that may be the memory of another one."""

FEW = 2
"""Where calls take long: at so many turns each residue modulo 16 is run."""


def lengths(blocks: int, few: bool, multiple: int = 1) -> Sequence[int]:
    """Return lengths in bytes, in increasing order, for a loop that takes so many blocks a turn.

    They are all below three turns that `tail_bound` leaves, every residue modulo 16 at each of 3 to
    16 turns, every residue modulo a group at one of these, and one at random from each of DRAWN
    equal parts of the turns from there to 64. `few` leaves every residue modulo 16 at two turns.
    All are multiples of `multiple`.
    """
    group, some = BLOCK_BYTES * blocks, TURNS + 1 - FIRST
    most = max(blocks, some)
    out = {
        group * (FIRST + (step + rest) % some) + BLOCK_BYTES * (step % blocks) + rest
        for step in range(0, most, most // FEW if few else 1)
        for rest in range(0, BLOCK_BYTES, min(multiple, BLOCK_BYTES))
    }
    if not few:
        out |= {*range(2 * (group + BLOCK_BYTES), FIRST * group, multiple)}
    rng, parts = random.Random(SEED + 89 * blocks), DRAWN_FEW if few else DRAWN
    part = (FARTHEST - TURNS) * group // parts // multiple
    starts = range(TURNS * group, FARTHEST * group, part * multiple)
    out |= {start + multiple * rng.randrange(1, part + 1) for start in starts[:parts]}
    return sorted(out)


def on_both_sides(trials: Iterable[Trial], few: bool) -> Iterator[Trial]:
    """Yield trials against the pages behind their buffers and before them; if few, in turn.

    What may be done in place is done so on one of the two sides, at each residue modulo 16 on both.
    """
    for number, trial in enumerate(trials):
        side, shares = (number ^ number >> 4) & 1, any(part.name == OUT for part in trial.parts)
        if few:
            turned = bool((number >> 1 ^ number >> 5) & 1)
            yield replace(trial, at_start=bool(side), in_place=shares and turned)
            continue
        for at_start in (False, True):
            in_place = shares and at_start != bool(side)
            yield replace(trial, at_start=at_start, in_place=in_place)

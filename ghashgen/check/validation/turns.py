"""Lengths at many turns of a loop: what is right around two groups may be wrong at the third.

Values that a loop carries (a pointer, a count, a block) are used again in each turn. An error in
them may show only at a later turn, or at one residue.
"""

import random
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from ghashgen.algebra.field.bitorder import BLOCK_BYTES
from ghashgen.check.validation.cases import SEED
from ghashgen.check.validation.trials import Trial

FIRST, TURNS = 3, 16
"""The turns at which residues are run; below them every length is run."""

FARTHEST = 64
"""Turns up to which lengths are drawn at random."""

DRAWN, DRAWN_FEW = 24, 4
"""Number of random lengths; the same if calls are slow."""

OUT = "out"
"""The parameter that may share another's memory."""

FEW = 2
"""If calls are slow: number of turns at which each residue modulo 16 is run."""


def lengths(blocks: int, few: bool, multiple: int = 1) -> Sequence[int]:
    """Return lengths in bytes, ascending, for a loop that takes `blocks` blocks in a turn.

    They are: all below three turns that `tail_bound` leaves; every residue modulo 16 at each of 3
    to 16 turns; every residue modulo a group at one of these; one random length from each of DRAWN
    equal parts of the turns from there to 64. `few` runs residues modulo 16 at only two turns. All
    are multiples of `multiple`.
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
    """Yield trials against the pages behind their buffers and before them; if few, alternately.

    Trials that may run in place do so on one of the two sides, and on both at each residue modulo
    16.
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

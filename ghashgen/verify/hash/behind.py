"""A second line behind the induction: some of the lengths that it has shown are run after all.

Each runs from the entry to the return, through the same rows, and is compared with the
specification as an executed length is. No loop is cut, and nothing counts as proved from an earlier
run: what the first line takes for granted (`ghashgen.verify.hash.cut`, the descent, which lengths
are among those claimed) is not used here. The prover is a new one; its lengths share terms alone.

A length at which the two disagree is a fault of the prover, one of whose two lines is wrong; of the
kernel it says only that nothing has been proved. A length that cannot be followed is refused like
any other.
"""

import math
import random
import time
from dataclasses import dataclass
from itertools import pairwise

from ghashgen.algebra.field.bitorder import BLOCK_BYTES
from ghashgen.verify.core.lengths import Claim
from ghashgen.verify.core.refutation import Category, Refutation
from ghashgen.verify.hash.theorem import Prover

TURNS = 2
"""Turns of the main loop beyond the executed lengths whose residues are run."""

NEAR, PARTS = 64, 32
"""Where both turns together have no more than NEAR residues, all of these lengths are run; where
one turn has no more, every residue once, in either turn; else one residue at random from each of
PARTS equal parts of them."""

FAR, FAR_TURNS = 4, 16
"""Beyond those, to so many turns of the loop, one length at random from each of FAR equal parts."""


@dataclass(frozen=True)
class Behind:
    """What the second line has run, in lengths and instructions, and what it cost."""

    lengths: int
    greatest: int
    instructions: int
    seconds: float

    def __str__(self) -> str:
        return (
            f"behind the induction: {self.lengths} lengths up to {self.greatest} run without it, "
            f"{self.instructions} instructions followed, {self.seconds:.2f} s"
        )


def sample(claim: Claim, first: int, group: int, name: str) -> list[int]:
    """Return the lengths in bytes to run, from `first` on, in order.

    `group` is what the main loop takes in one turn, in bytes. The sample's seed is `name`: the same
    for every run, and another one for each kernel.
    """
    # A str as a seed is hashed by SHA-512, alike everywhere.
    drawn = random.Random(name)
    step = claim.step
    group = math.lcm(group, step)
    start = -(-first // step) * step
    residues = group // step
    parts = residues if residues <= NEAR else PARTS
    lengths = []
    for residue in _spread(drawn, range(0, group, step), parts):
        turns = range(TURNS) if TURNS * residues <= NEAR else [drawn.randrange(TURNS)]
        lengths += [start + group * turn + residue for turn in turns]
    lengths += _spread(drawn, range(start + TURNS * group, FAR_TURNS * group + 1, step), FAR)
    return sorted(length for length in lengths if length <= claim.last)


def _spread(drawn: random.Random, numbers: range, parts: int) -> list[int]:
    edges = (k * len(numbers) // parts for k in range(parts + 1))
    return [numbers[drawn.randrange(low, high)] for low, high in pairwise(edges)]


def run_behind(prover: Prover, claim: Claim, first: int) -> Behind:
    """Run a sample of the lengths from `first` on that a prover has shown by induction.

    Raises:
        Refutation: a length is not as it was shown to be (category PROVER), or cannot be followed.
    """
    began = time.perf_counter()
    spec, function = prover.spec, prover.function
    again = Prover(prover.image, spec, function, cutting=False)
    group = BLOCK_BYTES * spec.blocks
    lengths = sample(claim, first, group, function.symbol)
    try:
        for length in lengths:
            again.prove(length)
    except Refutation as refutation:
        if refutation.category == Category.UNSUPPORTED:
            raise
        raise _fault(refutation) from None
    finally:
        again.naming.terms.clear()
    return Behind(
        len(lengths), max(lengths, default=0), again.executed, time.perf_counter() - began
    )


def _fault(found: Refutation) -> Refutation:
    fault = Refutation(
        Category.PROVER,
        "a fault of the prover, please report it: the induction shows this length right, execution "
        f"finds it wrong ({found.category}: {found.message})",
        at=found.at,
        difference=found.difference,
    )
    fault.symbol, fault.length, fault.instruction = found.symbol, found.length, found.instruction
    return fault

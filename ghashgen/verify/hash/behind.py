"""A second line behind the inductions: some of what they have shown is run after all.

Lengths of update and exponents of power run from the entry to the return, through the same rows,
and are compared with the specification as an executed one is. No loop is cut, and nothing counts as
proved from an earlier run: what the first line takes for granted (`ghashgen.verify.hash.cut`, the
descent, the cases of an exponent, which numbers are among those claimed) is not used here. The
prover is a new one; its runs share terms, and what straight stretches of vector instructions make
of equal terms (`ghashgen.verify.hash.stretches`).

The factors of power are named as those of init are: a register that has been compared with H^(a+b),
as a form in the bits of H^a and H^b, and equals it for every H, becomes the variable of that power.
So the degree stays at 2 with however many bits an exponent has, and each is shown for every H.

A number at which the two lines disagree is a fault of the prover, one of whose two lines is wrong;
of the kernel it says only that nothing has been proved. One that cannot be followed is refused like
any other.
"""

import math
import random
import time
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from ghashgen.algebra.field.bitorder import BLOCK_BYTES
from ghashgen.verify.core.lengths import Claim
from ghashgen.verify.core.refutation import Category, Refutation
from ghashgen.verify.hash.stretches import Stretches
from ghashgen.verify.hash.theorem import EXPONENT_BITS, Prover

TURNS = 2
"""Turns of the main loop beyond the executed lengths whose residues are run."""

NEAR, PARTS = 1536, 768
"""Where these turns have no more than NEAR lengths (48 blocks a turn), all of them are run; else
one residue at random from each of PARTS equal parts of them, in either turn."""

FAR, FAR_TURNS = 4, 16
"""Beyond those, to so many turns of the loop, one length at random from each of FAR equal parts."""

SMALL = 128
"""Exponents from the least up of which every one is run."""

AROUND = 1
"""How far around every power of two exponents are run."""

ANY = 32
"""Exponents at random, one from each of ANY equal parts of the claim."""


@dataclass(frozen=True)
class Behind:
    """What the second line has run, in lengths or exponents (`unit`), and what it cost.

    Of the instructions followed, `repeated` were in stretches whose result was known.
    """

    unit: str
    numbers: int
    greatest: int
    instructions: int
    repeated: int
    seconds: float

    def __str__(self) -> str:
        return (
            f"behind the induction: {self.numbers} {self.unit} up to {self.greatest} run without "
            f"it, {self.instructions} instructions followed, {self.repeated} of them in stretches "
            f"done before, {self.seconds:.2f} s"
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
    end = start + TURNS * group
    if TURNS * group // step <= NEAR:
        lengths = list(range(start, end, step))
    else:
        residues = _spread(drawn, range(0, group, step), PARTS)
        lengths = [start + group * drawn.randrange(TURNS) + residue for residue in residues]
    lengths += _spread(drawn, range(end, FAR_TURNS * group + 1, step), FAR)
    return sorted(length for length in lengths if length <= claim.last)


def exponents(claim: Claim, first: int, name: str) -> list[int]:
    """Return the exponents to run, from `first` on, in order; `name` is the sample's seed."""
    chosen = set(range(first, first + SMALL))
    for k in range(EXPONENT_BITS + 1):
        chosen.update(range((1 << k) - AROUND, (1 << k) + AROUND + 1))
    chosen.update(_spread(random.Random(name), range(first, claim.last + 1), ANY))
    return sorted(m for m in chosen if first <= m <= claim.last)


def _spread(drawn: random.Random, numbers: range, parts: int) -> list[int]:
    # No len(): that of all exponents is more than it can say.
    first, step = numbers.start, numbers.step
    count = -(-(numbers.stop - first) // step)
    edges = (k * count // parts for k in range(parts + 1))
    return [first + step * drawn.randrange(low, high) for low, high in pairwise(edges)]


def run_lengths(prover: Prover, claim: Claim, first: int) -> Behind:
    """Run a sample of the lengths from `first` on that a prover has shown by induction.

    Raises:
        Refutation: a length is not as it was shown to be (category PROVER), or cannot be followed.
    """
    group = BLOCK_BYTES * prover.spec.blocks
    return _run(prover, "lengths", sample(claim, first, group, prover.function.symbol))


def run_exponents(prover: Prover, claim: Claim, first: int) -> Behind:
    """Run a sample of the exponents from `first` on that a prover has shown by induction.

    Raises:
        Refutation: one is not as it was shown to be (category PROVER), or cannot be followed.
    """
    return _run(prover, "exponents", exponents(claim, first, prover.function.symbol))


def _run(prover: Prover, unit: str, numbers: Sequence[int]) -> Behind:
    began = time.perf_counter()
    again = Prover(prover.image, prover.spec, prover.function, cutting=False)
    stretches = Stretches(again.flow)
    again.skip = stretches.skip
    run = again.prove if unit == "lengths" else again.prove_exponent
    try:
        for number in numbers:
            run(number)
    except Refutation as refutation:
        if refutation.category == Category.UNSUPPORTED:
            raise
        raise _fault(refutation, unit[:-1]) from None
    finally:
        again.naming.terms.clear()
    return Behind(
        unit,
        len(numbers),
        max(numbers, default=0),
        again.executed + stretches.repeated,
        stretches.repeated,
        time.perf_counter() - began,
    )


def _fault(found: Refutation, unit: str) -> Refutation:
    fault = Refutation(
        Category.PROVER,
        f"a fault of the prover, please report it: the induction shows this {unit} right, "
        f"execution finds it wrong ({found.category}: {found.message})",
        at=found.at,
        difference=found.difference,
    )
    fault.symbol, fault.instruction = found.symbol, found.instruction
    fault.length, fault.exponent = found.length, found.exponent
    return fault

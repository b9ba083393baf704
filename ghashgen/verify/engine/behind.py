"""A second line behind the inductions: run a sample of what they have shown.

Lengths (or exponents, or pieces) run from entry to return through the same rows, and are compared
with the specification. No loop is cut, and no earlier run counts as proof. So this uses none of the
first line's assumptions (`ghashgen.verify.engine.cut`, the descent, which numbers are claimed). The
prover is a new one. Its runs share terms, and the results of straight stretches of vector
instructions on equal terms (`ghashgen.verify.engine.stretches`).

If the two lines disagree, one of them is wrong: a fault of the prover, which says about the kernel
only that nothing has been proved. A number that cannot be followed is refused like any other.
"""

import math
import random
import time
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from ghashgen.verify.core.lengths import Claim
from ghashgen.verify.core.refutation import Category, Refutation
from ghashgen.verify.engine.family import E, Numbers
from ghashgen.verify.engine.induction import Course
from ghashgen.verify.engine.prover import Prover
from ghashgen.verify.engine.stretches import Stretches

TURNS = 2
"""The second line runs residues of this many turns of the main loop after the executed lengths."""

NEAR, PARTS = 1536, 768
"""If these turns have no more than NEAR lengths (48 blocks a turn), all of them are run. Otherwise
one random residue from each of PARTS equal parts is run, in either turn.
"""

FAR, FAR_TURNS = 4, 16
"""Beyond those, up to FAR_TURNS turns of the loop: one random length from each of FAR equal parts.
"""


@dataclass(frozen=True)
class Behind:
    """What the second line has run, in lengths or exponents (`unit`), and what it cost.

    `repeated` counts the followed instructions that were in stretches with a known result.
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


def sample(claim: Claim, first: int, group: int, name: str, parts: int | None = None) -> list[int]:
    """Return the lengths in bytes to run, from `first` on, in order.

    The main loop takes `group` bytes in one turn. With `parts`, one residue from each of that many
    equal parts of these turns; every residue if there are no more. `name` is the sample's seed: the
    same for every run, and different for each kernel.
    """
    # Python hashes a str seed by SHA-512, the same on every platform.
    drawn = random.Random(name)
    step = claim.step
    group = math.lcm(group, step)
    start = -(-first // step) * step
    end = start + TURNS * group
    if parts is None and TURNS * group // step <= NEAR:
        lengths = list(range(start, end, step))
    else:
        residues = spread(drawn, range(0, group, step), min(parts or PARTS, group // step))
        lengths = [start + group * drawn.randrange(TURNS) + residue for residue in residues]
    lengths += spread(drawn, range(end, FAR_TURNS * group + 1, step), FAR)
    return sorted(length for length in lengths if length <= claim.last)


def spread(drawn: random.Random, numbers: range, parts: int) -> list[int]:
    """Return one random number from each of `parts` equal parts."""
    # No len(): the number of all exponents exceeds its range.
    first, step = numbers.start, numbers.step
    count = -(-(numbers.stop - first) // step)
    edges = (k * count // parts for k in range(parts + 1))
    return [first + step * drawn.randrange(low, high) for low, high in pairwise(edges)]


def run_lengths(prover: Prover[E], course: Course, first: int, parts: int | None = None) -> Behind:
    """Run a sample of the lengths from `first` on that a prover has shown by induction.

    Raises:
        Refutation: a length contradicts the induction (category PROVER), or cannot be followed.
    """
    numbers = sample(course.claim, first, course.group, prover.function.symbol, parts)
    return run_again(prover, course, numbers)


def run_again(prover: Prover[E], course: Course, numbers: Sequence[int]) -> Behind:
    """Run some of the numbers that a prover has shown by induction, each from entry to return.

    Raises:
        Refutation: one contradicts the induction (category PROVER), or cannot be followed.
    """
    return run_numbers(
        prover,
        course.claim.unknown,
        [course.numbers(number) for number in numbers],
        max(numbers, default=0),
    )


def run_numbers(
    prover: Prover[E], unit: str, numbers: Sequence[Numbers], most: int | None = None
) -> Behind:
    """Run some values of all numbers, each from entry to return; `most` is the greatest of them.

    Raises:
        Refutation: one contradicts the induction (category PROVER), or cannot be followed.
    """
    began = time.perf_counter()
    again: Prover[E] = Prover(prover.image, prover.statement, prover.function, cutting=False)
    stretches: Stretches[E] = Stretches(again.flow, again.meaning)
    if again.meaning.repeats:
        again.skip = stretches.skip
    try:
        for each in numbers:
            again.prove(each)
    except Refutation as refutation:
        if refutation.category == Category.UNSUPPORTED:
            raise
        raise _fault(refutation, unit) from None
    finally:
        again.meaning.terms.clear()
    return Behind(
        f"{unit}s",
        len(numbers),
        max((n for each in numbers for n in each.values() if isinstance(n, int)), default=0)
        if most is None
        else most,
        again.executed + stretches.repeated,
        stretches.repeated,
        time.perf_counter() - began,
    )


def _fault(found: Refutation, unit: str) -> Refutation:
    fault = Refutation(
        Category.PROVER,
        f"a fault of the prover; please report it: the induction shows this {unit} right, "
        f"execution finds it wrong ({found.category}: {found.message})",
        at=found.at,
        difference=found.difference,
    )
    fault.symbol, fault.instruction = found.symbol, found.instruction
    fault.numbers = found.numbers
    return fault

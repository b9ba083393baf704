"""How a function is proved: once, or for every length by execution, induction and a second line."""

from collections.abc import Iterable
from dataclasses import dataclass, replace

from ghashgen.verify.engine.behind import Behind, run_lengths
from ghashgen.verify.engine.family import E
from ghashgen.verify.engine.induction import Course, prove_longer
from ghashgen.verify.engine.prover import Prover


@dataclass(frozen=True)
class Shown:
    """What has been shown: (lengths, method), both in words, and what the second line ran."""

    parts: tuple[tuple[str, str], ...]
    behind: Behind | None = None


def once(prover: Prover[E]) -> Shown:
    """Prove a function without a numeric parameter.

    Raises:
        Refutation: it does not hold.
    """
    prover.prove()
    return Shown((("none", "execution"),))


def every_length(
    prover: Prover[E],
    course: Course,
    executed: range,
    lengths: Iterable[int] | None = None,
    parts: int | None = None,
    longer: Iterable[int] = (),
) -> Shown:
    """Prove a function for every length of a course, those of `executed`, from 0, one by one.

    If `lengths` are given, only these are proved, and nothing is claimed of others. `parts` is the
    size of the second line's sample (`ghashgen.verify.engine.behind`). `longer` ones are executed
    too, so that a fault inside a loop is reported for what it is.

    Raises:
        Refutation: it does not hold.
    """
    if lengths is not None:
        chosen = sorted(set(lengths))
        for length in chosen:
            prover.prove(course.numbers(length))
        return Shown(((f"{len(chosen)} chosen", "execution"),))
    for length in (*executed, *longer):
        prover.prove(course.numbers(length))
    claim, last = course.claim, executed[-1]
    prove_longer(prover, course)
    behind = run_lengths(prover, course, last + 1, parts)
    below = replace(claim, bound=last).text(0)
    return Shown(((below, "execution"), (claim.text(last + 1), "induction")), behind)

"""Other ways to prove a function of every length, and their refutations."""

from typing import Any

from ghashgen.verify.core.refutation import Category, Refutation
from ghashgen.verify.engine.cut import LEFT, STALE
from ghashgen.verify.engine.induction import Course
from ghashgen.verify.engine.plans import Shown, every_length
from ghashgen.verify.engine.prover import Prover

KEPT = "right for the lengths that were run, but a loop keeps what the proof does not follow"

LONGER = 3
"""How many longer lengths are run, longer by whole groups."""


def otherwise(
    prover: Prover[Any], course: Course, executed: range, refutation: Refutation
) -> Shown:
    """Prove a function of every length in another way, after a refutation.

    Raises:
        Refutation: the same, if that fails too, or a more specific one.
    """
    if refutation.category is Category.UNSUPPORTED:
        return _any_total(prover, course, executed, refutation)
    if any(lost in refutation.message for lost in (STALE, LEFT)):
        _only_lost(prover, course, refutation)
    raise refutation


def _any_total(prover: Prover[Any], course: Course, executed: range, before: Refutation) -> Shown:
    """Prove it again, with only the rest of the length known after a loop (`totals`).

    Raises:
        Refutation: that fails too; it is the one from `before`.
    """
    again: Prover[Any] = Prover(prover.image, prover.statement, prover.function)
    meaning: Any = again.meaning
    meaning.any_total = True
    try:
        return every_length(again, course, executed)
    except Refutation:
        raise before from None
    finally:
        prover.executed += again.executed
        meaning.terms.clear()


def _only_lost(prover: Prover[Any], course: Course, refutation: Refutation) -> None:
    """Raise if a length was refuted because a cut lost data, and is right without cuts.

    Raises:
        Refutation: of a length that is longer by whole groups, and wrong without cuts.
    """
    length, group = refutation.length, course.group
    if length is None:
        return
    alone: Prover[Any] = Prover(prover.image, prover.statement, prover.function, cutting=False)
    try:
        alone.prove(course.numbers(length))
    except Refutation:
        return
    for longer in range(length + group, length + LONGER * group + 1, group):
        alone.prove(course.numbers(longer))
    refutation.category = Category.UNSUPPORTED
    refutation.message += f": {KEPT}"

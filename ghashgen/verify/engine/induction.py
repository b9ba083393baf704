"""All lengths beyond the executed ones, by induction on the turns of the main loop.

The length is a·u + c with u unknown in [low, high]. A `Course` gives the function's other numbers,
which do not change. The machine runs with that unknown: from the entry to a loop's cut, giving a
state S(u), and once around, giving a state S'(u). Shown:

1. from the entry, every length in the range reaches S (the range alone decides all branches on the
   way, or the attempt is refused);
2. S'(u) is S(u - d), d > 0 being what one turn consumes: the same registers, stack and fresh
   variables, with every length shorter by one turn. So S(u) goes to S(u - d) for every u >= low;
3. every S(r) with low - d <= r < low is a state from which executed lengths have been proved;
4. so is every length with u < low: executed from the entry, or led, by a run with the length
   unknown and all branches decided by its range, to states from which it has been proved;
5. the lengths of 1 to 4 together are all that is claimed (`ghashgen.verify.core.lengths`).

By descent every u >= low reaches a proved state. The work on the way matches the specification,
because the function's meaning has checked it at each cut (`Meaning.carried`). The loop may also
carry a function of the input ahead. It is part of S like any register: 1 shows that it holds on
entry, and 2 that a turn from any state in which it holds leads to one.

A state on the way, with its unknown in that range, then counts as proved too. So a second induction
may lead to it: over the length of an earlier loop, with this length still unknown.
"""

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from ghashgen.verify.core.lengths import Claim
from ghashgen.verify.core.refutation import Refutation, unsupported
from ghashgen.verify.core.values import Affine, Number, UndecidedError
from ghashgen.verify.engine.cut import Key, unknowns, with_numbers
from ghashgen.verify.engine.family import E, Numbers
from ghashgen.verify.engine.prover import NO_NUMBERS, STACK_RESIDUES, Prover, as_key
from ghashgen.verify.engine.resume import within

FEW = 1 << 12
"""Progressions with at most this many numbers are looked up number by number."""

TURNS = 3
"""How many first turns of the loop may differ from the following ones."""


@dataclass(frozen=True)
class Course:
    """The subject of an induction: the number that the claim's unknown is; others do not change.

    One turn of the loop takes `group` of it. The others may be unknown too, under names of their
    own: then only their ranges are assumed.
    """

    claim: Claim
    group: int
    others: Numbers = field(default_factory=lambda: NO_NUMBERS)

    def numbers(self, value: Number) -> Numbers:
        """Return all numbers for one value of this one."""
        return {**self.others, self.claim.unknown: value}


def prove_longer(prover: Prover[E], course: Course) -> list[Affine]:
    """Prove a function for every length of a claim that has not been executed.

    Returns these lengths as progressions.

    Raises:
        Refutation: it does not hold, or the loop is not of a known kind.
    """
    with prover.judging("induction: "):
        for _ in _alignments(prover):
            shown = _all_lengths(prover, course)
            missing = course.claim.missing(_executed(prover, course), shown)
            if missing is not None:
                raise unsupported(f"induction: nothing was shown of the length {missing}")
    return shown


def _alignments(prover: Prover[E]) -> Iterator[None]:
    """Set what is known of the stack's alignment, one case after the other."""
    modulus, residue = prover.stack_align
    # A resumed run keeps the alignment of its entry.
    known = modulus == 16 or prover.begin is not None
    for prover.stack_align in [(modulus, k) for k in ((residue,) if known else STACK_RESIDUES)]:
        yield


def join(prover: Prover[E], course: Course, shown: Sequence[Affine]) -> Affine:
    """Count a state as proved for any number of a course, all of them having been proved.

    What happens before the number matters runs once, with any number: up to cuts at which the state
    has been proved for every executed number and for every progression of `shown`. Returns the
    arbitrary number.

    Raises:
        Refutation: there is no such cut.
    """
    claim = course.claim
    if claim.step != 1:
        raise unsupported(f"{claim.unknown}s of so many bytes, any of them")
    anything = claim.above(0)
    executed = _executed(prover, course)
    alike: list[Key] = []

    def at_cut(address: int) -> bool:
        key = prover.cut(entry, address)
        if key is not None:
            passed.append(key)
            if _proved_at(prover, key, claim.unknown, executed, shown):
                # So is what led here.
                alike.extend(passed)
                passed.clear()
        return False

    with prover.judging(f"any {claim.unknown}: "):
        for _ in _alignments(prover):
            entry, passed, before = prover.start(course.numbers(anything)), list[Key](), len(alike)
            try:
                prover.run(entry, prover.entry_address, at_cut)
                open_question: Exception = unsupported("no state from which all have been proved")
            except (Refutation, UndecidedError) as error:
                # The number matters here: each has been proved separately.
                open_question = error
            if len(alike) == before:
                raise open_question
    prover.finished.update(alike)
    return anything


def each(prover: Prover[E], course: Course, shown: Sequence[Affine]) -> Affine:
    """Count a function as proved for any number of a course, all of them having been proved.

    Returns the arbitrary number.

    Raises:
        Refutation: one of them has not been proved.
    """
    missing = course.claim.missing(_executed(prover, course), shown)
    if course.claim.step != 1 or missing is not None:
        raise unsupported(f"any {course.claim.unknown}: nothing was shown of {missing}")
    anything = course.claim.above(0)
    prover.proved.add(as_key(course.numbers(anything)))
    return anything


def lead(
    prover: Prover[E], course: Course, first: int, to: Course, by: int, shown: Sequence[Affine]
) -> Affine:
    """Show every number of a course from `first` on by reduction to another course.

    One run with an arbitrary number has to lead to a state from which each number of `to`, `by`
    less, has been proved: executed, or in one of the progressions `shown`, which must be all of the
    claim. Returns the shown numbers.

    Raises:
        Refutation: it does not.
    """
    claim = course.claim
    if claim.step != 1 or to.claim != claim or not 0 <= by < first:
        raise unsupported(f"{claim.unknown}s that lead to others which are not {by} less")
    anything, executed = claim.above(first), _executed(prover, to)
    if to.claim.missing(executed, shown) is not None:
        raise unsupported(f"any {claim.unknown}: nothing was shown of some")
    rest = {length for length in executed if length >= first - by}
    arrived = False

    def at_cut(address: int) -> bool:
        nonlocal arrived
        key = prover.cut(entry, address)
        arrived = key is not None and _proved_at(prover, key, claim.unknown, rest, shown, by)
        return arrived

    with prover.judging(f"any {claim.unknown} from {first} on: "):
        for _ in _alignments(prover):
            entry, arrived = prover.start(course.numbers(anything)), False
            prover.run(entry, prover.entry_address, at_cut)
            if not arrived:
                raise unsupported("no state from which all have been proved")
    return anything


def _proved_at(
    prover: Prover[E],
    key: Key,
    unknown: str,
    executed: Iterable[int],
    shown: Iterable[Affine],
    by: int = 0,
) -> bool:
    """Return whether a state has been proved for numbers that are `by` more than any of these."""
    state, finished = _at_each(key, unknown), prover.finished
    return all(state(length + by) in finished for length in executed) and all(
        _within(key, part.plus(by)) in finished
        or (
            part.high - part.low < FEW
            and all(state(part.at(u) + by) in finished for u in range(part.low, part.high + 1))
        )
        for part in shown
    )


def _within(key: Key, part: Affine) -> object:
    """Return a key whose number is one of a progression."""
    return with_numbers(key, part.unknown, lambda a: within(a, part))


def _executed(prover: Prover[E], course: Course) -> set[int]:
    """Return the lengths of the course that were executed from the entry."""
    lengths = (dict(numbers).get(course.claim.unknown) for numbers in prover.proved)
    return {
        length
        for length in lengths
        if isinstance(length, int) and as_key(course.numbers(length)) in prover.proved
    }


def _all_lengths(prover: Prover[E], course: Course) -> list[Affine]:
    """Return the progressions of lengths that have been shown, executed ones aside.

    Raises:
        Refutation: no attempt succeeds. The reason of the longest attempt comes first.
    """
    claim = course.claim
    group = math.lcm(course.group, claim.step)
    # Reason -> how far its attempt came, and where it ended.
    failures: dict[str, tuple[int, int]] = {}
    # The first turns may still differ from the rest, for instance in registers not yet used.
    for low in range(2, 2 + TURNS):
        # At once; or split into groups and a rest, one induction for every rest.
        for lengths in ([claim.above(low * group)], claim.split(group, low)):
            began = prover.executed
            try:
                return [shown for length in lengths for shown in _descend(prover, course, length)]
            except UndecidedError as error:
                came = (prover.executed - began, prover.at)
                known = failures.setdefault(str(error), came)
                failures[str(error)] = max(known, came, key=lambda reached: reached[0])
    first, *others = sorted(failures, key=lambda reason: -failures[reason][0])
    also = f" (other attempts: {'; '.join(others)})" if others else ""
    raise unsupported(f"induction: {first}{also}", failures[first][1])


def _descend(prover: Prover[E], course: Course, length: Affine) -> list[Affine]:
    """Show the lengths of a progression, and of its continuation down to 0."""
    entry = prover.start(course.numbers(length))
    unknown = length.unknown
    seen: dict[int, tuple[Key, Number]] = {}
    found: tuple[Key, int] | None = None
    passed: list[Key] = []

    def at_cut(address: int) -> bool:
        nonlocal found
        key = prover.cut(entry, address)
        if key is None:
            return False
        left = entry.numbers[unknown]
        passed.append(key)
        before, more = seen.get(address, (None, 0))
        seen[address] = (key, left)
        consumed = _consumed(more, left)
        if before is not None and consumed and _shorter(before, unknown, consumed) == key:
            found = (before, consumed)
        return found is not None

    if prover.run(entry, prover.entry_address, at_cut) or found is None:
        raise unsupported("induction: no loop takes in input of unknown length")
    key, consumed = found
    shown = [length, *_below(prover, course, length)]
    state = _at_each(key, unknown)
    for u in range(length.low - consumed, length.low):
        if state(u) not in prover.finished:
            align = prover.stack_align
            prover.prove(course.numbers(length.at(u)))
            prover.stack_align = align
        if state(u) not in prover.finished:
            raise unsupported(
                f"induction: the loop's state for the length {length.at(u)} is not among those "
                "proved by execution"
            )
    prover.finished.update(passed)
    return shown


def _below(prover: Prover[E], course: Course, length: Affine) -> Iterator[Affine]:
    """Prove the lengths below the induction's base that have not been executed.

    Yields the progressions among them that were proved together.

    Lengths with the same number of groups are first tried together: one run with the length unknown
    may lead from the entry to states from which each of them has been proved. Otherwise each is
    executed.
    """
    turns: dict[int, list[int]] = {}
    for u in range(length.low):
        if as_key(course.numbers(length.at(u))) not in prover.proved:
            turns.setdefault(length.at(u) // course.group, []).append(u)
    for _, chunk in sorted(turns.items()):
        several = replace(length, low=chunk[0], high=chunk[-1])
        together = 1 < len(chunk) == chunk[-1] - chunk[0] + 1
        if together and _reaches_proved(prover, course, several):
            yield several
            continue
        for u in chunk:
            align = prover.stack_align
            prover.prove(course.numbers(length.at(u)))
            prover.stack_align = align


def _reaches_proved(prover: Prover[E], course: Course, length: Affine) -> bool:
    entry = prover.start(course.numbers(length))
    unknowns = range(length.low, length.high + 1)
    passed: list[Callable[[int], Key]] = []
    arrived = False

    def at_cut(address: int) -> bool:
        nonlocal arrived
        key = prover.cut(entry, address)
        if key is None:
            return False
        state = _at_each(key, length.unknown)
        arrived = all(state(u) in prover.finished for u in unknowns)
        passed.append(state)
        return arrived

    try:
        prover.run(entry, prover.entry_address, at_cut)
    except (UndecidedError, Refutation):
        # One length after the other then, which also tells which of them is wrong.
        return False
    if arrived:
        for state in passed:
            prover.finished.update(state(u) for u in unknowns)
    return arrived


def _shorter(key: Key, unknown: str, by: int) -> object:
    """Return the key at u - by, with the same range of u."""
    return with_numbers(key, unknown, lambda a: a.plus(-by * a.scale))


def _at_each(key: Key, unknown: str) -> Callable[[int], Key]:
    """Return the key as a function of the unknown's value."""
    changing = tuple(unknown in unknowns(part) for part in key)

    def at(u: int) -> Key:
        return tuple(
            with_numbers(part, unknown, lambda a: a.at(u)) if changes else part
            for part, changes in zip(key, changing, strict=True)
        )

    return at


def _consumed(before: Number, after: Number) -> int:
    """Return by how much u falls in one turn: 0 if the remaining length does not tell."""
    if not isinstance(before, Affine) or not isinstance(after, Affine):
        return 0
    return max((before.offset - after.offset) // before.scale, 0)

"""All lengths beyond the executed ones, by induction on the turns of the main loop.

The length is a·u + c with u unknown in [low, high], and the machine runs with that one unknown:
from the entry to a loop's cut, giving a state S(u), and once around, giving a state S'(u). Shown:

1. from the entry, every length in the range reaches S (all branches on the way are decided by the
   range alone, else the attempt is refused);
2. S'(u) is S(u - d), d > 0 being what one turn consumes: the same registers, stack and accumulator
   variable, with every length shorter by one turn. So S(u) goes to S(u - d) for every u >= low;
3. every S(r) with low - d <= r < low is a state from which executed lengths have been proved;
4. so is every length with u < low: executed from the entry, or led, by a run with the length
   unknown and all branches decided by its range, to states from which it has been proved;
5. the lengths of 1 to 4 together are all that is claimed (`ghashgen.verify.core.lengths`).

By descent every u >= low arrives at a proved state, and the blocks absorbed on the way are absorbed
as the specification says, because each cut has checked that (`ghashgen.verify.hash.cut`). What the
loop carries beside the accumulator, a function of the input ahead, is part of S like any register:
1 shows that it holds on entry, and 2 that a turn from any state in which it holds leads to one.
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import replace

from ghashgen.algebra.field.bitorder import BLOCK_BYTES
from ghashgen.verify.core.lengths import Claim
from ghashgen.verify.core.refutation import Refutation, unsupported
from ghashgen.verify.core.values import Affine, UndecidedError
from ghashgen.verify.hash.cut import cut, has_unknown, shifted_unknown, with_unknown
from ghashgen.verify.hash.theorem import STACK_RESIDUES, Prover

LENGTH = "length"
"""The unknown: a length in groups, or in bytes."""

GREATEST_LENGTH = (1 << 62) - 1
"""The greatest length in bytes of which anything is claimed."""

TURNS = 3
"""How many turns of the loop may differ from the following ones."""

Key = tuple[object, ...]


def prove_longer(prover: Prover, claim: Claim) -> None:
    """Prove update for every length of the claim that has not been executed.

    Raises:
        Refutation: it does not hold, or the loop is not of the kind that is understood.
    """
    residues = (8,) if prover.stack_align[0] == 16 else STACK_RESIDUES
    try:
        for residue in residues:
            prover.stack_align = (prover.stack_align[0], residue)
            missing = claim.missing(prover.proved, _all_lengths(prover, claim))
            if missing is not None:
                raise unsupported(f"induction: nothing was shown of the length {missing}")
    except UndecidedError as error:
        raise prover.named(unsupported(f"induction: {error}", prover.naming.terms.at)) from None
    except Refutation as refutation:
        raise prover.named(refutation) from None


def _all_lengths(prover: Prover, claim: Claim) -> list[Affine]:
    """Return the progressions of lengths that have been shown, executed ones aside."""
    group = math.lcm(BLOCK_BYTES * prover.spec.blocks, claim.step)
    failure: Exception | None = None
    # The first turns may still differ from the rest, for instance in registers not yet used.
    for turns in range(TURNS):
        low = turns + 2
        try:
            return _descend(prover, claim.above(low * group))
        except UndecidedError as error:
            failure = failure or error
        try:
            # A length split into groups and a rest: one induction for every rest.
            return [
                shown for length in claim.split(group, low) for shown in _descend(prover, length)
            ]
        except UndecidedError:
            continue
    assert failure is not None
    raise failure


def _descend(prover: Prover, length: Affine) -> list[Affine]:
    """Show the lengths of a progression, and of its continuation down to 0."""
    entry = prover.start(length)
    seen: dict[int, Key] = {}
    found: tuple[Key, int] | None = None

    def at_cut(address: int) -> bool:
        nonlocal found
        key = cut(entry, prover.naming, prover.flow, address)
        if key is None:
            return False
        key = (*key, prover.stack_align)
        before = seen.get(address)
        seen[address] = key
        consumed = _consumed(before, key, length.unknown) if before is not None else 0
        if (
            before is not None
            and consumed
            and shifted_unknown(before, length.unknown, -consumed) == key
        ):
            found = (before, consumed)
        return found is not None

    if prover.run(entry, prover.entry_address, at_cut) or found is None:
        raise unsupported("induction: no loop takes in a message of unknown length")
    key, consumed = found
    shown = [length, *_below(prover, length)]
    state = _at_each(key, length.unknown)
    for u in range(length.low - consumed, length.low):
        if state(u) not in prover.finished:
            align = prover.stack_align
            prover.prove(length.at(u))
            prover.stack_align = align
        if state(u) not in prover.finished:
            raise unsupported(
                f"induction: the loop's state for the length {length.at(u)} is not among those "
                "proved by execution"
            )
    return shown


def _below(prover: Prover, length: Affine) -> Iterator[Affine]:
    """Prove the lengths below the induction's base that have not been executed.

    Yields the progressions among them that were proved together.

    Those that fill as many groups go the same way: one run with the length unknown may lead from
    the entry to states from which every one of them has been proved. If not, each is executed.
    """
    group = BLOCK_BYTES * prover.spec.blocks
    turns: dict[int, list[int]] = {}
    for u in range(length.low):
        if length.at(u) not in prover.proved:
            turns.setdefault(length.at(u) // group, []).append(u)
    for _, chunk in sorted(turns.items()):
        several = replace(length, low=chunk[0], high=chunk[-1])
        together = 1 < len(chunk) == chunk[-1] - chunk[0] + 1
        if together and _reaches_proved(prover, several):
            yield several
            continue
        for u in chunk:
            align = prover.stack_align
            prover.prove(length.at(u))
            prover.stack_align = align


def _reaches_proved(prover: Prover, length: Affine) -> bool:
    entry = prover.start(length)
    unknowns = range(length.low, length.high + 1)
    passed: list[Callable[[int], Key]] = []
    arrived = False

    def at_cut(address: int) -> bool:
        nonlocal arrived
        key = cut(entry, prover.naming, prover.flow, address)
        if key is None:
            return False
        key = (*key, prover.stack_align)
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


def _at_each(key: Key, unknown: str) -> Callable[[int], Key]:
    """Return the key at a value of the unknown, as a function of that value."""
    changing = tuple(has_unknown(part, unknown) for part in key)

    def at(u: int) -> Key:
        return tuple(
            with_unknown(part, unknown, u) if changes else part
            for part, changes in zip(key, changing, strict=True)
        )

    return at


def _consumed(before: Key, after: Key, unknown: str) -> int:
    """Return by how much u falls in one turn: 0 if the remaining length says nothing."""
    first, second = (
        next((p for p in key if isinstance(p, Affine) and p.unknown == unknown), None)
        for key in (before, after)
    )
    if first is None or second is None:
        return 0
    return max((first.offset - second.offset) // first.scale, 0)

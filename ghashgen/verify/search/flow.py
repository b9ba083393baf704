"""The control-flow graph of one function, its loops, and the live registers at each address."""

from collections.abc import Mapping
from dataclasses import dataclass

from ghashgen.verify.core.refutation import Refutation
from ghashgen.verify.machine.image import Image
from ghashgen.verify.rules.check import Checker
from ghashgen.verify.search.looks import FLAGS, Look, look_at, saved_numbers

EVERYTHING = frozenset(range(FLAGS + 1))


@dataclass(frozen=True)
class Flow:
    """What the search needs to know of a function's code."""

    after: Mapping[int, tuple[int, ...]]
    """Where control may go from each instruction; a call comes back."""
    cuts: frozenset[int]
    """Heads and exits of loops, and targets of jumps over a loop."""
    live: Mapping[int, frozenset[int]]
    """Per instruction, the registers whose values may still be read."""


def _reached(looks: Mapping[int, Look], address: int) -> set[int]:
    """Return the addresses that control can reach from one."""
    found, work = {address}, [address]
    while work:
        now = work.pop()
        for following in (looks[now].ways or ()) if now in looks else ():
            if following not in found:
                found.add(following)
                work.append(following)
    return found


def looks_of(image: Image, entry: int) -> dict[int, Look]:
    """Return the instructions that control can reach from an entry."""
    looks: dict[int, Look] = {}
    work = [entry]
    while work:
        address = work.pop()
        if address in looks:
            continue
        try:
            looks[address] = look = look_at(image, address)
        except Refutation:
            # Reported if control gets there.
            continue
        work.extend(look.ways or ())
    return looks


def flow_of(checker: Checker, convention: str) -> Flow:
    """Explore the code of a function."""
    looks = looks_of(checker.image, checker.entry)
    leaps = [
        (address, look.ways[-1], look.following)
        for address, look in looks.items()
        if look.ways and not look.call and look.ways != (look.following,)
    ]
    cuts: set[int] = set()
    for last, head, after in leaps:
        if head > last:
            continue
        # Where paths around a loop meet those out of it.
        skipping = {target for address, target, _ in leaps if address < head and last < target}
        cuts |= {head, after} | (skipping & _reached(looks, after) if skipping else set())
    target = checker.target
    at_return = saved_numbers(target.convention(convention)) | {target.stack_pointer}
    if checker.meaning.result_bits:
        at_return |= {target.result}
    ways = {
        address: (look.following,) if look.call or look.ways is None else look.ways
        for address, look in looks.items()
    }
    return Flow(ways, frozenset(cuts & looks.keys()), _liveness(looks, at_return))


def _liveness(looks: Mapping[int, Look], at_return: frozenset[int]) -> dict[int, frozenset[int]]:
    """Return the live registers at each address; a RET goes after any call, or out."""
    behind = {look.following for look in looks.values() if look.call} & looks.keys()
    live: dict[int, frozenset[int]] = {address: frozenset() for address in looks}
    order = sorted(looks, reverse=True)
    changed = True
    while changed:
        changed = False
        for address in order:
            look = looks[address]
            if look.ways is None:
                after = EVERYTHING
            elif not look.ways:
                after = at_return.union(*(live[site] for site in behind))
            else:
                after = frozenset().union(*(live.get(n, EVERYTHING) for n in look.ways))
            before = look.reads | (after - look.writes)
            if before != live[address]:
                live[address] = before
                changed = True
    return live

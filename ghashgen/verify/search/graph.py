"""Which instructions every way to another passes: where a run may be cut once for all cases."""

from collections import deque
from collections.abc import Mapping


def reached(after: Mapping[int, tuple[int, ...]], address: int) -> set[int]:
    """Return the instructions that control may come to from behind one."""
    found: set[int] = set()
    work = list(after.get(address, ()))
    while work:
        now = work.pop()
        if now not in found and now in after:
            found.add(now)
            work += after[now]
    return found


def turned(after: Mapping[int, tuple[int, ...]]) -> dict[int, list[int]]:
    """Return from where control may come to each instruction."""
    before: dict[int, list[int]] = {}
    for at, following in after.items():
        for to in following:
            before.setdefault(to, []).append(at)
    return before


def leading(after: Mapping[int, tuple[int, ...]], address: int) -> set[int]:
    """Return the instructions from which control may come to one."""
    before = turned(after)
    return reached({at: tuple(before.get(at, ())) for at in after}, address)


def dominators(after: Mapping[int, tuple[int, ...]], entry: int, to: int) -> list[int]:
    """Return the instructions that every way from the entry to one passes, the first one first."""
    # Any one way passes them all.
    way = [entry, *_way(after, entry, to)]
    out = [at for at in dict.fromkeys(way) if at != to and _needed(after, entry, to, at)]
    return sorted(out, key=lambda at: -len(reached(after, at)))


def _way(after: Mapping[int, tuple[int, ...]], entry: int, to: int) -> list[int]:
    """Return a shortest way from behind the entry to an instruction; empty: there is none."""
    before: dict[int, int] = {}
    work = deque([entry])
    while work and to not in before:
        now = work.popleft()
        for following in after.get(now, ()):
            if following not in before:
                before[following] = now
                work.append(following)
    way = [to] if to in before else []
    while way and before[way[-1]] != entry:
        way.append(before[way[-1]])
    return way


def _needed(after: Mapping[int, tuple[int, ...]], entry: int, to: int, at: int) -> bool:
    if at == entry:
        return True
    found, work = {entry}, [entry]
    while work:
        now = work.pop()
        if now == to:
            return False
        for following in after.get(now, ()):
            if following not in found and following != at:
                found.add(following)
                work.append(following)
    return True

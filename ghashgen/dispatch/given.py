"""A chosen set of `ghashgen tune` as a source of order, instead of the records."""

from collections.abc import Iterable, Sequence

from ghashgen.chosen import Chosen
from ghashgen.dispatch.candidate import Candidate
from ghashgen.dispatch.choice import Pick, Row
from ghashgen.dispatch.cores import Host
from ghashgen.errors import GhashgenError


def rows_of(chosen: Chosen, pool: Iterable[Candidate], hosts: Sequence[Host]) -> tuple[Row, ...]:
    """Return the rows of a chosen set for a lasting key: the same for every kind of CPU.

    A set needs all CPU features that its kernels need.

    Raises:
        GhashgenError: the set is empty, or names a kernel that is not in the pool.
    """
    if not chosen.sets:
        raise GhashgenError("the chosen set names no kernel", "write one: ghashgen tune --write")
    by_name = {candidate.name: candidate for candidate in pool}
    rows = []
    for item in chosen.sets:
        for pick in item.picks:
            if pick.kernel.name not in by_name:
                raise GhashgenError(
                    f"{pick.kernel.name} is no GHASH kernel, and the sets of one file are of GHASH",
                    "generate it by axes, without --chosen",
                )
        picks = tuple(Pick(p.up_to, by_name[p.kernel.name], p.fill_at) for p in item.picks)
        needs = frozenset[str]().union(*(p.candidate.needs for p in picks))
        rows.append(Row(tuple(hosts), needs, picks, f"chosen: {item.basis} on {item.on}"))
    return tuple(rows)

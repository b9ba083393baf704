"""A chosen set of `ghashgen tune` as a source of order, instead of records."""

from collections.abc import Mapping, Sequence

from ghashgen.choice.candidate import Candidate
from ghashgen.choice.choice import Pick, Row
from ghashgen.choice.chosen import Chosen
from ghashgen.choice.cores import Host
from ghashgen.choice.families.registry import questions
from ghashgen.choice.questions import Use
from ghashgen.kernels.core import Value
from ghashgen.support.errors import GhashgenError


def rows_of(
    chosen: Chosen,
    family: str,
    given: Value,
    use: Use,
    by_name: Mapping[str, Candidate],
    hosts: Sequence[Host],
) -> tuple[Row, ...]:
    """Return the rows of a use's sets for a given, for every kind of CPU.

    A set needs all CPU features that its kernels need.

    Raises:
        GhashgenError: there is no set, or one mixes kernels of two operations or key sizes.
    """
    if not chosen.sets:
        raise GhashgenError("the chosen set names no kernel", "write one: ghashgen tune --write")
    rows = []
    for item in chosen.sets:
        if (item.family, item.use) != (family, use.name):
            continue
        axis = questions()[family].given
        values = {getattr(pick.kernel, axis) for pick in item.picks}
        if len(values) > 1:
            raise GhashgenError(
                f"the set of {item.isa} has kernels of {' and '.join(sorted(map(str, values)))}",
                f"give each {axis} a separate set",
            )
        if values == {given}:
            picks = tuple(Pick(p.up_to, by_name[p.kernel.name], p.fill_at) for p in item.picks)
            needs = frozenset[str]().union(*(p.candidate.needs for p in picks))
            rows.append(Row(tuple(hosts), needs, picks, f"chosen: {item.basis} on {item.on}"))
    return tuple(rows)

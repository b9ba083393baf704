"""How many mutants each kernel gets."""

import pytest

from ghashgen.check.mutation import shares


@pytest.mark.parametrize("wanted", range(1, 40))
@pytest.mark.parametrize("places", [(5,), (3, 0, 9), (1, 20, 20), (7, 7, 7)])
def test_as_many_as_are_wanted_or_as_there_are(wanted: int, places: tuple[int, ...]) -> None:
    given = shares(wanted, places)
    assert sum(given) == min(wanted, sum(places))
    assert all(0 <= got <= room for got, room in zip(given, places, strict=True))
    # Nobody gets two more than another who had room for more.
    spare = [got for got, room in zip(given, places, strict=True) if got < room]
    assert not spare or max(given) - min(spare) <= 1

"""Plants faults at random in an object: refused, or run and found to be none."""

import random
from collections import Counter
from collections.abc import Callable

from ghashgen.check.attack.edits import EDITS
from ghashgen.check.attack.mutation import planted
from ghashgen.support.errors import GhashgenError
from ghashgen.verify.prove import prove_object
from ghashgen.verify.statements.core import Statement


def accepted_are_right(
    obj: bytes, seed: str, faults: int, spec: Statement, run: Callable[[bytes], object]
) -> Counter[str]:
    """Plant so many faults of each kind, and count what the proof says of them.

    What it accepts does as the object does.
    """
    rng, right = random.Random(seed), run(obj)
    said: Counter[str] = Counter()
    for kind in EDITS:
        for _ in range(faults):
            made = planted(obj, kind, rng)
            if made is None or made[1] == obj:
                continue
            change, data = made
            try:
                refutation = prove_object(data, spec).refutation
            except GhashgenError:
                said["object"] += 1
                continue
            if refutation is None:
                assert run(data) == right, change
            said["accepted" if refutation is None else str(refutation.category)] += 1
    assert said.total() > faults * len(EDITS) / 2
    return said

"""Lies in a certificate of a function whose key has several sizes, and in its ghosts."""

import copy
import random
from collections.abc import Mapping
from typing import Any

from ghashgen.algebra.field.aes_round import ROUNDS
from ghashgen.check.attack.toy.certify import Data, edited, lying


def lied(rng: random.Random, certificate: Mapping[str, Any]) -> Data:
    """Return a certificate with lies for one size of a key or for all, or with sizes exchanged."""
    parts: Data = dict(certificate["keys"])
    sizes = sorted(parts)
    kind = rng.randrange(8)
    if kind == 0:
        one, other = rng.sample(sizes, 2)
        parts[one], parts[other] = _small(rng, parts[other]), _small(rng, parts[one])
    elif kind == 1:
        parts = dict.fromkeys(sizes, _small(rng, parts[rng.choice(sizes)]))
    else:
        size = rng.choice(sizes)
        parts[size] = _small(rng, parts[size])
    return {"keys": parts}


def _small(rng: random.Random, part: Mapping[str, Any]) -> Data:
    """Return a part with lies in places and numbers, in ghosts, or in both."""
    cases = part.get("stack")
    if cases is not None:
        at = rng.choice(sorted(cases))
        return {"stack": {**cases, at: _small(rng, cases[at])}}
    if not part["assertions"]:
        return dict(part)
    kind = rng.randrange(6)
    if kind > 3:
        return _rounds(rng, part)
    out = copy.deepcopy(dict(part)) if kind == 0 else lying(rng, part)
    if kind < 2:
        _ghost(rng, out["assertions"][rng.choice(sorted(out["assertions"]))]["ghosts"])
    return out


def _rounds(rng: random.Random, part: Mapping[str, Any]) -> Data:
    """Let places of which little is known hold what tells the rounds of some size, or a round key.

    The assertion may stand elsewhere: at the head of a loop over the rounds, or behind it.
    """
    out = copy.deepcopy(dict(part))
    a = out["assertions"][rng.choice(sorted(out["assertions"]))]
    places, rounds = a["places"], rng.choice(sorted(ROUNDS.values()))
    numbers = ["n", str(rounds)], ["n", str(16 * rounds)], ["p", "table", str(16 * rounds)]
    keys = ["t", "entry", "key", rng.randrange(rounds + 1)], ["c", hex(16 * rounds)]
    for place in rng.sample(sorted(p for p, said in places.items() if said == "!"), 2):
        places[place] = rng.choice(keys if place.startswith("v") else numbers)
    if rng.randrange(3) == 0:
        a["at"] += rng.randrange(-64, 65)
    return out


def _ghost(rng: random.Random, ghosts: Data) -> None:
    """Let a ghost claim more, less or something else."""
    if not ghosts:
        return
    name = rng.choice(sorted(ghosts))
    match ghosts[name]:
        case bool(known):
            ghosts[name] = not known
        case str(number):
            ghosts[name] = rng.choice((edited(rng, number), "length", None))
        case {"of": _} as sums:
            key = rng.choice(("hashed", "ahead", "sum", "of"))
            if key == "hashed":
                sums[key] = edited(rng, sums[key])
            elif key == "ahead":
                sums[key] += rng.choice((-1, 1))
            elif key == "of":
                sums[key] = rng.choice(("input", "output", "aad", "iv"))
            elif sums[key]:
                rng.choice(sums[key])[1] += rng.choice((-1, 1))
        case _:
            ghosts[name] = rng.choice((None, "right", "differs", "0"))

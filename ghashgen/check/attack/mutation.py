"""Mutants of an object: one or two faults of random kinds."""

import random
from dataclasses import dataclass

from ghashgen.check.attack.edits import EDITS, edited
from ghashgen.check.attack.elf import ObjectFile
from ghashgen.check.attack.scratches import SCRATCHES

KINDS = (*EDITS, *SCRATCHES)
"""All kinds of fault, equally likely."""

_TWICE = 0.15
"""The share of mutants with two faults, of which one may hide the other."""

_TRIES = 64


@dataclass(frozen=True)
class Mutant:
    """A changed object; `change` describes the faults."""

    kinds: tuple[str, ...]
    change: str
    data: bytes


def planted(data: bytes, kind: str, rng: random.Random) -> tuple[str, bytes] | None:
    """Return a description and an object with one fault of a kind, or None if it has no place for
    it.
    """
    obj = ObjectFile(data)
    made = edited(obj, kind, rng) if kind in EDITS else SCRATCHES[kind](obj, rng)
    return None if made is None else (made[0], made[1].data)


def mutant(data: bytes, rng: random.Random) -> Mutant:
    """Return an object that differs from this one."""
    for _ in range(_TRIES):
        now, kinds, changes = data, [], []
        for _ in range(2 if rng.random() < _TWICE else 1):
            kind = rng.choice(KINDS)
            try:
                made = planted(now, kind, rng)
            except (ValueError, IndexError, KeyError, OverflowError):
                continue  # after the first fault, no place for a second one was left
            if made is not None:
                kinds.append(kind)
                changes.append(made[0])
                now = made[1]
        if now != data:
            return Mutant(tuple(kinds), "; ".join(changes), now)
    raise AssertionError(f"{_TRIES} draws left an object of {len(data)} bytes as it was")

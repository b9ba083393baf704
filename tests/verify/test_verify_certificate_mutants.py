"""Random edits of a right certificate, and of the kernel that it is for.

A certificate that is accepted says what is so in other words, with another number, or says less:
`harmless` lists what is weakened. No accepted certificate is found for a wrong kernel.
"""

import copy
import random
from functools import cache
from typing import Any

from helpers.core_checking import (
    checked,
    emitted,
    function_of,
    kernel_object,
    proved,
    searched,
    spec_of,
)
from helpers.verify_objects import assembled

from ghashgen.verify.core.refutation import Refutation
from ghashgen.verify.prove import prove_object
from ghashgen.verify.x86_64.elf import load_image

SMALL = "ghash_sse_k_clmul1_x2"
STEP = 32
"""Bytes that SMALL hashes in a turn."""


@cache
def right(name: str) -> dict[str, Any]:
    """Return the certificate of update that is found."""
    spec = spec_of(name)
    return searched(load_image(kernel_object(name)), spec, function_of(spec, "update"))


def check(name: str, data: dict[str, Any]) -> None:
    """Check a certificate of update.

    Raises:
        Refutation: it is refused.
    """
    spec = spec_of(name)
    checked(load_image(kernel_object(name)), spec, function_of(spec, "update"), data)


def leaves(data: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Return the ways to all values in nested data."""
    if isinstance(data, dict):
        return [p for k, v in data.items() for p in leaves(v, (*path, k))]
    if isinstance(data, list) and path[-2:-1] != ("places",):
        return [p for k, v in enumerate(data) for p in leaves(v, (*path, k))]
    return [path]


VALUES: tuple[Any, ...] = (
    "?", "!", ["c", "0x0"], ["n", "t"], ["v", "x0"], ["v", "y"], ["@", "rax"], ["p", "state", "0"],
    ["t", "entry", "B", 1], ["p", "input", f"{STEP}*t+16"], ["n", "length"],
)  # fmt: skip


def mutant(rng: random.Random) -> tuple[tuple[Any, ...], Any, dict[str, Any]]:
    """Return where a certificate is changed, what is there now, and the certificate."""
    data = copy.deepcopy(right(SMALL))
    loop = data["assertions"]["loop"]
    every = leaves(loop)
    few = [p for p in every if p[0] != "places"]
    live = [p for p in every if p[0] == "places" and loop["places"][p[1]] not in ("?", "!")]
    path = rng.choice(few if rng.randrange(2) else live)
    at: Any = loop
    for key in path[:-1]:
        at = at[key]
    old = at[path[-1]]
    if path[0] == "places":
        new = rng.choice(VALUES)
    elif isinstance(old, bool):
        new = not old
    elif isinstance(old, int):
        new = old + rng.choice((1, -1, 16, -16, STEP, -STEP))
    elif old in ("public", "secret"):
        new = "secret" if old == "public" else "public"
    else:
        new = rng.choice(("0", "t", "length", f"{old}+1", f"{old}-1", f"{old}+16", f"{old}-{STEP}"))
    at[path[-1]] = new
    return path, new, data


def harmless(path: tuple[Any, ...], new: Any) -> bool:
    """Return whether a change only says less, or the same otherwise.

    Less: that a place is anything, or public; flags that may hold a secret, upper halves that may
    be in use; ranges that are wider, a fact that is weaker. The same: a level, or a number that
    falls by another amount above its bound.
    """
    loop = right(SMALL)["assertions"]["loop"]
    old: Any = loop
    for key in path:
        old = old[key]
    match path:
        case ("places", _):
            # Another unknown is anything too.
            return new in ("?", "!", ["v", "y"]) or new == old
        case ("flags",):
            return bool(new == "secret")
        case ("dirty",):
            return new is True
        case ("level",):
            return True
        case ("unknowns", _, 0):
            return bool(new <= old)
        case ("unknowns", _, 1):
            return bool(new >= old)
        case ("facts", 0) | ("falls",):
            # At least as much, where all that it says is that a number is not negative.
            return new in (f"{old}+1", f"{old}+16", "length", "t")
    return new == old


def test_random_mutants_are_refused_or_say_less() -> None:
    rng = random.Random(7)
    accepted, refused = [], 0
    for _ in range(60):
        path, new, data = mutant(rng)
        try:
            check(SMALL, data)
        except Refutation:
            refused += 1
        else:
            accepted.append((path, new))
    assert refused > 20
    assert accepted
    assert [one for one in accepted if not harmless(*one)] == []


def test_a_kernel_with_another_instruction_is_not_proved() -> None:
    text = emitted(SMALL)
    rng = random.Random(3)
    lines = text.splitlines()
    swaps = (
        ("pxor", "por"), ("pxor", "pand"), ("pclmulqdq", "pxor"), ("0x11", "0x10"),
        ("0x00", "0x01"), ("add ", "sub "), ("jae", "ja"), ("jb", "jbe"), ("32", "16"),
        ("palignr", "pshufb"),
    )  # fmt: skip
    start = next(k for k, line in enumerate(lines) if "_update:" in line)
    spots = [
        (k, a, b) for k, line in enumerate(lines[start:], start) for a, b in swaps
        if a in line.partition(";")[0]
    ]  # fmt: skip
    assert len(spots) > 20
    tried = refused = 0
    spec = spec_of(SMALL)
    for k, a, b in rng.sample(spots, 8):
        wrong = [*lines[:k], lines[k].replace(a, b, 1), *lines[k + 1 :]]
        try:
            data = assembled("\n".join(wrong) + "\n")
        except Exception:
            continue
        tried += 1
        if proved(data, spec):
            # Two blocks a group leave code that never runs; the other prover must say so too.
            assert prove_object(data, spec).proved, lines[k]
        else:
            refused += 1
    assert refused > tried // 2

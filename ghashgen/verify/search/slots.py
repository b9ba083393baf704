"""Finds where in its frame a function holds what the certificate of one like it speaks of."""

from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

from ghashgen.verify.core.refutation import Refutation
from ghashgen.verify.core.term import OPAQUE, Term
from ghashgen.verify.machine.memory import STACK
from ghashgen.verify.rules.state import State
from ghashgen.verify.search.held import written_cells

Said = Mapping[int, list[tuple[Any, frozenset[str]]]]
"""What is said of registers and of the frame, by its bytes: each value once, and where it lies."""

Fits = Callable[[Any, Any], bool]
"""Whether a value is what is said."""

VECTOR_BYTES = 16


def said_of(old: Mapping[str, Any]) -> Said:
    """Return what is said in places of an assertion that may lie elsewhere in another function."""
    out: dict[int, dict[str, tuple[Any, set[str]]]] = {}
    for place, v in old.items():
        if isinstance(v, list) and v[0] != "@" and (_is_own(place) or "+" not in place):
            size = place.rpartition(":")[2] if "+" in place else VECTOR_BYTES if "." in place else 8
            out.setdefault(int(size), {}).setdefault(str(v), (v, set()))[1].add(place)
    return {size: [(v, frozenset(p)) for v, p in one.values()] for size, one in out.items()}


def slots(
    state: State, old: Mapping[str, Any], said: Said, moved: int, fits: Fits,
    literal: Callable[[Any], Any],
) -> dict[str, Any]:  # fmt: skip
    """Return of each piece of the frame by which old places it is said what it may hold, or else
    what it holds; None: neither.

    The frame lies `moved` bytes above the old one. `literal` returns a value as data without
    unknowns, None if it is none.
    """
    out: dict[str, Any] = {}
    for first, count in written_cells([state], STACK):
        held: Any = "?"
        with suppress(Refutation):  # It is a return address.
            held = state.memory._read(STACK, first, count)
        if first >= 0 or held == "?":
            continue
        same = f"{STACK}+{first - moved}:{count}"
        known, found = literal(held), None
        if isinstance(old.get(same), list) and old[same][0] != "@" and fits(held, old[same]):
            found = {same}
        elif not isinstance(held, Term) or not held.deps & OPAQUE:
            found = set().union(*(p for v, p in said.get(count, ()) if fits(held, v)))
        if not found and known not in (None, "!"):
            found = known if known[0] == "@" or count == VECTOR_BYTES else None
        out[f"{STACK}+{first}:{count}"] = found or None
    return out


def placed(old: Mapping[str, Any], found: Mapping[Any, Any], top: int) -> dict[str, Any]:
    """Return what an assertion says of memory where its frame is as `found`, from `top` on."""
    out = {place: v for place, v in old.items() if "+" in place and not _is_own(place)}
    for place, where in found.items():
        if isinstance(place, str) and where is not None:
            out[place] = old.get(min(where), "?") if isinstance(where, set) else where
    told = [p.removeprefix(f"{STACK}+").split(":") for p in out if p.startswith(STACK)]
    named = {int(at) + k for at, size in told for k in range(int(size))}
    return out | {f"{STACK}+{k}:1": "?" for k in range(top, 0) if k not in named}


def _is_own(place: str) -> bool:
    """Return whether a place is one of a function's own frame."""
    return place.startswith(f"{STACK}+-")

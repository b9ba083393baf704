"""The dispatcher of a chosen set: C that picks kernels by CPU features and by message length.

A table's layout is private to its kernel, so a context holds one table for each distinct kernel of
a set. The smallest class's is filled with the key; another is filled when messages of its class
have paid for it, or when the caller asks for it.
"""

from collections.abc import Mapping
from typing import Any

from ghashgen.chosen import Chosen, Set
from ghashgen.errors import GhashgenError
from ghashgen.harness import FEATURES
from ghashgen.manifest import Entry
from ghashgen.passes.pipeline import FUNCTIONS
from ghashgen.render import PROTOTYPES
from ghashgen.templates import environment

NAMES = ("ghashgen_chosen.h", "ghashgen_chosen.c")
"""The files that `render_chosen` returns."""


def render_chosen(chosen: Chosen, entries: Mapping[str, Entry]) -> dict[str, str]:
    """Return the text of the dispatcher's files by name; `entries` are manifest entries by name.

    Raises:
        GhashgenError: the set is empty, or a kernel cannot be called by the dispatcher.
    """
    if not chosen.sets:
        raise GhashgenError("the chosen set names no kernel", "write one: ghashgen tune --write")
    for kernel in chosen.kernels:
        axes = entries[kernel.name]["axes"]
        if axes["abi"] != "sysv" or axes["op"] != "ghash":
            raise GhashgenError(
                f"{kernel.name} is not GHASH of the System V convention, which the dispatcher "
                "calls",
                "generate it by axes, without --chosen",
            )
    sets = [_set(item, entries) for item in chosen.sets]
    kernels = {slot["name"]: slot for item in sets for slot in item["slots"]}
    values = {
        "sets": sets,
        "prototypes": {part: PROTOTYPES[part] for part in FUNCTIONS},
        "kernels": [kernels[name] for name in sorted(kernels)],
        "slots": max(len(item["slots"]) for item in sets),
        "classes": max(len(item["classes"]) for item in sets),
        "bytes": max(item["bytes"] for item in sets),
        "align": max(slot["align"] for slot in kernels.values()),
        "best_align": max(entries[name]["table"]["best_align"] for name in kernels),
    }
    return {name: environment().get_template(f"{name}.j2").render(values) for name in NAMES}


def _set(item: Set, entries: Mapping[str, Entry]) -> dict[str, Any]:
    names = list(dict.fromkeys(pick.kernel.name for pick in item.picks))
    slots, end = [], 0
    for name in names:
        entry = entries[name]
        align = entry["table"]["align"]
        # Aligned to the best: it is so where the context is.
        best = entry["table"]["best_align"]
        offset = -(-end // best) * best
        end = offset + entry["table"]["bytes"]
        slots.append(
            {
                "name": name,
                "offset": offset,
                "align": align,
                "bytes": entry["table"]["bytes"],
                "symbols": {part: entry["symbols"][part] for part in FUNCTIONS},
            }
        )
    needed = {feature for name in names for feature in entries[name]["cpu_features"]}
    return {
        "isa": item.isa,
        "basis": item.basis,
        "on": item.on.replace("*/", ""),
        "needs": " | ".join(f"GHASHGEN_CPU_{n.upper()}" for n in FEATURES if n in needed) or "0",
        "slots": slots,
        "bytes": end,
        "classes": [
            {
                "up_to": pick.up_to,
                "slot": names.index(pick.kernel.name),
                "fill_at": pick.fill_at,
            }
            for pick in item.picks
        ],
    }

"""Decisions as rows of text and as JSON."""

from collections.abc import Mapping, Sequence
from typing import Any

from ghashgen.choice.chosen import MEASURED, MODEL, axes_of
from ghashgen.choice.families.registry import questions
from ghashgen.lab.tune.choose import Decision
from ghashgen.support.tables import Table

_COLUMNS = (
    *("isa", "length", "kernel", ">cycles", "runner-up", ">its time", "best peer", ">peer's time"),
    *(">fill", "notes"),
)

_TITLES = {
    MEASURED: "Measured: core cycles per message, the mean of the class's sizes",
    MODEL: "MODEL, not measured: least cycles per message by ports and front end",
}

LEGEND = (
    "time: of runner-up or peer by the kernel's; ~ within 5%, which is noise. "
    "fill: bytes of messages that pay for filling the kernel's table."
)


def rows(decisions: Sequence[Decision], basis: str) -> Table:
    """Return the decisions of one basis; measured and modelled figures never share a table."""
    found = [item for item in decisions if item.basis == basis]
    notes = numbered(found)
    # With only one use and one given, as in the default family, the columns would say nothing.
    said = len({(item.use.name, item.given) for item in decisions}) > 1
    made = tuple((*(_said(item) if said else ()), *_row(item, notes)) for item in found)
    title = _TITLES[basis]
    given = questions()[found[0].winner.kernel.family].given if found else ""
    columns = (*((f">{given}", "use") if said else ()), *_COLUMNS)
    return Table(title, columns, made, each={"figures": title.partition(":")[0]})


def _said(item: Decision) -> tuple[str, ...]:
    return str(item.given), item.use.name


def _row(item: Decision, notes: Mapping[str, int]) -> tuple[str, ...]:
    return (
        item.isa,
        item.size_class.title if len(item.use.classes) > 1 else "all",
        item.winner.unit.name,
        f"{item.cycles:.1f}",
        item.runner_up.unit.name if item.runner_up else "-",
        f"{'~' * item.is_noise}{item.ratio:.2f}" if item.ratio else "-",
        item.peer or "-",
        f"{item.peer_ratio:.2f}" if item.peer_ratio else "-",
        f"{item.fill_at} B" if item.fill_at else "-",
        " ".join(str(notes[note]) for note in remarks(item)),
    )


def remarks(item: Decision) -> tuple[str, ...]:
    """Return what readers must know about a decision, one line each."""
    stage = f", {item.stage} stage" if item.stage else ""
    out = [f"{item.basis} on {item.on}{stage}", *item.notes]
    if item.fastest != item.winner:
        out.append("a faster one is within 5%: the one with the least code was taken")
    return tuple(out)


def numbered(decisions: Sequence[Decision]) -> dict[str, int]:
    """Return every distinct remark with its number."""
    notes: dict[str, int] = {}
    for item in decisions:
        for note in remarks(item):
            notes.setdefault(note, len(notes) + 1)
    return notes


def as_json(item: Decision) -> dict[str, Any]:
    """Return a decision as JSON values."""
    return {
        "isa": item.isa,
        "use": item.use.name,
        "up_to": item.size_class.up_to,
        "sizes": list(item.size_class.sizes),
        "basis": item.basis,
        "stage": item.stage,
        "on": item.on,
        "kernel": item.winner.unit.name,
        "axes": axes_of(item.winner.kernel),
        "code_sha256": item.winner.unit.code,
        "cycles": round(item.cycles, 2),
        "fastest": item.fastest.unit.name,
        "behind_fastest": round(item.behind, 4),
        "runner_up": item.runner_up.unit.name if item.runner_up else None,
        "runner_up_ratio": round(item.ratio, 4) if item.ratio else None,
        "noise": item.is_noise,
        "peer": item.peer or None,
        "peer_ratio": round(item.peer_ratio, 4) if item.peer_ratio else None,
        "fill_at": item.fill_at,
        "notes": list(remarks(item)),
    }

"""Every figure of the documents, drawn from checked-in data: its file and its text."""

from collections.abc import Mapping
from pathlib import Path
from typing import TypeVar

from ghashgen.check.ledger import NAME as PROOFS
from ghashgen.check.ledger import load as load_proofs
from ghashgen.kernels import manifest
from ghashgen.kernels.hash.catalogue import catalogue
from ghashgen.lab.figures import folded, four, group, induction, lanes, ports, sbox, speed
from ghashgen.lab.speeds.core import load_measured, ranked
from ghashgen.support.errors import GhashgenError
from ghashgen.support.paths import GENERATED

FOLDER = "docs/figures"
"""The folder of figures, below the project's root."""

T = TypeVar("T")


def figures(root: Path) -> dict[str, str]:
    """Return every figure of the project below `root`, by file name.

    Raises:
        GhashgenError: a drawn kernel is missing or not proved, or cannot be assembled.
    """
    return dict(sorted({**_speeds(root), **_ideas(root)}.items()))


def _speeds(root: Path) -> dict[str, str]:
    entries = manifest.load(root / GENERATED).values()
    measured = load_measured(root, entries)
    found = {
        speed.file_of(each.speed, one.record, each.speed.drawn): speed.chart(
            each.speed, one, each.speed.drawn
        )
        for each in measured.values()
        for one in each.standings
    }
    first = ranked(measured.values())[0]
    if first.standings:
        most = max(first.standings, key=lambda one: len(one.record.results.machine.features))
        found[speed.SHOWN] = speed.chart(first.speed, most, first.speed.keys[0])
    return {name: speed.draw(chart) for name, chart in found.items()}


def _ideas(root: Path) -> dict[str, str]:
    entries = manifest.load(root / GENERATED)
    verdicts = {verdict.kernel: verdict for verdict in load_proofs(root / GENERATED / PROOFS)}
    hashes = {kernel.name: kernel for kernel in catalogue()}
    stitched, quad = (_named(name, entries) for name in (ports.KERNEL, four.KERNEL))
    try:
        sources = [(root / GENERATED / one.file).read_text("utf-8") for one in (stitched, quad)]
    except OSError as error:
        raise GhashgenError(
            f"{error.filename}: {error.strerror}", "run ghashgen generate"
        ) from None
    return {
        "four.svg": four.draw(quad, sources[1]),
        "group.svg": group.draw(_named(group.KERNEL, entries)),
        "induction.svg": induction.draw(
            _named(induction.KERNEL, entries), _named(induction.KERNEL, verdicts)
        ),
        "k.svg": folded.draw(),
        "lanes.svg": lanes.draw(_named(lanes.KERNEL, hashes)),
        "ports.svg": ports.draw(stitched.kernel, sources[0]),
        "sbox.svg": sbox.draw(),
    }


def _named(name: str, found: Mapping[str, T]) -> T:
    if name not in found:
        raise GhashgenError(f"a figure draws {name}, which is missing", "draw another kernel")
    return found[name]


def stale(folder: Path, drawn: Mapping[str, str]) -> str:
    """Return the first file of a folder that is not as drawn, or no longer drawn; else ""."""
    there = {path.name: path.read_text(encoding="utf-8") for path in sorted(folder.glob("*.svg"))}
    wrong = [name for name in sorted({*there, *drawn}) if there.get(name) != drawn.get(name)]
    return wrong[0] if wrong else ""

"""The block of docs/hosts.md: what trials of our kernels in hosts found, and the goals for them."""

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from ghashgen.lab.host_goals import EACH, LENGTHS, ONCE, Trial, Trials, goal_parts
from ghashgen.lab.pages import item, markdown_table, wrapped
from ghashgen.lab.speeds.core import Measured
from ghashgen.output.hosts.registry import hosts
from ghashgen.support.wording import joined

PAGE = "docs/hosts.md"
"""The page with the block, and beside it the folder of records."""

SLOWER = 0.95
"""Below this ratio, the host's own code counts as faster: what is above is noise."""


def load_trials(root: Path) -> dict[str, Trial]:
    """Return the recorded trials by host (`ghashgen vendor --try HOST --json`)."""
    paths = sorted((root / PAGE).with_suffix("").glob("*.json"))
    return {path.stem: json.loads(path.read_text(encoding="utf-8")) for path in paths}


def host_parts(trials: Trials, measured: Mapping[str, Measured]) -> Iterator[str]:
    """Yield the parts of the block; `measured` has the records of `bench` by family."""
    if not trials:
        return
    yield "## Goals"
    yield from goal_parts(trials, measured)
    yield "## Every host"
    cpus = {trial["cpu"] for trial in trials.values()}
    where = f" All were measured on {cpus.copy().pop()}." if len(cpus) == 1 else ""
    yield wrapped(f"Each cell has the ratio with a key set {ONCE} / {EACH}.{where}")
    yield markdown_table(
        ("host", "beside", *(f">{length} B" for length in LENGTHS)),
        [
            (f"[{name}](#{_anchor(name)})", rival, *(_ratios(trial, rival)))
            for name, trial in trials.items()
            for rival in _rivals(trial)
        ],
    )
    if slower := [*_slower(trials)]:
        yield f"Where a host's own code is faster by more than {1 - SLOWER:.0%}:"
        yield "\n".join(map(item, slower))
    for name, trial in trials.items():
        yield f"## {name}"
        cpu = "" if where else f", on {trial['cpu']}"
        yield wrapped(f"{hosts()[trial['host']].title}. Tried with {trial['source']}{cpu}.")
        yield markdown_table(
            ("ns", "key set", *(f">{length} B" for length in LENGTHS)), [*_rows(trial)]
        )
        yield wrapped(f"Passed: {_passed(trial)}. {_proved(trial)}.")


def _anchor(name: str) -> str:
    return name.lower().replace("@", "").replace(".", "")


def _rivals(trial: Trial) -> list[str]:
    return [*trial["times"][0]["own"]]


def _times(trial: Trial, rekeyed: bool) -> Mapping[int, Mapping[str, Any]]:
    return {time["length"]: time for time in trial["times"] if time["rekeyed"] == rekeyed}


def _ratios(trial: Trial, rival: str) -> Iterator[str]:
    once, each = _times(trial, False), _times(trial, True)
    for length in LENGTHS:
        yield " / ".join(f"{times[length]['ratio'][rival]:.2f}" for times in (once, each))


def _slower(trials: Trials) -> Iterator[str]:
    for name, trial in trials.items():
        found = [
            f"at {joined(lengths)} B with a key set {key}"
            for rival in _rivals(trial)
            for key in (ONCE, EACH)
            if (lengths := _slow(_times(trial, key == EACH), rival))
        ]
        if found:
            yield f"**{name}**, {joined(found)}."


def _slow(times: Mapping[int, Mapping[str, Any]], rival: str) -> list[int]:
    return [length for length in LENGTHS if times[length]["ratio"][rival] < SLOWER]


def _rows(trial: Trial) -> Iterator[tuple[str, ...]]:
    for rekeyed, key in ((False, ONCE), (True, EACH)):
        times = _times(trial, rekeyed)
        yield "ours", key, *(f"{times[length]['ours']:.1f}" for length in LENGTHS)
        for rival in _rivals(trial):
            yield rival, key, *(f"{times[length]['own'][rival]:.1f}" for length in LENGTHS)


def _passed(trial: Trial) -> str:
    lines: Counter[str] = Counter(trial["tests"])
    return ", ".join(f"`{line}`" + (f" ({n} times)" if n > 1 else "") for line, n in lines.items())


def _proved(trial: Trial) -> str:
    how: Counter[str] = Counter(trial["proofs"].values())
    return "Proofs of the objects: " + "; ".join(f"{n} {said}" for said, n in how.items())

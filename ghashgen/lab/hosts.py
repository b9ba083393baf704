"""The block of docs/hosts.md: what trials of our kernels in hosts found, and the goals for them."""

import json
from collections.abc import Iterable, Mapping
from os.path import commonprefix
from pathlib import Path
from typing import Any

from ghashgen.lab.pages import markdown_table, wrapped

PAGE = "docs/hosts.md"
"""The page with the block, and beside it the folder of records."""

ONCE, EACH = "once", "each message"
"""When the key is set."""

GOALS = (
    ("nettle", "nettle", (16384,), ONCE, 10.0),
    ("nettle", "nettle", (256,), ONCE, 2.0),
    ("go", "crypto/cipher", (16, 64, 256, 1024, 1536, 4096, 16384), ONCE, 4.0),
    ("rust", "ring", (64, 256, 1024, 1536, 4096, 16384), ONCE, 2.0),
    ("rust", "aws-lc-rs", (16384,), ONCE, 1.1),
    ("openssl@4.0", "OpenSSL", (16, 64, 256, 1024), ONCE, 1.0),
    ("openssl@4.0", "OpenSSL", (16, 64, 256, 1024), EACH, 1.0),
    ("openssl@4.0", "OpenSSL", (1536, 4096, 16384), ONCE, 1.2),
    ("openssl@4.0", "OpenSSL", (1536, 4096, 16384), EACH, 1.2),
)
"""Host, or a version of it as HOST@VERSION; rival, lengths in bytes, when the key is set, and the
ratio that is wanted at each.
"""

Trial = Mapping[str, Any]


def load_trials(root: Path) -> dict[str, Trial]:
    """Return the recorded trials by host (`ghashgen vendor --try HOST --json`)."""
    paths = sorted((root / PAGE).with_suffix("").glob("*.json"))
    return {path.stem: json.loads(path.read_text(encoding="utf-8")) for path in paths}


def host_parts(trials: Mapping[str, Trial]) -> Iterable[str]:
    """Yield the parts of the block."""
    if not trials:
        return
    yield "## Goals"
    yield markdown_table(
        ("host", "beside", ">bytes", "key set", ">goal", ">least ratio measured", "reached"),
        [row for goal in GOALS for row in _goal(trials, *goal)],
    )
    for name, trial in trials.items():
        yield f"## {name}"
        yield wrapped(f"{trial['source']}; {trial['cpu']}.")
        rivals = [*trial["times"][0]["own"]]
        yield markdown_table(
            (">bytes", "key set", ">ours, ns", *(f">{rival}, ns (times ours)" for rival in rivals)),
            [_row(time, rivals) for time in trial["times"]],
        )
        yield _list("Tests that passed with our kernels", (f"`{line}`" for line in trial["tests"]))
        yield _list(
            "How often our functions were called",
            (_calls(*each) for each in trial["called"].items()),
        )
        yield _list("Objects", (f"`{kernel}`: {how}" for kernel, how in trial["proofs"].items()))


def _goal(
    trials: Mapping[str, Trial],
    host: str,
    rival: str,
    lengths: tuple[int, ...],
    key: str,
    goal: float,
) -> Iterable[tuple[str, ...]]:
    if host not in trials:
        return
    ratios = [
        time["ratio"][rival]
        for time in trials[host]["times"]
        if time["length"] in lengths and time["rekeyed"] == (key == EACH)
    ]
    said = f"{lengths[0]}" + (f" to {lengths[-1]}" if lengths[1:] else "")
    reached = "yes" if min(ratios) >= goal else "no"
    yield host, rival, said, key, f"{goal:.1f}", f"{min(ratios):.2f}", reached


def _row(time: Mapping[str, Any], rivals: Iterable[str]) -> tuple[str, ...]:
    return (
        *(str(time["length"]), EACH if time["rekeyed"] else ONCE),
        f"{time['ours']:.1f}",
        *(f"{time['own'][rival]:.1f} ({time['ratio'][rival]:.2f})" for rival in rivals),
    )


def _calls(command: str, calls: Mapping[str, int]) -> str:
    kernel = commonprefix([*calls]).rpartition("_")[0]  # noqa: RUF071
    names = ((name.removeprefix(f"{kernel}_"), count) for name, count in calls.items())
    of = f", of `{kernel}`" if kernel else ""
    return f"{command}{of}: " + ", ".join(f"`{name}` {n}" for name, n in names)


def _list(title: str, items: Iterable[str]) -> str:
    lines = (f"- {wrapped(item)}".replace("\n", "\n  ") for item in items)
    return "\n".join([f"{title}:", "", *lines])

"""What `ghashgen vendor` does with hosts: lists them, finds one, takes its kernels."""

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from ghashgen.cli.verbs.options import print_json
from ghashgen.cli.verbs.recommend import kernels_for_every_cpu
from ghashgen.kernels.core import Point
from ghashgen.kernels.selection import Choice, Selection
from ghashgen.kernels.target import Target
from ghashgen.output.hosting import named
from ghashgen.output.hosts.core import Host, Wanted
from ghashgen.output.hosts.registry import DEFAULT, hosts
from ghashgen.support.errors import GhashgenError
from ghashgen.support.paths import project_root
from ghashgen.support.tables import Table, say, show
from ghashgen.support.wording import choose_one


def host_of(name: str, to_try: bool = False) -> Host:
    """Return the host of this name, or the default for "". One `to_try` must have a trial."""
    known = hosts()
    fitting = [n for n, host in known.items() if host.trial or not to_try]
    if name and name not in known:
        raise GhashgenError(f"there is no host {name!r}", choose_one(name, fitting))
    if name and name not in fitting:
        raise GhashgenError(f"host {name} has no trial", f"choose one of {', '.join(fitting)}")
    return known[name or DEFAULT]


def list_hosts(as_json: bool) -> None:
    """Print what each host needs and gets."""
    every = tuple(hosts().values())
    if as_json:
        print_json(
            [
                {
                    "name": host.name,
                    "title": host.title,
                    "needs": list(host.needs),
                    "gets": host.gets,
                    "files": sorted(named({**host.files, **host.build_files}, Target())),
                    "use": host.wanted and host.wanted.use,
                    "can_be_tried": host.trial is not None,
                    "measured": measured(host.name),
                }
                for host in every
            ]
        )
        return
    rows = tuple(
        (host.name, host.title, "; ".join(host.needs), host.gets, _gain(measured(host.name)))
        for host in every
    )
    show(Table("hosts", ("host", "for", "needs", "gets", "measured"), rows, prose="needs"))
    say("write one's files: ghashgen vendor --host NAME --into FOLDER")
    tried = " or ".join(host.name for host in every if host.trial)
    say(f"try one in its own sources: ghashgen vendor --try {tried}")


def measured(name: str) -> dict[str, Any] | None:
    """Return the record of a trial of a host (`vendor --try NAME --json`), if there is one."""
    path = project_root() / "docs" / "hosts" / f"{name}.json"
    if not path.is_file():
        return None
    found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return found


def _gain(record: dict[str, Any] | None) -> str:
    """Return in words how much faster our kernels are than the host's own code."""
    if record is None:
        return "-"
    once = {time["length"]: time["ratio"] for time in record["times"] if not time["rekeyed"]}
    first, *_, last = sorted(once)
    gains = (
        f"{once[first][rival]:.2f} times the speed of {rival} at {first} bytes, "
        f"{once[last][rival]:.2f} times at {last}"
        for rival in once[first]
    )
    return f"{'; '.join(gains)} ({record['source']}; {record['cpu']})"


def kernels_of(wanted: Wanted, choice: Choice, use: str) -> Selection[Point]:
    """Return the kernels that a host takes by the one rule, within what the caller's options allow.

    Raises:
        GhashgenError: as `kernels_for_every_cpu`.
    """
    if made := wanted.made():
        return Selection(_fitting(made, choice))
    within = choice if choice.family else choice.of(wanted.family)
    within = within.with_axes(**{**wanted.axes, **choice.axes})
    found = kernels_for_every_cpu(within, use or wanted.use)
    if wanted.instead:
        found = tuple(dict.fromkeys(_varied(kernel, wanted.instead) for kernel in found))
    return Selection((*found, *_fitting(wanted.added(), choice)))


def _fitting(made: tuple[Point, ...], choice: Choice) -> tuple[Point, ...]:
    """Return those of a host's own kernels that the caller's options allow."""
    asked = choice.axes.items()
    return tuple(k for k in made if all(getattr(k, axis, None) in v for axis, v in asked))


def _varied(kernel: Any, values: Mapping[str, Any]) -> Point:
    """Return a kernel with other values of some axes, the fields of its dataclass."""
    other: Point = replace(kernel, **values)
    return other

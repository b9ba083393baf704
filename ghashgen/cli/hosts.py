"""What `ghashgen vendor` does with hosts: lists them, finds one, takes its kernels."""

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
from ghashgen.support.tables import Table, say, show
from ghashgen.support.wording import choose_one


def host_of(name: str) -> Host:
    """Return the host of this name, or the default for ""."""
    known = hosts()
    if name and name not in known:
        raise GhashgenError(f"there is no host {name!r}", choose_one(name, known))
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
                }
                for host in every
            ]
        )
        return
    rows = tuple((host.name, host.title, "; ".join(host.needs), host.gets) for host in every)
    show(Table("hosts", ("host", "for", "needs", "gets"), rows, prose="needs"))
    say("write one's files: ghashgen vendor --host NAME --into FOLDER")


def kernels_of(wanted: Wanted, choice: Choice, use: str) -> Selection[Point]:
    """Return the kernels that a host takes by the one rule, within what the caller's options allow.

    Raises:
        GhashgenError: as `kernels_for_every_cpu`.
    """
    within = choice if choice.family else choice.of(wanted.family)
    within = within.with_axes(**{**wanted.axes, **choice.axes})
    found = kernels_for_every_cpu(within, use or wanted.use)
    if wanted.instead:
        found = tuple(dict.fromkeys(_varied(kernel, wanted.instead) for kernel in found))
    return Selection(found)


def _varied(kernel: Any, values: Mapping[str, Any]) -> Point:
    """Return a kernel with other values of some axes, the fields of its dataclass."""
    other: Point = replace(kernel, **values)
    return other

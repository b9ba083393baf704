"""ghashgen report: write a page of what is proved, counted, modelled and measured."""

from dataclasses import asdict, replace
from pathlib import Path

import click

from ghashgen.cli.verbs.options import build_folder, default_out, json_option, print_json, progress
from ghashgen.kernels import manifest
from ghashgen.lab.report.topics import Topic, topics
from ghashgen.output.folder import require_writable
from ghashgen.records.records import folder_of
from ghashgen.support.errors import GhashgenError
from ghashgen.support.extras import require
from ghashgen.support.paths import project_root, report_folder


@click.command("report")
@click.option(
    "--family",
    type=click.Choice(tuple(topics())),
    help="Family of kernels. Default: one page for each family in the folder.",
)
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    help="Output folder. Default: build/report of a clone, else report.",
)
@click.option(
    "--kernels",
    type=click.Path(path_type=Path),
    help="Folder with MANIFEST.json and PROOFS.json. Default: generated.",
)
@click.option(
    "--bench",
    type=click.Path(path_type=Path),
    help="Measurement: a store of ghashgen bench, or a record. Default: every record of "
    "docs/bench.",
)
@click.option("--session", type=click.IntRange(1), help="Number in the store. Default: the last.")
@json_option
def COMMAND(
    family: str | None,
    out: Path | None,
    kernels: Path | None,
    bench: Path | None,
    session: int | None,
    as_json: bool,
) -> None:
    """Write one HTML page per family of what is proved, counted, modelled and measured.

    A page needs no network; its plots are also written as PNG. Kernels come from the manifest,
    theorems from PROOFS.json (compared with the bytes assembled here), port bounds from this
    project's tables, speed from measurements. A page lists what is missing or stale. --json prints
    the data of one page, GHASH by default, and writes nothing.
    """
    from ghashgen.lab.report.gather import Sources, gather

    out = out or report_folder()
    if not as_json:
        require("report")
        require_writable(out, "--out")
    root = project_root()
    sources = Sources(
        root=root,
        kernels=kernels or default_out(),
        objects=build_folder("obj"),
        bench=(),
        session=session,
    )
    if session is not None and bench is None:
        raise GhashgenError("--session needs a store", "give it with --bench")
    topics = _topics(sources.kernels, family)
    reports = [
        gather(replace(sources, topic=topic, bench=_measurements(bench, topic)), progress)
        for topic in (topics[:1] if as_json else topics)
    ]
    if as_json:
        print_json({**asdict(reports[0]), "topic": topics[0].name})
        return
    from ghashgen.lab.report.page import Links, write

    links = Links(out, sources.kernels, root, topics)
    for report in reports:
        for path in write(report, links):
            click.echo(path)
        for note in report.notes:
            click.echo(note if len(reports) == 1 else f"{report.topic.title}: {note}", err=True)


def _topics(kernels: Path, family: str | None) -> tuple[Topic, ...]:
    """Return the pages to write: the named family's, or those of all families in the folder."""
    if family is not None:
        return (topics()[family],)
    found = {entry.family for entry in manifest.load(kernels).values()}
    return tuple(topic for name, topic in topics().items() if name in found) or (topics()["hash"],)


def _measurements(named: Path | None, topic: Topic) -> tuple[Path, ...]:
    """Return the named measurement, or every record of the family."""
    if named is None:
        return tuple(sorted((project_root() / folder_of(topic.name)).glob("*.json")))
    if not named.is_file():
        raise GhashgenError(f"{named} is not a file", "name a measurement, or leave out --bench")
    return (named,)

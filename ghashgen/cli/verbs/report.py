"""ghashgen report: one page of what is proved, counted, modelled and measured."""

from dataclasses import asdict
from pathlib import Path

import click

from ghashgen.cli.verbs.options import build_folder, default_out, json_option, print_json, progress
from ghashgen.records.records import FOLDER
from ghashgen.support.errors import GhashgenError
from ghashgen.support.extras import require
from ghashgen.support.paths import project_root, report_folder


@click.command("report")
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    help="Folder (default: build/report of a clone, else report).",
)
@click.option(
    "--kernels",
    type=click.Path(path_type=Path),
    help="Folder with MANIFEST.json and PROOFS.json (default: generated).",
)
@click.option(
    "--bench",
    type=click.Path(path_type=Path),
    help="Measurement: a store or the JSON of ghashgen bench, or a record (default: every record "
    "in docs/bench).",
)
@click.option("--session", type=click.IntRange(1), help="Number in the store (default: the last).")
@json_option
def COMMAND(
    out: Path | None,
    kernels: Path | None,
    bench: Path | None,
    session: int | None,
    as_json: bool,
) -> None:
    """Write report.html, which needs no network, and its plots as PNG.

    The page takes kernels from the manifest, theorems from PROOFS.json (compared with the bytes
    assembled here), port bounds from this project's tables, speed from a stored measurement. What
    is missing or stale is said on it. With --json the data are printed and nothing is written.
    """
    from ghashgen.lab.report.gather import Sources, gather

    if not as_json:
        require("report")
    root = project_root()
    sources = Sources(
        root=root,
        kernels=kernels or default_out(),
        objects=build_folder("obj"),
        bench=_measurements(bench),
        session=session,
    )
    if session is not None and bench is None:
        raise GhashgenError("--session needs a store", "name it by --bench")
    report = gather(sources, progress)
    if as_json:
        print_json(asdict(report))
        return
    from ghashgen.lab.report.page import Links, write

    links = Links(out or report_folder(), sources.kernels, root)
    for path in write(report, links):
        click.echo(path)
    for note in report.notes:
        click.echo(note, err=True)


def _measurements(named: Path | None) -> tuple[Path, ...]:
    """Return the file of the measurement named, else every record."""
    if named is None:
        return tuple(sorted((project_root() / FOLDER).glob("*.json")))
    if not named.is_file():
        raise GhashgenError(f"{named} is no file", "name a measurement, or leave out --bench")
    return (named,)

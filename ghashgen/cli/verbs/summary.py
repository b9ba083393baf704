"""ghashgen summary: print what the tool proves, counts and has measured, as Markdown."""

from collections.abc import Mapping
from dataclasses import asdict, replace
from pathlib import Path

import click

from ghashgen.cli.verbs.options import json_option, print_json
from ghashgen.kernels.families import DEFAULT
from ghashgen.lab.figures.gallery import FOLDER as FIGURES
from ghashgen.lab.figures.gallery import figures, stale
from ghashgen.lab.pages import keep_current, read_page, replaced
from ghashgen.lab.standing import long_rows
from ghashgen.lab.summary import Summary, blocks, gather
from ghashgen.support.errors import GhashgenError
from ghashgen.support.files import write_whole
from ghashgen.support.paths import project_root, require_clone


@click.command("summary")
@click.option(
    "--write",
    is_flag=True,
    help="Update the tables in the pages, and the drawings in docs/figures.",
)
@click.option("--check", "only_check", is_flag=True, help="Fail if a table or a drawing is stale.")
@json_option
def COMMAND(write: bool, only_check: bool, as_json: bool) -> None:
    """Print the tables of README and docs/results.md: kernels, theorems, counts, measurements."""
    if write and only_check:
        raise GhashgenError("--write and --check exclude each other", "choose one")
    if write or only_check:
        require_clone("README.md")
    root = project_root()
    summary = gather(root)
    pages = blocks(summary)
    if write or only_check:
        drawn = figures(root)
        made = {
            root / name: replaced(read_page(root / name), block, name=name)
            for name, block in pages.items()
        }
        keep_current(made, write, "summary")
        if write:
            _draw(root / FIGURES, drawn)
        elif name := stale(root / FIGURES, drawn):
            raise GhashgenError(f"{root / FIGURES / name} is stale", "run ghashgen summary --write")
    if as_json:
        bare = asdict(replace(summary, measured={}))
        print_json({**{k: v for k, v in bare.items() if k != "measured"}, **_records(summary)})
    elif write or only_check:
        names = ", ".join((*pages, FIGURES))
        click.echo(f"{names} are {'written' if write else 'current'}")
    else:
        click.echo("\n".join(pages.values()), nl=False)


def _draw(folder: Path, drawn: Mapping[str, str]) -> None:
    """Write the documents' drawings, and remove those that there are no more."""
    folder.mkdir(exist_ok=True)
    for path in folder.glob("*.svg"):
        if path.name not in drawn:
            path.unlink()
    for name, text in drawn.items():
        write_whole(folder / name, text)


def _records(summary: Summary) -> dict[str, object]:
    hashes = [
        {
            "cpu": one.record.results.machine.cpu,
            "title": one.record.title,
            "rows": list(long_rows(one)),
        }
        for one in summary.measured[DEFAULT].standings
    ]
    return {"hashes": hashes}

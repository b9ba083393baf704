"""ghashgen summary: what the tool proves, counts and has measured, as Markdown."""

from dataclasses import asdict
from pathlib import Path

import click

from ghashgen.commands.options import json_option, print_json
from ghashgen.errors import GhashgenError
from ghashgen.paths import project_root
from ghashgen.summary import block_of, gather, markdown, replaced


@click.command("summary")
@click.option("--write", is_flag=True, help="Replace the block between README.md's markers.")
@click.option("--check", "only_check", is_flag=True, help="Fail if README.md's block is stale.")
@json_option
def COMMAND(write: bool, only_check: bool, as_json: bool) -> None:
    """Print README's table: kernels, theorems, instructions per block, stored measurements."""
    if write and only_check:
        raise GhashgenError("--write and --check exclude each other", "choose one")
    summary = gather(project_root())
    block = markdown(summary)
    readme = project_root() / "README.md"
    if write:
        write_page(readme, replaced(read_page(readme), block))
    elif only_check and block_of(read_page(readme)) != block:
        raise GhashgenError(f"the summary in {readme} is stale", "run ghashgen summary --write")
    if as_json:
        print_json(asdict(summary))
    elif write or only_check:
        click.echo(f"the summary in {readme} is {'written' if write else 'current'}")
    else:
        click.echo(block, nl=False)


def read_page(readme: Path) -> str:
    """Return the text of a page; refuse one that cannot be read."""
    try:
        return readme.read_text(encoding="utf-8")
    except OSError as error:
        raise GhashgenError(f"{readme}: {error.strerror}", "run it in a clone") from None


def write_page(readme: Path, text: str) -> None:
    """Write a page whole or not at all."""
    unfinished = readme.with_name(f".{readme.name}.new")
    try:
        unfinished.write_text(text, encoding="utf-8")
        unfinished.replace(readme)
    except OSError as error:
        unfinished.unlink(missing_ok=True)
        raise GhashgenError(f"{readme}: {error.strerror}", "change its permissions") from None

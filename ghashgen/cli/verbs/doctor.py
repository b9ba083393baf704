"""ghashgen doctor: list what this machine has and lacks."""

from dataclasses import asdict

import click

from ghashgen.check.additions import lacks
from ghashgen.cli.machine import examine
from ghashgen.cli.verbs.options import build_folder, json_option, print_json
from ghashgen.support.errors import GhashgenError
from ghashgen.support.tables import Table, show


@click.command("doctor")
@click.option(
    "--additions",
    is_flag=True,
    help="Instead, list what additions to the code still lack, and in which file.",
)
@json_option
def COMMAND(additions: bool, as_json: bool) -> None:
    """List what this machine has and lacks, with the command that installs what is missing."""
    if additions:
        _additions(as_json)
        return
    findings = examine(build_folder("harness"))
    if as_json:
        print_json([{**asdict(finding), "ok": finding.ok} for finding in findings])
    else:
        rows = tuple(
            (
                finding.item,
                "ok" if finding.ok else "MISSING" if finding.required else "absent",
                finding.needed_for,
                finding.found if finding.ok else finding.remedy,
            )
            for finding in findings
        )
        columns = ("item", "state", "needed for", "found, or what to do")
        show(Table("", columns, rows, prose=columns[-1]))
    lacking = [finding for finding in findings if finding.required and not finding.ok]
    if lacking:
        raise GhashgenError(lacking[0].remedy)


def _additions(as_json: bool) -> None:
    """Print what instructions, cores, schemes, functions, families and kernels lack."""
    found = lacks()
    if as_json:
        print_json([asdict(lack) for lack in found])
        return
    columns = ("addition", "lacks", "where it goes")
    rows = tuple((lack.addition, lack.lacks, lack.place) for lack in found)
    show(Table("", columns, rows, prose=columns[1]))

"""ghashgen doctor: list what this machine has and lacks."""

from dataclasses import asdict

import click

from ghashgen.cli.machine import examine
from ghashgen.cli.verbs.options import build_folder, json_option, print_json
from ghashgen.support.errors import GhashgenError
from ghashgen.support.tables import Table, show


@click.command("doctor")
@json_option
def COMMAND(as_json: bool) -> None:
    """List what this machine has and lacks, with the command that installs what is missing."""
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
        raise GhashgenError(f"{lacking[0].item} is missing", lacking[0].remedy)

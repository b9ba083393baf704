"""What `ghashgen vendor` says: of a plan, of a dry run, and of a folder as it is found."""

from pathlib import Path

import click

from ghashgen.check import evidence, ledger, vendoring
from ghashgen.cli.verbs.options import print_json
from ghashgen.output import vendored
from ghashgen.support.errors import GhashgenError
from ghashgen.support.tables import Table, say, show
from ghashgen.support.wording import counted


def say_dry_run(
    prepared: vendoring.Prepared, planned: evidence.Plan, into: Path, as_json: bool
) -> None:
    """Say what would become of each file but VENDORED, whose text depends on the proofs."""
    fates = vendoring.fates(prepared.files, into)
    if as_json:
        print_json(
            {
                "into": str(into),
                "dry_run": True,
                "files": fates,
                "kernels": [kernel.name for kernel in prepared.order.kernels],
                "to_prove": [*dict.fromkeys(built.name for built in planned.unrecorded)],
            }
        )
        return
    show(Table(f"what would become of {into}", ("file", "would be"), tuple(fates.items())))
    click.echo(
        f"{sum_of(list(fates.values()))}, and {vendored.NAME}, which follows from the proofs; "
        "nothing was written or proved",
        err=True,
    )


def say_plan(planned: evidence.Plan) -> None:
    """Say on standard error which kernels are proved now, and why."""
    if planned.record.why:
        click.echo(f"no recorded proof counts: {planned.record.why}", err=True)
    if planned.on_record:
        total = counted(len(planned.artefacts), "kernel")
        on_record = f"{len(planned.on_record)} of {total}"
        click.echo(f"proved already, in {ledger.NAME}: {on_record}", err=True)
    if names := [each.name for each in planned.unrecorded]:
        cached = "" if planned.fresh else ", or from the cache"
        click.echo(f"to prove now{cached}: {', '.join(names)}", err=True)


def sum_of(fates: list[str]) -> str:
    """Return how many files have each fate."""
    counts = {fate: fates.count(fate) for fate in vendoring.FATES}
    return ", ".join(f"{n} {fate}" for fate, n in counts.items() if n)


def check(folder: Path, words: tuple[str, ...], as_json: bool) -> None:
    """Report for each file whether it is what this version makes."""
    if words:
        raise GhashgenError(
            f"--check takes no {words[0]}", "leave it out; VENDORED has the options"
        )
    record = vendored.read(folder)
    if record is None:
        raise GhashgenError(
            f"{folder} has no {vendored.NAME}", "write it: ghashgen vendor --into FOLDER --name …"
        )
    states = vendored.states(folder, record, vendoring.this_maker())
    wrong = [name for name, state in states.items() if state != vendored.UNCHANGED]
    if as_json:
        print_json({"folder": str(folder), "files": states})
    else:
        files = counted(len(states), "file")
        show(Table(f"{files} in {folder}", ("file", "state"), tuple(states.items())))
    if wrong:
        raise GhashgenError(
            f"{folder} is not what this version makes: {wrong[0]} is {states[wrong[0]]}"
            + (f", {len(wrong) - 1} more" if wrong[1:] else ""),
            f"run ghashgen vendor --into {folder} (with --force if it was edited)",
        )
    if not as_json:
        say(
            f"every file has the SHA-256 that {vendored.NAME} lists, and {vendored.NAME} names "
            "this ghashgen's version and sources; nothing was made or proved again"
        )

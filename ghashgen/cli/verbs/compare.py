"""ghashgen compare: repeat a paper's comparison on this machine."""

from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import click
from msgspec import to_builtins

from ghashgen.cli.verbs.options import (
    build_folder,
    core_option,
    default_out,
    json_option,
    one_of,
    print_json,
    progress,
    sizes_option,
)
from ghashgen.kernels.target import target
from ghashgen.lab.bench import QUICK, Effort, bench
from ghashgen.lab.compare.core import Derived, Study
from ghashgen.lab.compare.document import NAME, current, method, rendered
from ghashgen.lab.compare.measure import measure
from ghashgen.lab.compare.record import Record, as_json, path_of, records_of
from ghashgen.lab.compare.registry import studies
from ghashgen.lab.compare.table import as_csv as csv_text
from ghashgen.lab.compare.table import missing, table
from ghashgen.lab.pages import keep_current, read_page
from ghashgen.output.folder import require_writable
from ghashgen.records.machine import cpu_slug
from ghashgen.run.built import build
from ghashgen.support.errors import GhashgenError
from ghashgen.support.files import write_whole
from ghashgen.support.paths import project_root, require_clone
from ghashgen.support.tables import say, show
from ghashgen.support.wording import choose_one, counted


@click.command("compare", epilog=f"STUDY is one of {', '.join(studies())}.")
@click.argument("study", required=False, shell_complete=one_of(studies))
@sizes_option
@click.option("--runs", type=click.IntRange(1), help="Number of processes, run one after another.")
@core_option
@click.option("--quick", is_flag=True, help="Take a first look: few samples, one run.")
@click.option("--csv", "csv_out", is_flag=True, help="Print CSV instead of a table.")
@click.option("--record", is_flag=True, help=f"Store this CPU's result and write {NAME}.")
@click.option("--write", "rewrite", is_flag=True, help=f"Write {NAME} from the stored results.")
@click.option("--check", "only_check", is_flag=True, help=f"Fail if {NAME} is stale.")
@json_option
def COMMAND(
    study: str | None,
    sizes: tuple[int, ...],
    runs: int | None,
    core: int,
    quick: bool,
    csv_out: bool,
    record: bool,
    rewrite: bool,
    only_check: bool,
    as_json: bool,
) -> None:
    """Repeat the comparison of a paper on this machine; see docs/comparisons.md.

    Every variant is checked, then measured in turns in one process, as `bench` does. The output
    shows the paper's ratios beside the measured ones.
    """
    if record or rewrite or only_check:
        require_clone(NAME)
    if rewrite or only_check:
        if study or record or (rewrite and only_check):
            raise GhashgenError(
                "--write and --check take no study and no --record, and exclude each other",
                "give one of them alone",
            )
        _document(rewrite, as_json)
        return
    chosen = _chosen(study)
    root = project_root()
    if record:
        # Fail now rather than after minutes of measuring.
        rendered(read_page(root / NAME), [(chosen, ())])
        require_writable(path_of(root, chosen, "").parent, "clone")
    effort = replace(QUICK if quick else Effort(), core=core)
    sizes = sizes or chosen.sizes
    result = _measured(chosen, sizes, runs or (1 if quick else 5), effort)
    if record:
        _keep(root, chosen, result)
    if as_json:
        print_json(_plain(chosen, result))
    elif csv_out:
        click.echo(csv_text(chosen, result), nl=False)
    else:
        _print(chosen, result)


def _chosen(name: str | None) -> Study:
    known = studies()
    if name is None or name not in known:
        cause = "no comparison is named" if name is None else f"no comparison is named {name!r}"
        raise GhashgenError(cause, choose_one(name or "", known))
    return known[name]


def _measured(study: Study, sizes: tuple[int, ...], runs: int, effort: Effort) -> Record:
    kernels = study.kernels
    with progress("assemble", len(kernels)) as advance:
        built = build(kernels, target(), default_out(), build_folder("obj"), advance)
    click.echo(_waiting(study, effort), err=True)
    with progress("measure", len(study.variants) * len(set(sizes)) * runs) as advance:
        return measure(
            study,
            [item.harness_kernel for item in built],
            sizes,
            runs,
            effort,
            build_folder("bench"),
            advance,
        )


def _waiting(study: Study, effort: Effort) -> str:
    """Return what the measurement waits for, and how to stop or shorten it."""
    turns = f"{counted(len(study.variants), 'variant')} take turns: figures come size by size"
    if study.bench is bench:
        turns += f", and each size waits up to {effort.patience:g} s for a core that nobody shares"
    return f"{turns}; --sizes measures fewer, Ctrl-C stops and stores nothing"


def _keep(root: Path, study: Study, result: Record) -> None:
    write_whole(path_of(root, study, cpu_slug()), as_json(result))
    write_whole(root / NAME, rendered(read_page(root / NAME), [(study, records_of(root, study))]))


def _document(rewrite: bool, as_json: bool) -> None:
    root = project_root()
    stale = keep_current({root / NAME: current(root)}, rewrite, "compare")
    if as_json:
        print_json({"file": NAME, "changed": stale})
    else:
        click.echo(f"{NAME} is {'written' if rewrite else 'current'}")


def _plain(study: Study, result: Record) -> dict[str, Any]:
    """Return the record with the paper's figures beside it."""
    stated = {v.label: v.paper_time for v in study.variants if v.paper_time is not None}
    paper = {
        "source": study.source,
        "times": stated,
        "unit": study.time_unit,
        "ratios": [asdict(row) for row in study.paper_rows],
        "differs": study.differs,
    }
    derived = [_derived(each, result) for each in study.derived]
    return {**to_builtins(result), "paper": paper, **({"derived": derived} if derived else {})}


def _derived(each: Derived, result: Record) -> dict[str, Any]:
    found = each.table(result)
    columns = [name.removeprefix(">") for name in found.columns]
    rows = [dict(zip(columns, row, strict=True)) for row in found.rows]
    return {"title": found.title, "says": each.says, "rows": rows}


def _print(study: Study, result: Record) -> None:
    show(table(study, result))
    for why, names in missing(result):
        say(f"not measured: {names}: {why}")
    say(method(study, result))
    for each in study.derived:
        show(each.table(result))
        say(each.says)
    for text in study.differs:
        say(f"differs from the paper: {text}")

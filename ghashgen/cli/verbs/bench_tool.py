"""ghashgen bench-tool: measure how long the tool itself takes."""

import click
from msgspec.structs import asdict

from ghashgen.cli.verbs.options import build_folder, default_out, json_option, print_json, progress
from ghashgen.kernels.selection import catalogue
from ghashgen.kernels.target import target
from ghashgen.lab.bench import tool
from ghashgen.output.folder import require_writable
from ghashgen.records.machine import cpu_model, cpu_slug, git_commit
from ghashgen.run.built import build
from ghashgen.support.paths import project_root, require_clone
from ghashgen.support.tables import Table, show
from ghashgen.support.wording import counted


@click.command("bench-tool")
@click.option("--job", is_flag=True, help="Also time a plain make: generate, identities, validate.")
@click.option(
    "--emulated",
    is_flag=True,
    help="Also time a plain make with every kernel emulated; takes minutes.",
)
@click.option(
    "--proofs", is_flag=True, help="Also time a new proof of every kernel; takes minutes."
)
@click.option("--record", is_flag=True, help=f"Store this CPU's figures in {tool.FOLDER}/.")
@json_option
def COMMAND(job: bool, emulated: bool, proofs: bool, record: bool, as_json: bool) -> None:
    """Time the tool on two cores and show its targets; exceeding one is not an error."""
    if record:
        require_clone(tool.FOLDER)
        require_writable(project_root() / tool.FOLDER, "clone")
    kernels = catalogue()
    sources = git_commit()
    with tool.two_cores() as cores:
        with progress("one kernel", len(kernels)) as advance:
            found = tool.one_kernel(kernels, advance)
        with progress("the catalogue, make", 1 + job + emulated) as advance:
            found.append(tool.whole_catalogue(kernels))
            advance(None)
            for emulate in (*([False] if job else []), *([True] if emulated else [])):
                found.append(tool.main_job(emulate))
                advance(None)
        if proofs:
            built = build(kernels, target(), default_out(), build_folder("obj"))
            with progress("prove", len(built)) as advance:
                found.append(tool.every_proof(built, advance))
    figures = {what: tool.Figure(what, s, note, cores, sources) for what, s, note in found}
    if record:
        place = project_root() / tool.FOLDER / f"{cpu_slug()}.json"
        tool.store(figures, cpu_model(), place)
    if as_json:
        print_json(
            [
                {**asdict(figure), "target": tool.TARGETS[what], "verdict": figure.verdict}
                for what, figure in figures.items()
            ]
        )
        return
    rows = tuple(
        (
            what,
            "" if (wanted := tool.TARGETS[what]) is None else tool.shown(wanted),
            tool.shown(figure.seconds),
            figure.verdict,
            figure.note,
        )
        for what, figure in figures.items()
    )
    title = f"{cpu_model()}, {counted(cores, 'core')}"
    show(Table(title, ("what", ">target", ">took", "verdict", "which"), rows, prose="which"))

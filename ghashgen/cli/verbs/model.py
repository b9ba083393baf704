"""ghashgen model: compare our group loops with published ones by port tables alone."""

import tomllib
from collections.abc import Sequence
from pathlib import Path

import click

from ghashgen.arch.registry import uarch, uarches
from ghashgen.choice.families.registry import questions
from ghashgen.cli.verbs.options import (
    build_folder,
    default_out,
    json_option,
    one_of,
    print_json,
    progress,
)
from ghashgen.cost.count import count, read, toml
from ghashgen.kernels import manifest
from ghashgen.kernels.core import Point
from ghashgen.kernels.families import families
from ghashgen.kernels.gcm.kernel import GcmKernel
from ghashgen.kernels.hash.kernel import Kernel
from ghashgen.kernels.selection import Choice, choose_of
from ghashgen.kernels.target import target
from ghashgen.lab.model.bursts import FUNCTIONS, bursts, works
from ghashgen.lab.model.comparison import Comparison
from ghashgen.lab.model.page import (
    BURSTS,
    COLUMNS,
    MARKERS,
    MATCHED,
    PAGE,
    WANTED,
    burst_cells,
    by_topic,
    cells,
    markdown,
    matched,
    notes,
    wanted_cells,
)
from ghashgen.lab.model.peers import Recount, peers, recount
from ghashgen.lab.model.rows import LABEL, checks, compare, match, ours, theirs, wanted
from ghashgen.lab.pages import keep_current, read_page, replaced
from ghashgen.lab.standing import load_standings
from ghashgen.output.folder import require_writable
from ghashgen.records.goals import load_goals
from ghashgen.records.records import folder_of
from ghashgen.run.built import build
from ghashgen.support.errors import GhashgenError
from ghashgen.support.extras import command as extra_command
from ghashgen.support.extras import missing, require
from ghashgen.support.paths import GENERATED, project_root, require_clone
from ghashgen.support.tables import Table, say, show

SPARE = ("uops by port", "memory", "load", "other")
"""Columns that a narrow terminal may drop. The bound and its ports stay."""

OURS: tuple[tuple[type[Kernel] | type[GcmKernel], Choice], ...] = (
    (Kernel, Choice(op=("ghash",), wipe=(False,))),
    (GcmKernel, Choice(wipe=(False,))),
)
"""The kernels of each family that the comparison draws ours from."""

BURST_SIZES = (16, 64, 128, 256, 512, 1500)
"""Bytes of a message of a burst."""


@click.command("model")
@click.option(
    "--uarch",
    "chosen",
    multiple=True,
    help="Show only this CPU; see audit --ports.",
    shell_complete=one_of(uarches),
)
@click.option("--write", is_flag=True, help=f"Update the tables in {PAGE}.")
@click.option(
    "--check", "only_check", is_flag=True, help=f"Fail if the tables in {PAGE} are stale."
)
@click.option(
    "--recount", "again", is_flag=True, help="Compare stored counts with installed libraries."
)
@click.option(
    "--count",
    "counted",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Print the histogram of a function's main loop in this object or library, as TOML.",
)
@click.option("--symbol", help="With --count: the global symbol of the function.")
@click.option(
    "--member", default="", help="With --count: the end of the name of the library's object."
)
@click.option(
    "--blocks", type=click.IntRange(1), help="With --count: 16-byte blocks in one pass of the loop."
)
@json_option
def COMMAND(
    chosen: tuple[str, ...],
    write: bool,
    only_check: bool,
    again: bool,
    counted: Path | None,
    symbol: str | None,
    member: str,
    blocks: int | None,
    as_json: bool,
) -> None:
    """Compare port bounds of our loops with those of published loops: a model, not a
    measurement.
    """
    jobs = (write, only_check, again, counted is not None)
    if sum(jobs) > 1:
        raise GhashgenError(
            "--write, --check, --recount and --count exclude each other", "give one"
        )
    if (symbol or member or blocks) and counted is None:
        raise GhashgenError("--symbol, --member and --blocks need --count", "name an object")
    names = {uarch(name).name for name in chosen or uarches()}
    if counted is not None:
        if symbol is None:
            raise GhashgenError("--count needs --symbol", "name the function; see nm")
        found = count(read(counted, member), symbol, blocks)
        if as_json:
            print_json(tomllib.loads(toml(found))["peer"]["loop"])
        else:
            click.echo(toml(found), nl=False)
    elif again:
        _recount(as_json)
    elif write or only_check:
        require_clone(PAGE)
        require("emulate")
        if write:
            require_writable((project_root() / PAGE).parent, "clone")
        comparison = _gather()
        said = _page(comparison, write)
        if as_json:
            print_json(comparison.as_json())
        else:
            click.echo(said)
    else:
        _show(_gather(), names, as_json)


def _gather() -> Comparison:
    return comparison_of([kernel for kind, own in OURS for kernel in choose_of(kind, own)])


def comparison_of(kernels: Sequence[Point]) -> Comparison:
    """Return these kernels compared with every stored peer, record and goal."""
    where, stored = target("sysv"), peers()
    with progress("model", len(kernels)) as advance:
        built = build(kernels, where, default_out(), build_folder("obj"), advance)
    own = ours(built, where)
    folders = {name: project_root() / folder_of(name) for name in families()}
    entries = manifest.load(project_root() / GENERATED).values()
    standings = [
        one for name in questions() for one in load_standings(project_root(), entries, name)
    ]
    goals = {name: load_goals(folder) for name, folder in folders.items()}
    loops = (*own, *theirs(stored))
    rows = compare(loops)
    many = [item for item in built if set(FUNCTIONS) <= item.exported.keys()]
    if absent := missing("emulate"):
        say(f"bursts: left out, because {absent[0]} is not installed: {extra_command('emulate')}")
        many = []
    with progress("bursts", len(many)) as advance:
        ran = bursts(works(many, BURST_SIZES, advance), goals["gcm"], standings)
    return Comparison(rows, match(loops), checks(own, stored, standings), wanted(rows, goals), ran)


def _page(comparison: Comparison, write: bool) -> str:
    page = project_root() / PAGE
    text = replaced(read_page(page), markdown(comparison, peers()), MARKERS, PAGE)
    keep_current({page: text}, write, "model")
    return f"the tables in {page} are {'written' if write else 'current'}"


def _show(comparison: Comparison, names: set[str], as_json: bool) -> None:
    if as_json:
        whole = comparison.as_json()
        for part in ("uarches", "like_with_like", "goals", "bursts"):
            whole[part] = {name: rows for name, rows in whole[part].items() if name in names}
        print_json(whole)
        return
    tables, said = [], []
    for name, loops in comparison.rows.items():
        if name not in names:
            continue
        core, cpu = uarches()[name].title, {"CPU": name, "figures": LABEL}
        for about, own in by_topic(loops).items():
            title = f"{about} on {core}: {LABEL}; counts per block, bounds in cycles per byte"
            each = {"topic": about, **cpu}
            counts = tuple(map(cells, own))
            tables.append(
                Table(title, COLUMNS, counts, spare=SPARE, prose="uops by port", each=each)
            )
        said += [f"{name}: {line}" for line in notes(loops)]
        beside = f"Peers beside ours on {core}: {LABEL}"
        tables.append(
            Table(beside, MATCHED, tuple(map(matched, comparison.matches[name])), each=cpu)
        )
        if goals := comparison.wanted.get(name):
            title = f"Goals of long messages on {core}: {LABEL}"
            tables.append(Table(title, WANTED, tuple(map(wanted_cells, goals)), each=cpu))
        if many := comparison.bursts.get(name):
            title = f"Bursts on {core}: {LABEL}; cycles of one message"
            tables.append(Table(title, BURSTS, tuple(burst_cells(many)), each=cpu))
            said += [f"{name}: {line}" for line in notes(many)]
    columns = ("kernel", ">bytes", f">{LABEL}", ">measured", ">measured by model")
    for machine, found in comparison.checks.items():
        rows = tuple(
            (c.name, str(c.size), f"{c.model:.3f}", f"{c.measured:.3f}", f"{c.quotient:.2f}")
            for c in found
        )
        title = f"Model beside measurement, cycles per byte, {machine}"
        tables.append(Table(title, columns, rows, each={"measured on": machine}))
    show(*tables)
    for line in said:
        say(line)


def _recount(as_json: bool) -> None:
    found = [item for item in map(recount, peers()) if item is not None]
    if as_json:
        print_json([vars(item) for item in found])
    else:
        rows = tuple((item.peer, item.library, item.state, item.said) for item in found)
        columns = ("peer", "library", "state", "what was found")
        show(
            Table("Stored loops in the libraries installed here", columns, rows, prose=columns[-1])
        )
    _refuse_differing(found)


def _refuse_differing(found: list[Recount]) -> None:
    wrong = [item.peer for item in found if item.state == "differs"]
    if wrong:
        raise GhashgenError(
            f"stored counts differ from the library: {', '.join(wrong)}",
            "another version of the library may differ; for the same version, use --count again",
        )

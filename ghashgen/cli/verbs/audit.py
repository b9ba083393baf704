"""ghashgen audit: count each kernel's instructions in its bytes."""

from collections.abc import Iterable
from dataclasses import asdict

import click

from ghashgen.arch.decoder import CLASSES
from ghashgen.arch.objects import read_object
from ghashgen.arch.registry import uarches
from ghashgen.cli.verbs.options import (
    Wanted,
    build_folder,
    choice_options,
    chosen_kernels,
    default_out,
    json_option,
    print_json,
    progress,
    target_options,
)
from ghashgen.cost.audit import Audit, loop
from ghashgen.cost.ports import Loop, PortAudit, Pressure, port_audit
from ghashgen.kernels.core import Point
from ghashgen.kernels.families import loop_of
from ghashgen.kernels.selection import Choice
from ghashgen.kernels.target import Target, arch_of
from ghashgen.lab.model.page import ports_name
from ghashgen.run.built import Built, build
from ghashgen.support.errors import GhashgenError
from ghashgen.support.tables import Table, say, show

VIEWS = ("block", "group", "single", "functions")


@click.command("audit")
@choice_options
@target_options
@click.option(
    "--per",
    type=click.Choice(VIEWS),
    help="Count per block of the group loop (the default), per group, for one block in mul "
    "(Table 11), or for whole functions.",
)
@click.option(
    "--ports",
    is_flag=True,
    help="Model the port bounds of the group loop, by this project's tables and by llvm-mca.",
)
@json_option
def COMMAND(choice: Choice, wanted: Wanted, per: str | None, ports: bool, as_json: bool) -> None:
    """Count instructions by class in the assembled bytes, one row for each kernel."""
    if ports and per:
        raise GhashgenError("--ports shows cycles per group and per block", "leave out --per")
    kernels = chosen_kernels(choice).kernels
    where = wanted.runnable(arch_of(kernels))
    if ports:
        _require_tables(kernels)
    with progress("audit", len(kernels)) as advance:
        built = build(kernels, where, default_out(), build_folder("obj"), advance)
    audits = [item.audit for item in built]
    pressures = _pressures(built, where) if ports else None
    if as_json:
        entries = [{**asdict(item), "per_block": item.per_block} for item in audits]
        print_json([{**entry, **_ports_json(entry["name"], pressures)} for entry in entries])
        return
    if pressures is not None:
        _print_ports(pressures)
        return
    show(_functions(audits) if per == "functions" else _loops(audits, per or "block"))


def _loops(audits: list[Audit], per: str) -> Table:
    titles = {
        "block": "Instructions per block of the group loop",
        "group": "Instructions of the group loop",
        "single": "Instructions of one block's multiplication in mul, between load and store",
    }
    sizes = ("table bytes", "stack bytes", "code bytes")
    columns = (
        *("kernel", "isa", ">blocks"),
        *(f">{cls}" for cls in CLASSES),
        *(">total", ">memory operands", ">code bytes", ">table bytes", ">stack bytes"),
    )

    def number(count: int, scale: int, digits: str) -> str:
        # Some families have kernels without such a loop.
        return f"{count / scale:{digits}}" if digits else "none"

    rows = []
    for item in audits:
        region = item.single if per == "single" else item.group
        scale = item.blocks if per == "block" else 1
        digits = (".2f" if per == "block" else ".0f") if region.instructions else ""
        row = (
            *(item.name, item.isa, str(item.blocks)),
            *(number(region.classes[cls], scale, digits) for cls in CLASSES),
            number(region.instructions, scale, digits),
            number(region.memory_operands, scale, digits),
            str(sum(item.code_bytes.values())),
            str(item.table_bytes),
            str(max(item.stack_bytes.values())),
        )
        rows.append(row)
    return Table(titles[per], columns, tuple(rows), spare=("isa", *sizes, "memory operands"))


def _functions(audits: list[Audit]) -> Table:
    columns = (
        *("kernel", "function"),
        *(f">{cls}" for cls in CLASSES),
        *(">total", ">code bytes", ">stack bytes", "registers written"),
    )
    rows = tuple(
        (
            *(item.name, name),
            *(str(region.classes[cls]) for cls in CLASSES),
            str(region.instructions),
            str(item.code_bytes[name]),
            str(item.stack_bytes[name]),
            " ".join(item.registers[name]),
        )
        for item in audits
        for name, region in item.functions.items()
    )
    return Table("Whole functions", columns, rows, prose="registers written")


def _require_tables(kernels: Iterable[Point]) -> None:
    """Refuse kernels of an architecture without a port table."""
    for kernel in kernels:
        arch = kernel.instruction_set.arch
        if not arch.uarches():
            raise GhashgenError(
                f"{kernel.name} is for {arch.title}, which has no port tables", "leave out --ports"
            )


def _pressures(built: tuple[Built[Point], ...], where: Target) -> PortAudit:
    """Return the port bounds of every group loop."""
    loops = []
    for item in built:
        if not (function := loop_of(item.kernel)):
            continue
        code = read_object(item.obj.read_bytes())
        symbol = f"{where.symbol(item.kernel.name)}_{function}"
        loops.append(Loop(item.kernel.name, item.kernel.blocks, tuple(loop(code, symbol))))
    with progress("ports", len(loops) * len(uarches())) as advance:
        return port_audit(loops, advance)


def _ports_json(name: str, pressures: PortAudit | None) -> dict[str, object]:
    if pressures is None or name not in pressures.pressures:
        return {}
    return {
        "ports": {
            "llvm_mca": pressures.llvm_mca or None,
            "llvm_mca_missing": pressures.missing,
            "cpus": [item.as_json() for item in pressures.pressures[name]],
        }
    }


def _print_ports(pressures: PortAudit) -> None:
    """Print the table and, below it, what a reader must know about its figures."""
    title = "Port bounds of the group loop, cycles per group (a block): models, not measurements"
    columns = (
        *("kernel", "CPU", ">table", "busiest", "uops", ">front end"),
        *(">chain, group to group", ">through a group"),
        *("binds", ">simulated", ">over the bound", ">in order"),
        *(f">llvm-mca {pressures.llvm_mca}".rstrip(), "its busiest", ">pressure", "notes"),
    )
    rows = []
    notes: dict[str, int] = {}
    for items in pressures.pressures.values():
        for item in items:
            said = [f"{item.uarch}: {note}" for note in item.notes]
            marks = [notes.setdefault(note, len(notes) + 1) for note in said]
            rows.append((*_ports_row(item), " ".join(str(mark) for mark in marks)))
    show(Table(title, columns, tuple(rows), each={"figures": "models, not measurements"}))
    for note, mark in notes.items():
        say(f"{mark:3} {note}")
    known = (f"{table.name} is {table.title}" for table in uarches().values())
    say(f"CPUs with a port table: {'; '.join(known)}")
    if pressures.missing:
        say(pressures.missing)


def _ports_row(item: Pressure) -> tuple[str, ...]:
    bound, model = item.bound, item.model

    def both(cycles: float) -> str:
        return f"{cycles:.2f} ({cycles / item.blocks:.2f})"

    # A bound that leaves out instructions the CPU cannot run would mean nothing.
    uops = ", ".join(f"{ports_name(ports)} {n}" for ports, n in bound.demand.items())
    ours: tuple[str, ...] = (
        *(both(bound.cycles), " ".join(bound.busiest), uops, f"{bound.front_end:.2f}"),
        *(f"{item.path.carried:.2f}", str(item.path.through)),
    )
    order = ("", "no data", "", "")
    if item.estimate and item.over is not None:
        simulated, in_order = both(item.estimate.windowed), f"{item.estimate.in_order:.2f}"
        order = (item.binds, simulated, f"{item.over:.1%}", in_order)
    theirs = ("no data", "", "")
    if model:
        theirs = (both(model.reciprocal_throughput), model.busiest, both(model.pressure))
    if item.lacks:
        ours = ("no data", *("" for _ in ours[1:]))
    return (item.loop, item.uarch, *ours, *order, *theirs)

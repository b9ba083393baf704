"""ghashgen recommend: which kernel to take on a CPU, and why."""

from typing import Any

import click

from ghashgen.choice.candidate import candidates
from ghashgen.choice.figures import left_out
from ghashgen.choice.recommend import WAYS, Advice, Machine, machine, recommend
from ghashgen.cli.verbs.options import json_option, print_json
from ghashgen.kernels import manifest
from ghashgen.kernels.hash.definition import OPS
from ghashgen.records.core import size_name
from ghashgen.records.records import FOLDER, load_records
from ghashgen.support.errors import GhashgenError
from ghashgen.support.paths import project_root

CATALOGUE = "generated"
"""The folder of the catalogue, below the project's root."""

FALLBACK = "the order is that of the nearest record, or the convention"


@click.command("recommend")
@click.option("--cpu", default="", help="A core, a record, or features as avx,pclmulqdq.")
@click.option("--bytes", "size", type=click.IntRange(0), help="Length of the messages.")
@click.option("--per-message-key", "once", is_flag=True, help="Each message has a key of its own.")
@click.option("--op", type=click.Choice(OPS), default="ghash", show_default=True)
@json_option
def COMMAND(cpu: str, size: int | None, once: bool, op: str, as_json: bool) -> None:
    """Name the kernel to take on this CPU or another, its speed beside others', and why.

    It is what the dispatcher takes there. Nothing is measured or built: the figures are those on
    record, of this kind of CPU or of the nearest.
    """
    records = load_records(project_root() / FOLDER)
    here, folder = machine(cpu, records), project_root() / CATALOGUE
    pool = [
        candidate
        for candidate in candidates(manifest.load(folder).values())
        if candidate.op == op and candidate.abi == "sysv"
    ]
    if not pool:
        raise GhashgenError(f"{folder} lists no kernel of {op}", "run ghashgen generate")
    for line in left_out(records, pool):
        click.echo(line, err=True)
    found = recommend(here, pool, records, once=once, size=size)
    if as_json:
        print_json(_plain(here, found))
        return
    click.echo(f"{here.cpu}{f': {here.core}' if here.core and here.core not in here.cpu else ''}")
    if here.core not in {record.title for record in records}:
        click.echo(f"nothing was measured on {here.core or 'this CPU'}: {FALLBACK}")
    elif not any(item.own for item in found):
        click.echo(f"the record of {here.core} does not decide this: {FALLBACK}")
    for item in found:
        for line in lines(item):
            click.echo(line)


def lines(item: Advice) -> list[str]:
    """Return a recommendation in words."""
    candidate, speed = item.candidate, item.speed
    init = f"{item.init:.0f} cycles" if item.init is not None else "not measured"
    out = [
        f"{item.lengths}: {candidate.name} ({CATALOGUE}/{candidate.isa}/)",
        f"  table {candidate.table.bytes} bytes, key set-up {init}, needs "
        f"{' '.join(sorted(candidate.needs))}",
    ]
    if speed is not None:
        with_setup = "key set-up and " if speed.setup else ""
        cycles = f"{speed.cycles:.{0 if speed.cycles >= 100 else 1}f}"
        out.append(
            f"  {cycles} core cycles ({speed.cycles / speed.size:.3f} per byte) at "
            f"{size_name(speed.size)}, {with_setup}{WAYS[speed.mode]}"
        )
        if speed.ratio is not None:
            out.append(
                f"  the best peer there, {speed.peer}, takes {speed.ratio:.2f} times as long"
            )
        else:
            out.append("  no peer was measured there")
    else:
        out.append("  its speed is not on record")
    out.append(f"  {item.why}" + (f" ({FOLDER}/{item.record}.json)" if item.record else ""))
    return out


def _plain(here: Machine, found: tuple[Advice, ...]) -> dict[str, Any]:
    return {
        "cpu": here.cpu,
        "core": here.core or None,
        "features": sorted(here.features),
        "kernels": [
            {
                "above": item.above if item.above >= 0 else None,
                "up_to": item.up_to,
                "kernel": item.candidate.name,
                "isa": item.candidate.isa,
                "cpu_features": sorted(item.candidate.needs),
                "table_bytes": item.candidate.table.bytes,
                "init_cycles": item.init,
                "record": f"{FOLDER}/{item.record}.json" if item.record else None,
                "own_record": item.own,
                "speed": None
                if item.speed is None
                else {
                    "mode": item.speed.mode,
                    "bytes": item.speed.size,
                    "cycles": round(item.speed.cycles, 2),
                    "with_key_setup": item.speed.setup,
                    "peer": item.speed.peer or None,
                    "peer_ratio": item.speed.ratio and round(item.speed.ratio, 4),
                },
                "why": item.why,
            }
            for item in found
        ],
    }

"""ghashgen audit: what each kernel costs, counted from its bytes."""

from dataclasses import asdict

import click

from ghashgen.audit import CLASSES, Audit
from ghashgen.built import build
from ghashgen.catalogue import Choice, choose
from ghashgen.commands.options import (
    build_folder,
    choice_options,
    console,
    default_out,
    json_option,
    print_json,
    progress,
    table,
    target_options,
)
from ghashgen.target import target

VIEWS = ("block", "group", "single", "functions")


@click.command("audit")
@choice_options
@target_options
@click.option(
    "--per",
    type=click.Choice(VIEWS),
    default="block",
    show_default=True,
    help="Group loop per block or whole; one block in mul (Table 11); whole functions.",
)
@json_option
def COMMAND(choice: Choice, abi: str, prefix: str, per: str, as_json: bool) -> None:
    """Count instructions by class, from the assembled bytes; one row a kernel, side by side."""
    kernels = choose(choice)
    with progress("audit", len(kernels)) as advance:
        built = build(
            kernels, target(abi, prefix=prefix), default_out(), build_folder("obj"), advance
        )
    audits = [item.audit for item in built]
    if as_json:
        print_json([{**asdict(item), "per_block": item.per_block} for item in audits])
        return
    console().print(_functions(audits) if per == "functions" else _loops(audits, per))


def _loops(audits: list[Audit], per: str) -> object:
    titles = {
        "block": "Instructions per block of the group loop",
        "group": "Instructions of the group loop",
        "single": "Instructions of one block's multiplication in mul, between load and store",
    }
    out = table(
        titles[per],
        "kernel",
        "isa",
        ">blocks",
        *(f">{cls}" for cls in CLASSES),
        ">total",
        ">memory operands",
        ">code bytes",
        ">table bytes",
        ">stack bytes",
    )
    for item in audits:
        region = item.single if per == "single" else item.group
        scale = item.blocks if per == "block" else 1
        digits = ".2f" if per == "block" else ".0f"
        out.add_row(
            item.name,
            item.isa,
            str(item.blocks),
            *(f"{region.classes[cls] / scale:{digits}}" for cls in CLASSES),
            f"{region.instructions / scale:{digits}}",
            f"{region.memory_operands / scale:{digits}}",
            str(sum(item.code_bytes.values())),
            str(item.table_bytes),
            str(max(item.stack_bytes.values())),
        )
    return out


def _functions(audits: list[Audit]) -> object:
    out = table(
        "Whole functions",
        "kernel",
        "function",
        *(f">{cls}" for cls in CLASSES),
        ">total",
        ">code bytes",
        ">stack bytes",
        "registers written",
    )
    for item in audits:
        for name, region in item.functions.items():
            out.add_row(
                item.name,
                name,
                *(str(region.classes[cls]) for cls in CLASSES),
                str(region.instructions),
                str(item.code_bytes[name]),
                str(item.stack_bytes[name]),
                " ".join(item.registers[name]),
            )
    return out

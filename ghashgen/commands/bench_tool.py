"""ghashgen bench-tool: how long the tool itself takes."""

import statistics
import tempfile
import time
from pathlib import Path

import click

from ghashgen.catalogue import catalogue
from ghashgen.commands.options import json_option, print_json
from ghashgen.generate import generate
from ghashgen.kernel import Kernel
from ghashgen.render import render
from ghashgen.tables import Table, show
from ghashgen.target import target
from ghashgen.wording import counted

RUNS = 5
TARGETS = {"one kernel": 0.050, "the catalogue": 15.0}
"""Seconds: rendering one kernel, median; the catalogue, generated, assembled and audited."""


def _one(kernel: Kernel) -> float:
    times = []
    for _ in range(RUNS):
        start = time.perf_counter()
        render(kernel, target())
        times.append(time.perf_counter() - start)
    return statistics.median(times)


@click.command("bench-tool")
@json_option
def COMMAND(as_json: bool) -> None:
    """Time the generator; decides nothing, prints the figures beside their targets."""
    kernels = catalogue()
    render(kernels[0], target())
    singles = {kernel.name: _one(kernel) for kernel in kernels if kernel.blocks in (1, 16, 48)}
    slowest = max(singles, key=lambda name: singles[name])
    with tempfile.TemporaryDirectory(prefix="ghashgen-") as folder:
        start = time.perf_counter()
        generate(kernels, target(), Path(folder), whole=True)
        whole = time.perf_counter() - start
    figures = {"one kernel": singles[slowest], "the catalogue": whole}
    if as_json:
        print_json({"seconds": figures, "target": TARGETS, "slowest": slowest})
        return
    one, every = TARGETS.values()
    rows = (
        ("one kernel", f"{singles[slowest]:.3f}", f"{one:.3f}", slowest),
        ("the catalogue", f"{whole:.1f}", f"{every:.1f}", counted(len(kernels), "kernel")),
    )
    show(Table("", ("what", ">seconds", ">target", "which"), rows))

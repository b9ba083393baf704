"""ghashgen validate: run kernels against pyca/cryptography and NIST CAVP."""

import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import asdict
from queue import Queue

import click

from ghashgen.audit import CLASSES
from ghashgen.built import Built, build
from ghashgen.catalogue import Choice
from ghashgen.commands.options import (
    build_folder,
    choice_options,
    chosen_kernels,
    default_out,
    json_option,
    print_json,
    progress,
    target_options,
)
from ghashgen.emulate import Emulator
from ghashgen.errors import GhashgenError
from ghashgen.extras import require
from ghashgen.parallel import workers
from ghashgen.tables import Table, say, show
from ghashgen.target import runnable
from ghashgen.validation.runners import Emulated, Runner, native
from ghashgen.validation.validate import Validation, validate
from ghashgen.wording import counted


@click.command("validate")
@choice_options
@target_options
@click.option("--emulate", is_flag=True, help="Use the emulator even where this CPU could run it.")
@json_option
def COMMAND(
    choice: Choice, abi: str, prefix: str, table_align: int, emulate: bool, as_json: bool
) -> None:
    """Run kernels on real input: every tail length, long and split messages, CAVP, bounds, ABI."""
    require("validate")
    start = time.perf_counter()
    kernels, where = chosen_kernels(choice).kernels, runnable(abi, prefix, table_align)
    with progress("assemble", len(kernels)) as advance:
        built = build(kernels, where, default_out(), build_folder("obj"), advance)
    with ExitStack() as stack:
        runner_for = _runners(built, emulate, stack)
        with progress("validate", len(built)) as advance:
            results = validate(built, runner_for, advance)
    seconds = time.perf_counter() - start
    if as_json:
        print_json(
            [
                {**asdict(result), "ok": result.ok, "per_block": item.audit.per_block}
                for result, item in zip(results, built, strict=True)
            ]
        )
    else:
        _print(results, built, seconds)
    failed = [result for result in results if not result.ok]
    if failed:
        raise GhashgenError(
            f"wrong: {len(failed)} of {counted(len(results), 'kernel')}, first {failed[0].name}: "
            f"{failed[0].failures[0]}",
            "do not use them",
        )


def _runners(
    built: tuple[Built, ...], emulate: bool, stack: ExitStack
) -> Callable[[Built], Runner]:
    """Choose for each kernel: this CPU where it has what the kernel needs, else the emulator."""
    here = native(built, build_folder("harness"))
    present = here.harness.features()
    emulators: list[Emulated] = []

    def choose_runner(item: Built) -> Runner:
        if not emulate and all(present.get(name, False) for name in item.features):
            return here
        if not emulators:
            free: Queue[Emulator] = Queue()
            for _ in range(workers()):
                free.put(stack.enter_context(Emulator()))
            emulators.append(Emulated(free))
        return emulators[0]

    return choose_runner


def _print(results: list[Validation], built: tuple[Built, ...], seconds: float) -> None:
    title = (
        "Instructions per block of the group loop; every length from 0 to the longest tail, long "
        "and split messages, NIST CAVP, bounds and calling convention"
    )
    columns = (
        *("kernel", "isa", ">blocks"),
        *(f">{cls}" for cls in CLASSES),
        *(">total", ">cases", ">tail bytes", "validated", ">seconds"),
    )
    rows = []
    for result, item in zip(results, built, strict=True):
        counts = item.audit
        row = (
            *(result.name, result.isa, str(counts.blocks)),
            *(f"{counts.per_block[cls]:.2f}" for cls in CLASSES),
            f"{counts.group.instructions / counts.blocks:.2f}",
            str(result.cases),
            f"0-{result.longest_tail}",
            result.how if result.ok else f"FAILED ({result.how})",
            f"{result.seconds:.2f}",
        )
        rows.append(row)
    # The counts are audit's.
    spare = (*CLASSES[::-1], "total", "isa", "seconds", "tail bytes", "cases")
    show(Table(title, columns, tuple(rows), spare=spare))
    good = sum(result.ok for result in results)
    how = sorted({result.how for result in results})
    say(
        f"agree with pyca/cryptography and CAVP: {good} of {counted(len(results), 'kernel')} "
        f"({', '.join(f'{sum(r.how == h for r in results)} {h}' for h in how)}), {seconds:.1f} s"
    )

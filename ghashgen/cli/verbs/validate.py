"""ghashgen validate: run kernels and compare with pyca/cryptography and NIST CAVP."""

import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import asdict
from queue import Queue
from typing import cast

import click

from ghashgen.arch.decoder import CLASSES
from ghashgen.check.sampled.sample import sample
from ghashgen.check.sampled.subject import BITS, QUICK_BITS, SEED, Sampled, subject_of
from ghashgen.check.validation.outcome import Validation
from ghashgen.check.validation.runners import SAMPLE, Emulated, Native, Runner, native
from ghashgen.check.validation.validate import validate
from ghashgen.cli.verbs.options import (
    Wanted,
    brief_option,
    build_folder,
    choice_options,
    chosen_kernels,
    default_out,
    json_option,
    print_json,
    progress,
    target_options,
)
from ghashgen.kernels.core import Point
from ghashgen.kernels.hash.kernel import Kernel
from ghashgen.kernels.selection import Choice
from ghashgen.kernels.target import arch_of
from ghashgen.run.built import Built, build
from ghashgen.run.emulate import EMULATED, Emulator
from ghashgen.support.errors import GhashgenError
from ghashgen.support.extras import require
from ghashgen.support.parallel import workers
from ghashgen.support.tables import Table, say, show
from ghashgen.support.wording import counted


@click.command("validate")
@choice_options
@target_options
@click.option(
    "--emulate", is_flag=True, help="Use the emulator even if this CPU could run the kernel."
)
@click.option(
    "--random-points/--no-random-points",
    default=True,
    show_default=True,
    help="Also run update, mul and combine at random points with independent powers.",
)
@click.option("--seed", default=SEED, show_default=True, help="Seed of the random points.")
@click.option(
    "--all",
    "everything",
    is_flag=True,
    help="Run every vector and every turn, and points to 2^-128 (much longer for AES-GCM).",
)
@brief_option
@json_option
def COMMAND(
    choice: Choice,
    wanted: Wanted,
    emulate: bool,
    random_points: bool,
    seed: str,
    everything: bool,
    brief: bool,
    as_json: bool,
) -> None:
    """Run kernels on real input: all tail lengths, long and split messages, CAVP, bounds, ABI.

    Each function with a loop runs at lengths of 3 to 16 passes of it, and at random lengths up to
    64 passes, with guard pages around its buffers. Of what does not depend on the group size, one
    vector in 16 runs; with --all, each.

    Then kernels run at random points with independent powers. There are enough points to bound the
    probability that a wrong kernel is missed (docs/validation.md).
    """
    require("validate")
    start = time.perf_counter()
    kernels = chosen_kernels(choice, "validation").kernels
    where = wanted.runnable(arch_of(kernels))
    with progress("assemble", len(kernels)) as advance:
        built = build(kernels, where, default_out(), build_folder("obj"), advance)
    if random_points and not all(kernel.instruction_set.arch.proved for kernel in kernels):
        random_points = False
        click.echo("no random points: they need a proved architecture", err=True)
    with ExitStack() as stack:
        here = native(built, build_folder("harness"), 1 if everything else SAMPLE)
        runner_for = _runners(here, emulate, stack)
        with progress("validate", len(built)) as advance:
            results = validate(built, runner_for, advance)
        bits = BITS if everything else QUICK_BITS
        points = _sample(built, here, runner_for, seed, bits) if random_points else []
    seconds = time.perf_counter() - start
    if as_json:
        by_name = {point.name: point for point in points}
        print_json(
            [
                {
                    **asdict(result),
                    "ok": result.ok and (found is None or found.ok),
                    "per_block": item.audit.per_block,
                    "random_points": found and asdict(found),
                }
                for result, item in zip(results, built, strict=True)
                for found in [by_name.get(result.name)]
            ]
        )
    else:
        if not brief:
            _print(results, built, everything)
        _say(results, seconds)
        if points:
            say(_summary(points, seed))
    ran: list[Validation | Sampled] = [*results, *points]
    failed = [result for result in ran if not result.ok]
    if failed:
        raise GhashgenError(
            f"wrong: {len({result.name for result in failed})} of "
            f"{counted(len(results), 'kernel')}, first {failed[0].name}: "
            f"{failed[0].failures[0]}",
            "do not use them",
        )


def _sample(
    built: tuple[Built[Point], ...],
    here: Native,
    runner_for: Callable[[Built[Point]], Runner],
    seed: str,
    bits: int,
) -> list[Sampled]:
    """Run GHASH and POLYVAL kernels at random points, each where `runner_for` runs it."""
    own = [cast("Built[Kernel]", item) for item in built if isinstance(item.kernel, Kernel)]
    if len(own) < len(built):
        click.echo("random points: only for kernels of GHASH and POLYVAL", err=True)
    runners = {item.kernel.name: runner_for(item) for item in own}

    def emulators(name: str) -> "Queue[Emulator] | None":
        runner = runners[name]
        return runner.free if isinstance(runner, Emulated) else None

    subjects = [subject_of(item) for item in own]
    with progress("random points", len(own)) as advance:
        return sample(subjects, here.harness, emulators, seed, advance, bits)


def _summary(points: list[Sampled], seed: str) -> str:
    """Summarize the random points, with the weakest bound for each way to run."""
    out = []
    for how in sorted({point.how for point in points}):
        some = [point for point in points if point.how == how]
        weakest = min(some, key=lambda point: point.bits)
        calls = sum(point.calls for point in some)
        where = f" ({weakest.name}, {weakest.weakest})" if weakest.weakest else ""
        out.append(
            f"{counted(len(some), 'kernel')} {how}, {counted(calls, 'call')}: a wrong function is "
            f"unseen with probability {weakest.bound} at most{where}"
        )
    good = sum(point.ok for point in points)
    return (
        f"agree at random points with independent powers (seed {seed}): {good} of "
        f"{counted(len(points), 'kernel')}; {'; '.join(out)}"
    )


def _runners(here: Native, emulate: bool, stack: ExitStack) -> Callable[[Built[Point]], Runner]:
    """Choose for each kernel this CPU, if it has the features, or the emulator."""
    present = here.harness.features()
    emulators: list[Emulated] = []

    def choose_runner(item: Built[Point]) -> Runner:
        # Kernels of other architectures run in an emulator already, or on their own CPU.
        if item.kernel.instruction_set.arch.name != EMULATED:
            return here
        if not emulate and all(present.get(name, False) for name in item.features):
            return here
        if not emulators:
            free: Queue[Emulator] = Queue()
            for _ in range(workers()):
                free.put(stack.enter_context(Emulator()))
            emulators.append(Emulated(free))
        return emulators[0]

    return choose_runner


def _print(results: list[Validation], built: tuple[Built[Point], ...], everything: bool) -> None:
    cavp = "NIST CAVP" if everything else "a sample of NIST CAVP"
    title = (
        "Instructions per block of the group loop; every length from 0 to the longest tail, 3 to "
        f"16 turns of the loop, long and split messages, {cavp}, bounds and calling convention"
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
    # These columns repeat what audit shows, or can be spared.
    spare = (*CLASSES[::-1], "total", "isa", "seconds", "tail bytes", "cases")
    show(Table(title, columns, tuple(rows), spare=spare))


def _say(results: list[Validation], seconds: float) -> None:
    good = sum(result.ok for result in results)
    how = sorted({result.how for result in results})
    say(
        f"agree with pyca/cryptography and CAVP: {good} of {counted(len(results), 'kernel')} "
        f"({', '.join(f'{sum(r.how == h for r in results)} {h}' for h in how)}), {seconds:.1f} s"
    )

"""Runs any object and compares it with the specification, each function at many turns of its loop.

It uses nothing of the prover. The object runs in a separate process, the harness's or the
emulator's, with a time limit for each call. So a fault, an endless loop or a read past a buffer is
reported in a line that names the call. Right answers come from the field, and for AES-GCM from
pyca.
"""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from queue import Queue

from ghashgen.algebra.field.bitorder import BLOCK_BYTES
from ghashgen.arch.registry import arches
from ghashgen.check.stated import Stated, stated
from ghashgen.check.validation import hashes
from ghashgen.check.validation.gcm import validator
from ghashgen.check.validation.gcm.validator import Wanted
from ghashgen.check.validation.hashes import Hash
from ghashgen.check.validation.runners import NOTHING, SAMPLE, Emulated, Native, Runner
from ghashgen.check.validation.trials import Trial, faults, together
from ghashgen.check.validation.turns import FARTHEST, FIRST, TURNS
from ghashgen.run.emulate import EMULATED, Emulator
from ghashgen.run.emulate.needed import needed
from ghashgen.run.harness import Harness, build
from ghashgen.run.table import HarnessKernel
from ghashgen.support.errors import GhashgenError
from ghashgen.support.extras import require
from ghashgen.support.wording import counted


@dataclass(frozen=True)
class Ran:
    """The result of running an object."""

    how: str = ""
    """native or emulated, or "" if it was not run."""
    calls: int = 0
    functions: tuple[str, ...] = ()
    tail: int = 0
    """Every length up to this one, in bytes, was run; if calls are slow, some of them."""
    wrong: str = ""
    """The first wrong call, and how it was wrong."""
    not_run: str = ""
    """Why it was not run."""

    @property
    def text(self) -> str:
        """The result in words."""
        if self.not_run:
            return f"not run: {self.not_run}"
        if self.wrong:
            return f"run, {self.how}: WRONG: {self.wrong}"
        every, turns = ("some lengths", "two of") if self.few else ("every length", "each of")
        return (
            f"run, {self.how}: {counted(self.calls, 'call')} of {', '.join(self.functions)}, all "
            f"right: {every} to {self.tail} bytes, every length modulo 16 at {turns} {FIRST} to "
            f"{TURNS} turns of the loop, random lengths to {FARTHEST} turns"
        )

    @property
    def few(self) -> bool:
        """Whether fewer calls were made, because each is slow."""
        return self.how == "emulated"


def run(statement: object, obj: Path, folder: Path, emulate: bool = False) -> Ran:
    """Run an object by its statement; `emulate` always uses the emulator."""
    with ExitStack() as stack:
        try:
            found = stated(statement, obj)
            if found.key_bytes:
                require("validate")
            runner = _runner(found, folder, emulate, stack)
        except GhashgenError as refusal:
            return Ran(not_run=str(refusal))
        return _tried(found, runner)


def _runner(found: Stated, folder: Path, emulate: bool, stack: ExitStack) -> Runner:
    """Return a runner for this CPU, or for the emulator if the CPU lacks a feature.

    Raises:
        GhashgenError: neither can run it.
    """
    why = ""
    if not emulate:
        try:
            return native_runner(found, folder)
        except GhashgenError as refusal:
            why = f"{refusal.cause}, and "
    emulator = stack.enter_context(Emulator())
    try:
        emulator.features()  # fails here, before anything is run, if there is none
    except GhashgenError as refusal:
        raise GhashgenError(f"{why}{refusal.cause}", refusal.remedy) from None
    free: Queue[Emulator] = Queue()
    free.put(emulator)
    return Emulated(free)


def native_runner(found: Stated, folder: Path) -> Native:
    """Return a runner for this CPU.

    Raises:
        GhashgenError: the CPU lacks a feature, the object cannot be linked, or there is no
        compiler.
    """
    needs = needed(found.obj)
    harness = _harness(found, needs, folder)
    present = harness.features()
    if missing := [name for name in needs if not present[name]]:
        raise GhashgenError(f"this CPU lacks {', '.join(missing)}")
    return Native(harness, sample=SAMPLE)


def _harness(found: Stated, needs: Sequence[str], folder: Path) -> Harness:
    kernel = HarnessKernel.of_stranger(
        found.name,
        found.obj,
        needs,
        abi=found.abi,
        blocks=found.blocks,
        table_bytes=found.table_bytes,
        table_align=found.table_align,
        op="gcm" if found.key_bytes else found.op,
        functions=tuple(found.exported),
        symbols={name: own.symbol for name, own in found.exported.items()},
    )
    return build([kernel], folder, arches()[EMULATED])


def _trials(found: Stated, few: bool) -> Iterator[Trial]:
    """Yield the trials of each function."""
    if found.key_bytes:
        cells = sorted(found.round_keys, key=lambda cell: found.round_keys[cell])
        places = [BLOCK_BYTES * cell for cell in cells]
        size, blocks = found.key_bytes, found.blocks
        wanted = Wanted(size, blocks, places, 0, SAMPLE, few, found.untouched, found.tags)
        for trials in validator.suites(found, wanted):
            yield from trials
        return
    asked = Hash(found.op, found.order, found.blocks, found.cells, few)
    for name, own in found.exported.items():
        yield from hashes.SUITES[name](asked, own)


def _tried(found: Stated, runner: Runner) -> Ran:
    """Run all trials for an object until one is wrong."""
    calls, few = 0, isinstance(runner, Emulated)

    def ran(wrong: str = "") -> Ran:
        names = tuple(found.exported)
        return Ran(runner.how, calls, names, FIRST * BLOCK_BYTES * found.blocks - 1, wrong)

    for some in together(_trials(found, few)):
        calls += len(some)
        try:
            if wrong := next(faults(runner, found, some), ""):
                return ran(wrong)
        except GhashgenError as stopped:
            return ran(str(stopped))
    try:
        chosen = validator.placed(runner, found, found.untouched) if found.key_bytes else NOTHING
        return ran(next(iter(runner.check(found, chosen)), ""))
    except GhashgenError as stopped:
        return ran(str(stopped))

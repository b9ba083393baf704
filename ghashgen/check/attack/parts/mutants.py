"""Kernels with one or two faults, in their instructions or anywhere in the file.

Each goes to the prover as a stranger's object would, and each that it accepts is run (`trial`).
Kernels are drawn from the catalogue or the user's choice, in both calling conventions and with
several table alignments. Every third kernel has columns, which the catalogue lacks.
"""

import random
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import count
from pathlib import Path

from ghashgen.check.attack import trial
from ghashgen.check.attack.core import Finding, Options, Outcome, Part
from ghashgen.check.attack.mutation import Mutant, mutant
from ghashgen.check.attack.parts.kernels import TURNS, with_columns
from ghashgen.check.attack.parts.kernels import drawn as draw
from ghashgen.check.attack.verdict import SECONDS, verdict
from ghashgen.check.proofs import statement
from ghashgen.check.statements import statement_text
from ghashgen.kernels.core import Point
from ghashgen.kernels.hash.axes import COLUMNS
from ghashgen.kernels.selection import Choice, look_up
from ghashgen.kernels.target import TABLE_ALIGNS, runnable
from ghashgen.run.built import Built, build
from ghashgen.support.paths import kernels_folder

NAME = "mutants"
_EACH = 4
"""Consecutive tasks on one kernel, so that it is assembled once."""


@dataclass(frozen=True)
class Original:
    """What mutants are made from."""

    kernel: Point
    abi: str
    table_align: int


@dataclass(frozen=True)
class Task:
    """One mutant, with its number."""

    number: int
    original: Original


def _tasks(options: Options) -> Iterator[Task]:
    kernels = look_up(options.choice, "trials").kernels
    rng = random.Random(f"{NAME} {options.seed}")
    kernels = tuple(rng.sample(kernels, len(kernels)))
    abis = options.abis
    columns = _columns(options.choice)
    for number in count():
        turn = number // _EACH
        drawn = random.Random(f"{NAME} {options.seed} target {turn}")
        align = drawn.choice(TABLE_ALIGNS) if drawn.random() < 0.25 else 0
        listed = turn - turn // TURNS - 1 if columns else turn
        # Conventions alternate, so that a few tasks meet both.
        abi = abis[(turn + listed // len(kernels)) % len(abis)]
        kernel = kernels[listed % len(kernels)]
        if columns and turn % TURNS == 0:
            kernel = draw(drawn, columns)
        yield Task(number, Original(kernel, abi, align))


def _columns(choice: Choice) -> Choice | None:
    """Return the choice that kernels with columns are drawn from, or None if the user asked for
    others.
    """
    asked = COLUMNS.name in choice.axes or not (choice.axes or choice.name)
    return with_columns(choice) if asked else None


@lru_cache(maxsize=64)
def _built(original: Original, objects: Path) -> Built[Point]:
    where = runnable(original.abi, table_align=original.table_align)
    (made,) = build([original.kernel], where, kernels_folder(), objects)
    return made


def _work(options: Options, task: Task) -> Outcome:
    built = _built(task.original, options.folder / "obj")
    data = built.obj.read_bytes()
    drawn = random.Random(f"{NAME} {options.seed} {task.number}")
    return attempt(options, task.number, built, mutant(data, drawn))


def attempt(options: Options, number: int, built: Built[Point], made: Mutant) -> Outcome:
    """Ask the prover about a mutant of a kernel, and run it if it is accepted."""
    spec = statement(built.kernel, built.kernel.name, built.abi, built.table_align)
    said = verdict(made.data, spec)
    title = f"{built.kernel.name}, {built.abi}: {made.change}"

    def finding(wrong: str) -> Outcome:
        files: dict[str, bytes | str] = {
            "object.o": made.data,
            "original.o": built.obj.read_bytes(),
            "statement.toml": statement_text(spec),
        }
        repeat = (
            "ghashgen prove-object object.o --spec statement.toml --run; as it was found: "
            f"{options.repeating(NAME, number)}"
        )
        return Outcome(findings=(Finding(title, wrong, repeat, files),))

    if said.late:
        return Outcome(not_run={f"no verdict in {SECONDS} s": 1})
    if said.stopped:
        return finding(f"the prover stopped: {said.stopped}")
    if said.refused:
        return Outcome(refused={said.refused: 1})
    ran = trial.run(made.data, built, options.folder, f"{NAME} {options.seed} {number}")
    if ran.not_run:
        return Outcome(not_run={ran.not_run: 1}, notes=(f"not run: {title}: {ran.why}",))
    if ran.wrong:
        return finding(f"proved, and wrong when run ({ran.how}): {ran.wrong}") + Outcome(
            calls=ran.calls
        )
    return Outcome(right=1, calls=ran.calls, notes=(f"equivalent: {title}",))


PART = Part(
    NAME,
    "kernels with faults in code, constants, relocations and headers; what is proved is run",
    _tasks,
    _work,
    together=_EACH,
)

"""Proves and runs kernels with random axes, most of them in no catalogue.

Many more kernels can be made on demand than are checked in, proved and validated. A draw picks
every axis at random, and is repeated if the axes do not fit together. A kernel that the axes allow
must be emitted, proved, and correct when run (`trial`). Kernels without a statement for the prover
are skipped and counted as such. Every third draw has columns, which the catalogue lacks.
"""

import random
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count
from typing import Any

from ghashgen.arch.registry import isas
from ghashgen.check.attack import trial
from ghashgen.check.attack.core import Finding, Options, Outcome, Part
from ghashgen.check.attack.verdict import verdict
from ghashgen.check.proofs import statement
from ghashgen.check.statements import statement_text
from ghashgen.kernels.axes import Axis, said
from ghashgen.kernels.core import Family, Point
from ghashgen.kernels.families import family_of, in_order
from ghashgen.kernels.hash import axes
from ghashgen.kernels.selection import Choice
from ghashgen.kernels.target import TABLE_ALIGNS, runnable
from ghashgen.run.built import build
from ghashgen.support.errors import GhashgenError
from ghashgen.support.paths import kernels_folder

NAME = "kernels"

SECONDS = 900
"""Time limit of a proof in seconds, many times what one takes on an idle core."""

COLUMNS = tuple(n for n in axes.COLUMNS.values() if n > 1)
"""Numbers of columns."""

TURNS = 3
"""One kernel in this many has columns."""

DRAWS = 10_000
"""Draws after which a choice is refused as leaving nothing to draw; most draws make no sense."""


@dataclass(frozen=True)
class Task:
    """One kernel, with its number and target."""

    number: int
    kernel: Point
    abi: str
    table_align: int

    @property
    def title(self) -> str:
        """The kernel's name and target."""
        return f"{self.kernel.name}, {self.abi}, table aligned to {self.table_align or 'default'}"

    @property
    def repeat(self) -> str:
        """The command that makes it."""
        axes = family_of(self.kernel).axes
        words = [axis.option(getattr(self.kernel, axis.name)) for axis in axes]
        words += [
            f"--abi {self.abi}",
            *([f"--table-align {self.table_align}"] * bool(self.table_align)),
        ]
        return f"ghashgen prove --family {self.kernel.family} {' '.join(words)}"


def families_of(choice: Choice) -> list[Family[Any]]:
    """Return the families that the choice allows and whose kernels can be run here."""
    return [
        family
        for family in in_order()
        if "trials" in family.facets
        and (not choice.family or family.name in choice.family)
        and choice.axes.keys() <= {axis.name for axis in family.axes}
    ]


def _values(axis: Axis, choice: Choice) -> tuple[Any, ...]:
    if axis.name in choice.axes:
        return choice.axes[axis.name]
    if axis.name == "isa":
        return tuple(isa.name for isa in isas().values() if isa.arch.proved)
    return tuple(axis.values())


def drawn(rng: random.Random, choice: Choice) -> Point:
    """Return a kernel with random axes; a number is the smaller of two draws.

    The family is drawn first, or one of few axes would win most draws. Options that are seldom
    told are left out in half of the draws: they fit little else.

    Raises:
        GhashgenError: no draw made sense.
    """
    families = families_of(choice)
    for family in rng.sample(families, len(families)):
        for _ in range(DRAWS):
            values = {}
            for axis in family.axes:
                known = _values(axis, choice)
                pair = rng.choice(known), rng.choice(known)
                rare = not axis.always_told and axis.default in known
                pick = axis.default if rare and rng.random() < 0.5 else pair[0]
                values[axis.name] = min(pair) if axis.is_number else pick
            try:
                kernel: Point = family.make(**values)
            except GhashgenError:
                continue
            return kernel
    asked = [said({axis: value}) for axis, values in choice.axes.items() for value in values]
    cause = f"no kernel is left to draw of {', '.join(asked) or 'these families'}"
    raise GhashgenError(cause, "choose fewer axes")


def with_columns(choice: Choice) -> Choice | None:
    """Return the choice limited to kernels with columns, or None if it allows none."""
    columns = tuple(n for n in choice.axes.get(axes.COLUMNS.name, COLUMNS) if n in COLUMNS)
    if not columns:
        return None
    narrow = choice.with_axes(columns=columns)
    try:
        drawn(random.Random(0), narrow)
    except GhashgenError:
        return None
    return narrow


def tasks(options: Options) -> Iterator[Task]:
    """Yield kernels endlessly, each once."""
    seen = set()
    narrow = with_columns(options.choice) or options.choice
    for number in count():
        rng = random.Random(f"{NAME} {options.seed} {number}")
        kernel = drawn(rng, options.choice if number % TURNS else narrow)
        task = Task(number, kernel, rng.choice(options.abis), rng.choice((0, 0, 0, *TABLE_ALIGNS)))
        key = (kernel, task.abi, task.table_align)
        if key not in seen:
            seen.add(key)
            yield task


def work(options: Options, task: Task) -> Outcome:
    """Emit a kernel, prove it, and run it."""
    files: dict[str, bytes | str] = {}

    def finding(wrong: str, calls: int = 0) -> Outcome:
        return Outcome(findings=(Finding(task.title, wrong, task.repeat, files),), calls=calls)

    kernel, align = task.kernel, task.table_align
    try:
        where = runnable(task.abi, table_align=align)
        (built,) = build([kernel], where, kernels_folder(), options.folder / "obj")
    except GhashgenError as refusal:
        return finding(f"the axes allow it, and it is not emitted: {refusal}")
    data = built.obj.read_bytes()
    files["object.o"] = data
    try:
        spec = statement(kernel, kernel.name, task.abi, built.table_align)
    except GhashgenError as refusal:
        return Outcome(not_run={"the prover has no statement of it": 1}, notes=(str(refusal),))
    files["statement.toml"] = statement_text(spec)
    found = verdict(data, spec, SECONDS, suspected=False)
    ran = trial.run(data, built, options.folder, f"{NAME} {options.seed} {task.number}")
    if ran.wrong:
        return finding(f"wrong when run ({ran.how}): {ran.wrong}", ran.calls)
    if found.stopped:
        return finding(f"the prover stopped: {found.stopped}", ran.calls)
    if found.refused:
        return finding(f"right when run, and not proved: {found.refused}", ran.calls)
    if found.late or ran.not_run:
        why = f"no verdict in {SECONDS} s" if found.late else ran.not_run
        return Outcome(not_run={why: 1}, calls=ran.calls, notes=(f"{why}: {task.title}",))
    return Outcome(right=1, calls=ran.calls, notes=(f"proved and right: {task.title}",))


PART = Part(NAME, "kernels of axes drawn at random: emitted, proved, and run", tasks, work)

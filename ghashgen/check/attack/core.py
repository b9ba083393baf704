"""The types of the attack: a part, and the outcome of its attempts.

A part is an iterator of tasks and a function that works on one:

    PART = Part("rows", "every row against a CPU", tasks, work)

`tasks(options)` yields picklable values in an order that depends only on the seed; it may be
endless. Random values come from `random.Random(f"rows {options.seed} {number}")`, so a task does
not depend on what ran before it. `work(options, task)` runs in a worker process and returns an
`Outcome`. Both must be functions of a module.

The driver (`ghashgen.check.attack.drive`) hands out tasks until the budget is spent, adds up
outcomes, keeps findings and stops on an interrupt.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any

from ghashgen.arch.x86_64.abi import ABIS
from ghashgen.kernels.selection import Choice

CONVENTIONS = tuple(ABIS)
"""The names of the calling conventions that can be attacked."""


@dataclass(frozen=True)
class Options:
    """Options that every part receives."""

    seed: int
    """Seed of everything random."""
    folder: Path
    """A folder in the cache for programs and objects. Tasks run in parallel, so a task must name
    its files by their content.
    """
    choice: Choice = field(default_factory=Choice)
    """The kernels that the user chose; empty if none. Parts without kernels ignore it."""
    abis: tuple[str, ...] = CONVENTIONS
    """The calling conventions to attack."""

    def repeating(self, part: str, number: int) -> str:
        """Return the command that repeats one task of a part."""
        return f"ghashgen attack --part {part} --seed {self.seed} --first {number} --count 1"


def numbered(options: Options) -> Iterator[int]:
    """Yield the numbers of tasks, without end."""
    return count()


@dataclass(frozen=True)
class Finding:
    """An object that the prover accepted and that is wrong when run, or an input that broke the
    prover.
    """

    title: str
    """A short name, such as "ghash_avx_k_clmul1_x8 update, bit 3 of byte 0x41 turned"."""
    wrong: str
    """What went wrong: "update of 33 bytes: got 00…, expected 66…"."""
    repeat: str
    """How to repeat it: a command line, or what to call with the files."""
    files: Mapping[str, bytes | str] = field(default_factory=dict)
    """The files needed, name -> content, such as object.o, statement.toml, input.bin."""


@dataclass(frozen=True)
class Outcome:
    """The outcome of some attempts. Each is counted in exactly one of the numbers."""

    refused: Mapping[str, int] = field(default_factory=dict)
    """Refused by the prover, or whatever was attacked; by category."""
    right: int = 0
    """Accepted, run, and never wrong."""
    not_run: Mapping[str, int] = field(default_factory=dict)
    """Neither refused nor run; by reason."""
    findings: tuple[Finding, ...] = ()
    calls: int = 0
    """Number of calls made for these attempts."""
    notes: tuple[str, ...] = ()
    """Lines for --verbose, such as the change in an accepted object."""

    @property
    def tried(self) -> int:
        """The number of attempts."""
        return (
            sum(self.refused.values())
            + self.right
            + sum(self.not_run.values())
            + len(self.findings)
        )

    def __add__(self, other: "Outcome") -> "Outcome":
        """Return the sum of both."""
        return Outcome(
            dict(Counter(self.refused) + Counter(other.refused)),
            self.right + other.right,
            dict(Counter(self.not_run) + Counter(other.not_run)),
            self.findings + other.findings,
            self.calls + other.calls,
            self.notes + other.notes,
        )


@dataclass(frozen=True)
class Part:
    """One kind of attack."""

    name: str
    purpose: str
    """One line for the help and the table."""
    tasks: Callable[[Options], Iterator[Any]]
    work: Callable[[Options, Any], Outcome]
    together: int = 1
    """Tasks handed to a worker at once; more than 1 if one takes milliseconds."""

"""What a part of the attack is, and what becomes of what it tries.

A part is an iterator of tasks and a function that works on one:

    PART = Part("rows", "every row against a CPU", tasks, work)

`tasks(options)` yields picklable values in an order that the seed alone decides; it may be endless,
and what is drawn at random is drawn from `random.Random(f"rows {options.seed} {number}")`, so that
a task is the same whatever ran before it. `work(options, task)` runs in a worker process and
returns an `Outcome`; both are functions of a module. The driver (`ghashgen.check.attack.drive`)
hands out tasks until the budget is spent, adds up outcomes, keeps findings and stops on an
interrupt.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ghashgen.arch.x86_64.abi import ABIS
from ghashgen.kernels.selection import Choice

CONVENTIONS = tuple(ABIS)
"""The names of the calling conventions that can be attacked."""


@dataclass(frozen=True)
class Options:
    """What every part is told."""

    seed: int
    """Everything that is drawn at random is drawn from it."""
    folder: Path
    """A folder in the cache for programs and objects; what a task leaves there it must name by its
    content, since tasks run side by side."""
    choice: Choice = field(default_factory=Choice)
    """The kernels that the user asked for; empty if none was. Parts without kernels ignore it."""
    abis: tuple[str, ...] = CONVENTIONS
    """The calling conventions to attack."""


@dataclass(frozen=True)
class Finding:
    """Something that the prover accepted and that is wrong when run, or that made it stumble."""

    title: str
    """What it is, short, such as "ghash_avx_k_clmul1_x8 update, bit 3 of byte 0x41 turned"."""
    wrong: str
    """What went wrong: "update of 33 bytes: got 00…, expected 66…"."""
    repeat: str
    """How to see it again: a command line, or what to call with the files."""
    files: Mapping[str, bytes | str] = field(default_factory=dict)
    """What it takes: file name -> content, such as object.o, statement.toml, input.bin."""


@dataclass(frozen=True)
class Outcome:
    """What became of some attempts: each is counted in exactly one of the numbers."""

    refused: Mapping[str, int] = field(default_factory=dict)
    """By the prover, or whatever was attacked; by category."""
    right: int = 0
    """Accepted, run, and never wrong."""
    not_run: Mapping[str, int] = field(default_factory=dict)
    """Neither refused nor run, by the reason."""
    findings: tuple[Finding, ...] = ()
    calls: int = 0
    """How often code was run for all this; no attempts of their own."""
    notes: tuple[str, ...] = ()
    """Lines for --verbose, such as what an accepted one had been changed in."""

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
        """Return both together."""
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
    """One way of attacking."""

    name: str
    purpose: str
    """One line, for the help and the table."""
    tasks: Callable[[Options], Iterator[Any]]
    work: Callable[[Options, Any], Outcome]
    together: int = 1
    """Tasks that are handed to a worker at once: more where one takes milliseconds."""

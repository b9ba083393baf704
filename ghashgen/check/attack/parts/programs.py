"""Small random programs that hash, or nearly; those that the prover accepts run at many lengths.

An accepted program runs on this CPU at every length up to 4 KiB, around every power of two up to
4 MiB, and, if it computes in fewer than 64 bits, at lengths just beyond 2^32.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from ghashgen.check.attack import program_run
from ghashgen.check.attack.core import Finding, Options, Outcome, Part, numbered
from ghashgen.check.attack.cpu import features_here
from ghashgen.check.attack.program_make import Program, program
from ghashgen.check.attack.program_run import Fate, Lengths, judge

AT_ONCE = 25
"""Programs in one object."""

FAR = ("width",)
"""Kinds of change whose accepted programs also run beyond 2^32."""


def convention(number: int, abis: Sequence[str]) -> str:
    """Return the calling convention of a program; they alternate."""
    return abis[number % len(abis)]


def finding(fate: Fate, seed: int, wrong: str) -> Finding:
    """Return the finding for a program."""
    made = fate.program
    return Finding(
        f"random program {made.name} ({made.kind})",
        wrong,
        f"ghashgen prove-object OBJECT --spec statement.toml; made by program({seed}, "
        f"{made.name[1:]}, {made.convention.name!r}) of ghashgen.check.attack.program_make",
        {"program.asm": program_run.source([made]), "statement.toml": program_run.as_toml(made)},
    )


def outcome(fates: Sequence[Fate], seed: int) -> Outcome:
    """Return the outcome for some programs."""
    refused: Counter[str] = Counter()
    not_run: Counter[str] = Counter()
    findings: list[Finding] = []
    right, tried, accepted = 0, Counter[str](), Counter[str]()
    for fate in fates:
        kind = fate.program.kind
        tried[kind] += 1
        accepted[kind] += fate.refutation is None
        if fate.refutation is not None:
            refused[str(fate.refutation.category)] += 1
        elif fate.wrong is not None:
            findings.append(finding(fate, seed, fate.wrong))
        elif fate.lacking is not None:
            not_run[fate.lacking] += 1
        else:
            right += 1
    shares = ", ".join(f"{kind} {accepted[kind]} of {tried[kind]}" for kind in sorted(tried))
    calls = sum(fate.calls for fate in fates)
    return Outcome(
        refused, right, not_run, tuple(findings), calls, (f"programs accepted: {shares}",)
    )


def attack(programs: Sequence[Program], features: frozenset[str], lengths: Lengths) -> list[Fate]:
    """Judge some programs; those of the kinds in FAR run further than the others."""
    far = replace(lengths, zeros=program_run.FAR)
    groups: dict[Lengths, list[Program]] = {}
    for one in programs:
        deep = lengths is program_run.LONG and one.kind in FAR and one.changed > 0
        groups.setdefault(far if deep else lengths, []).append(one)
    return [fate for how, some in groups.items() for fate in judge(some, features, how)]


def work(options: Options, task: int) -> Outcome:
    """Make, prove and run the programs of a task."""
    numbers = range(AT_ONCE * task, AT_ONCE * (task + 1))
    made = [program(options.seed, number, convention(number, options.abis)) for number in numbers]
    fates = attack(made, features_here(options.folder), program_run.LONG)
    return outcome(fates, options.seed)


PART = Part(
    "programs", "random small programs: accepted ones run at lengths of many turns", numbered, work
)

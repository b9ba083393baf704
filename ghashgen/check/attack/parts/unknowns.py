"""Compares arithmetic and flags of unknown lengths with every value that they may have."""

import random
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from ghashgen.check.attack import unknown_cases as cases
from ghashgen.check.attack.core import Finding, Options, Outcome, Part
from ghashgen.verify.x86_64.rows.table import code_name

INSTANCES = 40
"""Cases of a form in one task."""


@dataclass(frozen=True)
class Task:
    """One form of a round."""

    round: int
    code: int


def tasks(options: Options) -> Iterator[Task]:
    """Yield all forms, again and again with other operands."""
    number = 0
    while True:
        yield from (Task(number, code) for code in cases.codes())
        number += 1


def work(options: Options, task: Task) -> Outcome:
    """Run a form on unknowns and on each of their values."""
    name = code_name(task.code)
    rng = random.Random(f"unknowns {options.seed} {task.round} {name}")
    seen: Counter[str] = Counter()
    findings = []
    for _ in range(INSTANCES):
        case = cases.drawn(task.code, rng)
        wrong = cases.differences(case, seen)
        if wrong:
            text = f"{case.instruction}\n{case.gpr}\n{case.before}\n" + "\n".join(wrong) + "\n"
            findings.append(
                Finding(
                    f"unknown {name}: {case.instruction}",
                    "; ".join(wrong[:4]),
                    f"round {task.round} of the unknowns, seed {options.seed}",
                    {"unknown.txt": text},
                )
            )
    right = seen["run"] - len(findings)
    return Outcome({"unsupported": seen["refused"]}, right, {}, tuple(findings))


PART = Part(
    "unknowns", "arithmetic and flags of unknown lengths against brute force", tasks, work, 4
)

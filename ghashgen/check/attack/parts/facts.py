"""Compares arithmetic and flags of numbers with unknowns with every value that they may have."""

import random
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count

from ghashgen.check.attack import facts_cases as cases
from ghashgen.check.attack.core import Finding, Options, Outcome, Part
from ghashgen.check.attack.forms import codes
from ghashgen.verify.x86_64.rows.table import code_name

INSTANCES = 8
"""Cases of a form in one task, and questions to facts beside each."""


@dataclass(frozen=True)
class Task:
    """One form of a round."""

    round: int
    code: int


def tasks(options: Options) -> Iterator[Task]:
    """Return all forms, again and again with other operands."""
    return (Task(number, code) for number in count() for code in codes())


def work(options: Options, task: Task) -> Outcome:
    """Run a form on numbers with unknowns, and on each of their values."""
    name = code_name(task.code)
    rng = random.Random(f"facts {options.seed} {task.round} {name}")
    seen: Counter[str] = Counter()
    findings = []
    for _ in range(INSTANCES):
        case = cases.drawn(task.code, rng)
        wrong = cases.differences(case, seen) + cases.questions(rng, seen)
        if wrong:
            text = f"{case}\n" + "\n".join(wrong) + "\n"
            findings.append(
                Finding(
                    f"facts {name}: {case.instruction}",
                    "; ".join(wrong[:4]),
                    f"round {task.round} of the facts, seed {options.seed}",
                    {"facts.txt": text},
                )
            )
    refused = seen["refused"] + seen["refused on numbers"]
    return Outcome({"unsupported": refused}, seen["run"] - len(findings), {}, tuple(findings))


PART = Part(
    "facts", "arithmetic and flags of numbers with unknowns against brute force", tasks, work, 4
)
"""The part."""

"""Compares every row, run on variables and evaluated, with this CPU: registers, flags, masks,
memory, secrecy.
"""

import random
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import count

from iced_x86 import CpuidFeature, Instruction

from ghashgen.arch.x86_64.features import FEATURES
from ghashgen.check.attack import row_cases as cases
from ghashgen.check.attack.core import Finding, Options, Outcome, Part
from ghashgen.check.attack.cpu import features_here
from ghashgen.check.attack.row_run import After, Case, compare, drawn, on_cpu, row_result
from ghashgen.verify.core.refutation import Refutation
from ghashgen.verify.core.values import UndecidedError
from ghashgen.verify.machine.machine import Machine
from ghashgen.verify.x86_64.rows.table import code_name, rows

AT_ONCE = 40
"""Forms in one task."""

INSTANCES = 4
"""Instances of a form in one round."""

WIDEST = (
    ("zmm", 512, frozenset({"avx512f", "avx512bw", "avx512vl", "avx512dq"})),
    ("ymm", 256, frozenset({"avx"})),
    ("xmm", 128, frozenset[str]()),
)
"""Features that loading and storing registers of each kind needs."""

PIECES = "compared in pieces of code by tests/verify/test_verify_control.py"
"""Why jumps and the stack are not run here."""


@dataclass(frozen=True)
class Task:
    """Some forms of a round."""

    round: int
    codes: tuple[int, ...]


def tasks(options: Options) -> Iterator[Task]:
    """Return all forms, again and again with other operands."""
    codes = sorted(rows())
    groups = [tuple(codes[at : at + AT_ONCE]) for at in range(0, len(codes), AT_ONCE)]
    return (Task(number, some) for number in count() for some in groups)


@cache
def _feature_names() -> dict[int, str]:
    return {getattr(CpuidFeature, n): n.lower() for n in dir(CpuidFeature) if n[0].isupper()}


def needs(instruction: Instruction) -> set[str]:
    """Return the CPU features of an instruction, by the harness's names where it has one."""
    names = _feature_names()
    return {names[int(feature)] for feature in instruction.cpuid_features()}


def made(task: Task, seed: int, features: frozenset[str]) -> tuple[list[Case], Counter[str]]:
    """Return the cases of a task, and the numbers of those not run by reason."""
    out: list[Case] = []
    left: Counter[str] = Counter()
    vector = next(kind for kind, _, wanted in WIDEST if wanted <= features)
    for code in task.codes:
        rng = random.Random(f"rows {seed} {task.round} {code_name(code)}")
        found = list(cases.instances(code, rng.getrandbits(64), INSTANCES))
        if not found:
            left[PIECES] += 1
        for instruction, data in found:
            wanted = needs(instruction)
            missing = {name for name in wanted & set(FEATURES) if name not in features}
            if any(name.startswith("avx512") for name in wanted) and vector != "zmm":
                missing.add("avx512")
            if missing:
                left[f"this CPU lacks {', '.join(sorted(missing))}"] += 1
            else:
                out.append(drawn(instruction, data, rng))
    return out, left


def _asked(todo: Sequence[Case]) -> tuple[list[tuple[Case, Machine]], Counter[str]]:
    """Return the rows' results for the cases, and the numbers refused by category."""
    answered, refused = [], Counter[str]()
    for case in todo:
        try:
            answered.append((case, row_result(case)))
        except Refutation as refutation:
            refused[str(refutation.category)] += 1
        except UndecidedError:
            refused["undecided"] += 1
    return answered, refused


def _ran(todo: Sequence[Case], vector: str) -> list[tuple[After, After] | None]:
    """Return the CPU's result for each case, or None if it faults."""
    after = on_cpu([(case.data, state) for case in todo for state in case.states], vector)
    if after is not None:
        return list(zip(after[::2], after[1::2], strict=True))
    if len(todo) == 1:
        return [None]
    half = len(todo) // 2
    return [*_ran(todo[:half], vector), *_ran(todo[half:], vector)]


def attack(task: Task, seed: int, features: frozenset[str]) -> Outcome:
    """Compare the forms of a task and return the outcome."""
    todo, left = made(task, seed, features)
    answered, refused = _asked(todo)
    vector, width = next((kind, bits) for kind, bits, wanted in WIDEST if wanted <= features)
    findings = []
    right = 0
    ran = _ran([case for case, _ in answered], vector) if answered else []
    for (case, machine), after in zip(answered, ran, strict=True):
        if after is None:
            wrong = ["the CPU faults, the row goes on"]
        else:
            wrong = compare(case, machine, after, width)
        if wrong:
            findings.append(_finding(case, wrong, task, seed))
        else:
            right += 1
    return Outcome(refused, right, left, tuple(findings), 2 * len(answered))


def _finding(case: Case, wrong: Sequence[str], task: Task, seed: int) -> Finding:
    name = code_name(case.instruction.code)
    text = f"{case.instruction} ({case.data.hex()})\n" + "\n".join(wrong) + "\n"
    return Finding(
        f"row {name}: {case.instruction}",
        "; ".join(wrong[:4]),
        f"round {task.round} of the rows, seed {seed}",
        {"row.txt": text},
    )


def work(options: Options, task: Task) -> Outcome:
    """Compare the forms of a task."""
    return attack(task, options.seed, features_here(options.folder))


PART = Part("rows", "every row on variables and numbers against this CPU", tasks, work)

"""What threads of the runtime's C do, step by step, against the ways that the model of them has.

The C is given a mark before every access that threads_steps.py names, runs, and says in which order
each of its threads came by the marks: that must be a way through the model's steps.
"""

import subprocess
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path

import pytest
from helpers.threading_runtime import edited, runtime
from helpers.threads_machine import Machine, Moves, Setting, State, explore
from helpers.threads_model import SMALL, STEPS
from helpers.threads_steps import ACCESSES, SILENT, body

from ghashgen.support import programs
from ghashgen.support.toolchain import find_cc, link

DRIVER = Path(__file__).with_name("threads_traced.c")
FILE = "ghashgen_threads.c"
BEGIN = "begin"
MARKS = (BEGIN, *(step for steps in ACCESSES.values() for step, _ in steps))
"""By number: the beginning of a thread, then steps."""

Edges = Mapping[str, Mapping[str, frozenset[str]]]
"""By kind of thread and step: those that may be its next."""


class Watched(Machine):
    """Remembers which step comes behind which."""

    def __init__(self, setting: Setting) -> None:
        super().__init__(setting, STEPS)
        self.seen: set[tuple[str, str, str]] = set()

    def moves(self, s: State, t: int) -> Moves:
        kind = "caller" if t < self.callers else "worker"
        for new in super().moves(s, t):
            self.seen.add((kind, s.threads[t].at, new.threads[t].at))
            yield new


@cache
def edges() -> Edges:
    """The model's ways, without the steps that nothing in the C stands for."""
    seen = {
        ("worker", "asleep", "lock again"),
        ("caller", "waits", "lock again to wait"),
        ("caller", BEGIN, "call"),
        ("worker", BEGIN, "serve"),
    }
    # Two jobs of one caller, two callers that meet, two pieces, two workers.
    for setting in (SMALL[0], *(Setting(*s) for s in (((1, 1), 1, 1), ((2,), 1, 2), ((1,), 2, 1)))):
        machine = Watched(setting)
        assert not explore(machine).wrong
        seen |= machine.seen
    direct: dict[str, dict[str, set[str]]] = {"caller": {}, "worker": {}}
    for kind, at, then in seen:
        direct[kind].setdefault(at, set()).add(then)

    def heard(kind: str, at: str, passed: frozenset[str] = frozenset()) -> frozenset[str]:
        found: set[str] = set()
        for then in direct[kind].get(at, ()):
            if then not in SILENT:
                found.add(then)
            elif then not in passed:
                found |= heard(kind, then, passed | {then})
        return frozenset(found)

    return {kind: {at: heard(kind, at) for at in ways} for kind, ways in direct.items()}


def marked(text: str) -> str:
    """The C with a mark in every expression that stands for a step."""
    for function, steps in ACCESSES.items():
        old = new = body(function, text)
        for step, expression in steps:
            assert new.count(expression) == 1, expression
            start = new.index(expression)
            stop = start + len(expression)
            if "(" in expression and not expression.startswith("job->pieces"):
                stop = closed(new, new.index("(", start))
            mark = f"(STEP({MARKS.index(step)}), {new[start:stop]})"
            new = new[:start] + mark + new[stop:]
        assert text.count(old) == 1
        text = text.replace(old, new)
    return text


def closed(text: str, bracket: int) -> int:
    """The place behind what closes a bracket."""
    depth = 0
    for place in range(bracket, len(text)):
        depth += {"(": 1, ")": -1}.get(text[place], 0)
        if depth == 0:
            return place + 1
    raise AssertionError("a bracket is not closed")


def traces(
    folder: Path, files: Mapping[str, str], rounds: int, statuses: tuple[int, ...] = (0,)
) -> list[list[str]]:
    """For each thread its kind and its steps."""
    for name, text in files.items():
        (folder / name).write_text(marked(text) if name == FILE else text)
    cc = find_cc()
    options = ["-std=c11", "-O1", "-Wall", "-Wextra"]
    programs.compile_c(cc, DRIVER, folder / "traced.o", flags=options, include=(folder,))
    link(cc, [folder / "traced.o"], folder / "traced", flags=["-pthread"])
    answer = subprocess.run(
        [folder / "traced", str(rounds)], capture_output=True, text=True, check=False, timeout=120
    )
    assert answer.returncode in statuses, answer.stderr
    lines = (line.split() for line in answer.stdout.splitlines())
    return [[kind, *(MARKS[int(step)] for step in steps)] for kind, *steps in lines]


def astray(found: Iterable[list[str]]) -> set[tuple[str, str, str]]:
    """Steps behind which another came than the model has: by whom, behind which, which."""
    wrong = set()
    for kind, *steps in found:
        ways = edges()[kind]
        for at, then in zip([BEGIN, *steps], steps, strict=False):
            if then != BEGIN and then not in ways.get(at, ()):
                wrong.add((kind, at, then))
    return wrong


def test_threads_of_the_c_go_ways_of_the_model(tmp_path: Path) -> None:
    found = traces(tmp_path, runtime(), 60)
    assert astray(found) == set()
    # Whatever the machine: every caller had its calls, and every pool ended as it should.
    assert sum(1 for kind, *_ in found if kind == "caller") == 2 * 2 * 3 * (1 + 2 + 3)
    assert sum(steps.count("free") for steps in found) == 2 * 2 * 3 * 3
    passed = {step for steps in found for step in steps}
    always = ("who helps", "hold", "own piece", "combine", "wipe", "give back", "join", "serve")
    assert passed >= {*always, "begin to write the job", "end to hash", "done", "who waits"}


DRIFTS = {
    "looks who waits before it says done": (
        "    atomic_store(&result->done, number);\n    if (atomic_load(&pool->waiting)) {",
        "    int waits = atomic_load(&pool->waiting);\n"
        "    atomic_store(&result->done, number);\n    if (waits | 1) {",
    ),
    "gives the pool back between two jobs": (
        "            wipe(pool->results[i].y, BLOCK);\n        }\n",
        "            wipe(pool->results[i].y, BLOCK);\n        }\n"
        "        leave(pool);\n        while (!hold(pool))\n            ;\n",
    ),
    "looks for pieces once more": (
        "            wipe(pool->results[i].y, BLOCK);\n        }\n",
        "            wipe(pool->results[i].y, BLOCK);\n        }\n        help(pool);\n",
    ),
    "looks who sleeps before it publishes": (
        "    atomic_store(&pool->claims, claims);\n    if (atomic_load(&pool->sleepers) &&",
        "    unsigned asleep = atomic_load(&pool->sleepers);\n"
        "    atomic_store(&pool->claims, claims);\n    if (asleep &&",
    ),
    "wipes before it combines": (
        "            key->combine(x, pool->results[i].y, p);\n"
        "            wipe(pool->results[i].y, BLOCK);\n",
        "            wipe(pool->results[i].y, BLOCK);\n"
        "            key->combine(x, pool->results[i].y, p);\n",
    ),
}
"""Changes of the C that leave the model behind, by what it does then; none that waits for ever."""


@pytest.mark.parametrize("drift", DRIFTS)
def test_a_c_that_left_the_model_behind_is_noticed(tmp_path: Path, drift: str) -> None:
    assert astray(traces(tmp_path, edited(runtime(), *DRIFTS[drift]), 20, (0, 1)))

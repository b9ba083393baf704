"""Samples many kernels: degrees in worker processes, then runs in threads that wait for others."""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from queue import Queue

from ghashgen.check.sampled.control import Refused
from ghashgen.check.sampled.runs import emulated, natively
from ghashgen.check.sampled.subject import BITS, SEED, Plan, Sampled, Subject, plan
from ghashgen.run.emulate import Emulator
from ghashgen.run.harness import Harness
from ghashgen.support.errors import GhashgenError
from ghashgen.support.parallel import run, workers

_TOGETHER = 8
"""Kernels that share the points of one harness run."""


def _planned(subject: Subject) -> Plan | Refused:
    try:
        return plan(subject)
    except Refused as refusal:
        return refusal


def sample(
    subjects: Sequence[Subject],
    harness: Harness,
    emulators: Callable[[str], "Queue[Emulator] | None"],
    seed: str = SEED,
    on_done: Callable[[Sampled], None] = lambda result: None,
    bits: int = BITS,
) -> list[Sampled]:
    """Run every subject at random points, in `emulators` of its name if this CPU cannot run it.

    On this CPU there are enough points for `bits`.

    If a subject has no degree or the harness cannot run it, only that subject fails.
    """
    results: dict[str, Sampled] = {}

    def done(result: Sampled) -> None:
        results[result.name] = result
        on_done(result)

    planned: list[tuple[Subject, Plan]] = []
    for subject, p in zip(subjects, run(_planned, subjects), strict=True):
        if isinstance(p, Refused):
            done(_failed(subject, str(p)))
        else:
            planned.append((subject, p))
    with ThreadPoolExecutor(workers()) as pool:
        work = [
            pool.submit(_attempt, harness, group, emulators(group[0][0].name), seed, bits)
            for group in _groups(planned, lambda s: emulators(s.name) is not None)
        ]
        try:
            for future in work:
                for result in future.result():
                    done(result)
        except BaseException:
            pool.shutdown(wait=True, cancel_futures=True)
            raise
    return [results[subject.name] for subject in subjects]


def _failed(subject: Subject, why: str) -> Sampled:
    return Sampled(subject.name, "not run", 0, 0.0, "", 0, (why,))


_Group = list[tuple[Subject, Plan]]


def _groups(
    planned: Sequence[tuple[Subject, Plan]], alone: Callable[[Subject], bool]
) -> list[_Group]:
    """Group subjects that share points; the longest runs come first."""
    together: dict[object, _Group] = {}
    for subject, p in planned:
        key: object = subject.name
        if not alone(subject):
            key = (subject.op, subject.order, subject.structure, p.highest)
        together.setdefault(key, []).append((subject, p))
    groups = [
        group[i : i + _TOGETHER]
        for group in together.values()
        for i in range(0, len(group), _TOGETHER)
    ]
    return sorted(groups, key=lambda g: (-g[0][1].highest, -g[0][0].bound, g[0][0].name))


def _attempt(
    harness: Harness, group: _Group, free: "Queue[Emulator] | None", seed: str, bits: int
) -> list[Sampled]:
    subjects, plans = [subject for subject, _ in group], [p for _, p in group]
    try:
        if free is not None:
            return [emulated(harness, free, *group[0], seed=seed)]
        return natively(harness, subjects, plans, seed, bits)
    except GhashgenError as error:
        return [_failed(subject, str(error)) for subject in subjects]

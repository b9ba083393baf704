"""A call of a function, what must come of it, and whether it did."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby, islice
from typing import Any

from ghashgen.check.validation.runners import Runner
from ghashgen.kernels.core import Function
from ghashgen.kernels.families import functions_of
from ghashgen.kernels.gcm.kernel import GcmKernel
from ghashgen.run.arguments import Answer, Arguments, Memory, Values, arguments, in_place
from ghashgen.run.built import Built

CONTEXT = "ctx"


@dataclass(frozen=True)
class Part:
    """What must stand in the memory of a parameter, from a byte of it on."""

    name: str
    wanted: bytes
    at: int = 0

    def wrong(self, answer: Answer) -> str:
        """Say how the memory differs, "" if it does not."""
        got = answer[self.name][self.at : self.at + len(self.wanted)]
        if got == self.wanted:
            return ""
        pairs = enumerate(zip(got, self.wanted, strict=True))
        first = next(i for i, (a, b) in pairs if a != b)
        few = slice(first, first + 16)
        return (
            f"{self.name} from byte {self.at + first} on: got {got[few].hex()}, "
            f"expected {self.wanted[few].hex()}"
        )


@dataclass(frozen=True)
class Trial:
    """One call under a key; the context is what init makes of the key."""

    function: str
    what: str
    key: bytes
    given: Values
    """By the names of parameters, all but the context."""
    parts: Sequence[Part]
    result: int | None = None
    """What must be returned, None of a function that returns nothing."""
    in_place: bool = False
    said: Mapping[str, int] = field(default_factory=dict)
    """Numbers that are passed instead of the bytes that a buffer has."""
    zeros: Mapping[str, int] = field(default_factory=dict)
    """Zero bytes after what is given, by the names of parameters."""

    def arguments(
        self, built: Built[GcmKernel], function: Function[Any], context: bytes | None
    ) -> Arguments:
        """Return the arguments; without a context there is garbage in its place.

        A function that takes none gets none.
        """
        taken = any(param.name == CONTEXT for param in function.params)
        given = {**self.given, CONTEXT: context} if taken and context is not None else self.given
        made = arguments(function, given, built.kernel.layout.size, built.table_align)
        if self.in_place:
            made = in_place(function, made)
        if not self.zeros and not self.said:
            return made
        names = [param.name for param in function.params]
        return tuple(
            replace(x, zeros=self.zeros.get(n, 0)) if isinstance(x, Memory) else self.said.get(n, x)
            for n, x in zip(names, made, strict=True)
        )

    def wrong(self, answer: Answer) -> Iterator[str]:
        """Yield what is wrong with an answer."""
        yield from filter(None, (part.wrong(answer) for part in self.parts))
        if answer.result != self.result:
            yield f"returned {answer.result}, expected {self.result}"

    def __str__(self) -> str:
        return f"{self.function} of {self.what}{', in place' if self.in_place else ''}"


AT_ONCE = 1024
"""Trials that are made before their answers are looked at."""


def together(trials: Iterable[Trial]) -> Iterator[list[Trial]]:
    """Yield trials by AT_ONCE, so that few are held at a time."""
    left = iter(trials)
    while some := list(islice(left, AT_ONCE)):
        yield some


def faults(runner: Runner, built: Built[GcmKernel], trials: Sequence[Trial]) -> Iterator[str]:
    """Make the calls and yield what is wrong, one line a call.

    Raises:
        GhashgenError: a call faults, writes beside its buffers or violates the convention.
    """
    contexts, exported = _contexts(runner, built, trials), functions_of(built.kernel)
    for function, group in groupby(trials, lambda trial: trial.function):
        some, own = list(group), exported[function]
        calls = [trial.arguments(built, own, contexts.get(trial.key)) for trial in some]
        for trial, answer in zip(some, runner.answers(built, function, calls), strict=True):
            if found := list(trial.wrong(answer)):
                yield f"{trial}: {'; '.join(found)}"


def calls(
    runner: Runner, built: Built[GcmKernel], trials: Mapping[str, Sequence[Trial]]
) -> dict[str, list[Arguments]]:
    """Return the calls of trials, by the names of functions."""
    contexts = _contexts(runner, built, [trial for some in trials.values() for trial in some])
    exported = functions_of(built.kernel)
    return {
        name: [trial.arguments(built, exported[name], contexts[trial.key]) for trial in some]
        for name, some in trials.items()
    }


def _contexts(
    runner: Runner, built: Built[GcmKernel], trials: Sequence[Trial]
) -> dict[bytes, bytes]:
    """Return what init makes of the keys of all functions but init."""
    keys = list(dict.fromkeys(trial.key for trial in trials if trial.function != "init"))
    answers = runner.calls(built, "init", [{"key": key} for key in keys])
    return {key: answer[CONTEXT] for key, answer in zip(keys, answers, strict=True)}

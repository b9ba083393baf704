"""A call of a function, its expected results, and the comparison."""

import re
import time
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby, islice
from typing import Any

from ghashgen.check.validation.cases import tail_bound
from ghashgen.check.validation.outcome import Validation
from ghashgen.check.validation.runners import Runner
from ghashgen.kernels.core import Function, Table, Word
from ghashgen.run.arguments import Answer, Arguments, Memory, Values, in_place
from ghashgen.run.built import Built
from ghashgen.run.callee import Callee, arguments_of
from ghashgen.support.errors import GhashgenError

INIT = "init"
"""The function that fills the table."""


@dataclass(frozen=True)
class Part:
    """Expected content of a parameter's memory, from one of its bytes on."""

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
    """One call under a key; the table is init's result for the key."""

    function: str
    what: str
    key: bytes
    given: Values
    """Values by the names of parameters, except the table."""
    parts: Sequence[Part]
    result: int | None = None
    """Expected return value; None for a function that returns nothing."""
    in_place: bool = False
    said: Mapping[str, int] = field(default_factory=dict)
    """Numbers passed instead of the buffers' actual lengths, or of a buffer's address."""
    zeros: Mapping[str, int] = field(default_factory=dict)
    """Zero bytes to append to the given values, by parameter."""
    pointers: Mapping[str, Sequence[tuple[int, Memory]]] = field(default_factory=dict)
    """Places that hold the addresses of other buffers (`Memory.pointers`), by parameter."""
    at_start: bool = False
    """Whether buffers begin just behind a forbidden page, instead of ending before one."""

    def arguments(self, callee: Callee, table: bytes | None) -> Arguments:
        """Return the arguments; without a table, its place holds garbage.

        A function without a table parameter gets none.
        """
        own = callee.exported[self.function]
        function, name = own.function, table_of(own.function)
        given = {**self.given, name: table} if name and table is not None else self.given
        made = arguments_of(callee, self.function, given)
        if self.in_place:
            made = in_place(function, made)
        if self.at_start:
            made = tuple(
                replace(x, gap=0, at_start=True) if isinstance(x, Memory) else x for x in made
            )
        names = [param.name for param in function.params]
        return tuple(
            self.said.get(n, self._with_more(n, x) if isinstance(x, Memory) else x)
            for n, x in zip(names, made, strict=True)
        )

    def _with_more(self, name: str, memory: Memory) -> Memory:
        pointers = self.pointers.get(name, ())
        return replace(memory, zeros=self.zeros.get(name, 0), pointers=pointers)

    def wrong(self, answer: Answer) -> Iterator[str]:
        """Yield what is wrong with an answer."""
        yield from filter(None, (part.wrong(answer) for part in self.parts))
        if answer.result != self.result:
            yield f"returned {answer.result}, expected {self.result}"

    def __str__(self) -> str:
        return f"{self.function} of {self.what}{', in place' if self.in_place else ''}"


AT_ONCE = 1024
"""Trials to run before their answers are checked."""


def together(trials: Iterable[Trial]) -> Iterator[list[Trial]]:
    """Yield trials in lists of AT_ONCE, to limit memory."""
    left = iter(trials)
    while some := list(islice(left, AT_ONCE)):
        yield some


def table_of(function: Function[Any]) -> str:
    """Return the name of the table parameter, or ""."""
    return next((p.name for p in function.params if isinstance(p.size, Table)), "")


def run(runner: Runner, callee: Callee, trials: Iterable[Trial]) -> tuple[int, list[str]]:
    """Make the calls until some are wrong; return the number of calls, and what was wrong.

    Raises:
        GhashgenError: as `faults`.
    """
    made = 0
    for some in together(trials):
        made += len(some)
        if wrong := list(faults(runner, callee, some)):
            return made, wrong
    return made, []


def validated(
    runner: Runner,
    built: Built[Any],
    every: Iterable[Iterable[Trial]],
    suites: Container[str],
    placed: Callable[[], dict[str, list[Arguments]]] = dict,
) -> Validation:
    """Validate one kernel by the trials of its functions, and by calls at every place.

    A function that is not in `suites` has no trials, which is a failure. `placed` returns more
    calls to make at every place.
    """
    start, cases = time.perf_counter(), 0
    failures = [f"nothing validates {name}" for name in built.exported if name not in suites]
    try:
        for some in every:
            made, found = run(runner, built, some)
            cases += made
            failures += found
        failures += runner.check(built, placed())
    except GhashgenError as error:
        failures.append(str(error))
    kernel = built.kernel
    return Validation(
        name=kernel.name,
        isa=kernel.isa,
        how=runner.how,
        cases=cases,
        longest_tail=tail_bound(kernel.blocks),
        seconds=time.perf_counter() - start,
        failures=tuple(failures),
    )


def faults(runner: Runner, callee: Callee, trials: Sequence[Trial]) -> Iterator[str]:
    """Make the calls and yield what is wrong, one line for each call.

    Raises:
        GhashgenError: a call faults, writes beside its buffers or violates the convention.
    """
    tables = _tables(runner, callee, trials)
    for function, group in groupby(trials, lambda trial: trial.function):
        made = [(trial, trial.arguments(callee, tables.get(trial.key))) for trial in group]
        some = [(trial, call) for trial, call in made if callee.exported[function].takes(call)]
        for trial, answer in _answers(runner, callee, function, some):
            if found := list(trial.wrong(answer)):
                yield f"{trial}: {'; '.join(found)}"


def _answers(
    runner: Runner, callee: Callee, function: str, some: Sequence[tuple[Trial, Arguments]]
) -> Iterator[tuple[Trial, Answer]]:
    """Yield the answers; an error of a stopped call describes the trial instead of its number."""
    try:
        answers = runner.answers(callee, function, [call for _, call in some])
    except GhashgenError as stopped:
        found = re.search(r"\bcall (\d+), ([^:]*): (.*)", stopped.cause)
        if found is None:
            raise
        trial, _ = some[int(found[1])]
        raise GhashgenError(f"{trial}: {found[3]}", stopped.remedy) from None
    for (trial, _), answer in zip(some, answers, strict=True):
        yield trial, answer


def calls(
    runner: Runner, callee: Callee, trials: Mapping[str, Sequence[Trial]]
) -> dict[str, list[Arguments]]:
    """Return the calls of trials, by function."""
    tables = _tables(runner, callee, [trial for some in trials.values() for trial in some])
    return {
        name: [trial.arguments(callee, tables[trial.key]) for trial in some]
        for name, some in trials.items()
    }


def _tables(runner: Runner, callee: Callee, trials: Sequence[Trial]) -> Mapping[bytes, bytes]:
    """Return the tables that all functions but init need, as init fills them.

    For an object without init they follow from its statement.
    """
    keys = list(dict.fromkeys(trial.key for trial in trials if trial.function != INIT))
    if INIT not in callee.exported:
        return {key: callee.table(key) for key in keys}
    init = callee.exported[INIT].function
    filled = table_of(init)
    if not filled:
        return {}
    others = (p.name for p in init.params if p.name != filled and not isinstance(p.size, Word))
    (given,) = others
    answers = runner.calls(callee, INIT, [{given: key} for key in keys])
    return {key: answer[filled] for key, answer in zip(keys, answers, strict=True)}

"""Unwind information for assemblers that have no directives for it: data behind the code.

The compiler says by directives of the IR where a function's frame changes. GNU as takes them one by
one. Here a label marks each such place, and sections after the code describe the places, so the
assembler computes all distances.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from itertools import count, groupby

from ghashgen.ir.program import Directive, Label, Line

PLACE = "frame"
"""The beginning of the labels."""


def is_label(symbol: str) -> bool:
    """Return whether a symbol is such a label in an object file."""
    return bool(re.fullmatch(rf".+\.{PLACE}\d+", symbol))


@dataclass(frozen=True)
class Step:
    """A place in a function where its frame changes, and how."""

    label: str
    changes: tuple[Directive, ...]


@dataclass(frozen=True)
class Tables:
    """How an object format describes frames."""

    codes: frozenset[str]
    """The directives that it needs."""
    write: Callable[[Mapping[str, tuple[Step, ...]]], tuple[str, ...]]
    """(steps of each function, by symbol) → the lines of the sections."""

    def labelled(self, lines: Iterable[Line]) -> tuple[Line, ...]:
        """Return a function's lines with a label at each place where its frame changes."""
        out, numbers = list[Line](), count(1)
        for changes, run in groupby(lines, self._changes):
            if changes:
                out.append(Directive("label", (Label(f"{PLACE}{next(numbers)}"), 0)))
            out.extend(run)
        return tuple(out)

    def steps(self, lines: Iterable[Line]) -> tuple[Step, ...]:
        """Return the changes of a function's frame in order, with the labels that they get."""
        runs = (
            tuple(line for line in run if isinstance(line, Directive))
            for changes, run in groupby(lines, self._changes)
            if changes
        )
        return tuple(Step(f"{PLACE}{number}", run) for number, run in enumerate(runs, 1))

    def _changes(self, line: Line) -> bool:
        return isinstance(line, Directive) and line.code in self.codes

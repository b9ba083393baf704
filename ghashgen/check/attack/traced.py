"""Certificates that are checked run by run, and a changed object by the runs that meet the change.

A run is one from the entry or an assertion to the next cuts, under one size of a key. It depends on
the bytes of the instructions that it comes to and on no others. So a run that the rules accept in
one object they accept in another that differs elsewhere.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from ghashgen.verify.checking import residues
from ghashgen.verify.core.linear import Case
from ghashgen.verify.core.refutation import Refutation, unsupported
from ghashgen.verify.core.values import UndecidedError
from ghashgen.verify.machine.image import Image
from ghashgen.verify.rules.assertion import read_certificate
from ghashgen.verify.rules.check import Checker
from ghashgen.verify.rules.state import State
from ghashgen.verify.statements.core import sizes_of

ENTRY = "entry"

Run = tuple[str, str, str]
"""The size of a key, the stack pointer modulo 64 or "", and where it begins."""


class Tracing(Checker):
    """Checks single runs, and notes to which instructions they come."""

    reached: frozenset[int] = frozenset()

    def step(self, state: State, address: int) -> int:
        """Execute one instruction, and note it."""
        self.reached |= {address}
        return super().step(state, address)

    def begun(self, name: str) -> int:
        """Check the run from the entry, or from an assertion; return how many steps it takes.

        Raises:
            Refutation: something is not shown.
        """
        self.reached, before = frozenset(), self.steps
        self.target.check_entry(self.image, self.meaning.symbol)
        try:
            if name == ENTRY:
                for state in self.entries():
                    self.run(state, self.entry, None)
            else:
                self.begin()
                a = self.assertions[name]
                for state in self.state(a).each((Case(),)):
                    self.run(state, self.entry + a.at, a)
        except UndecidedError as error:
            raise unsupported(f"not decided: {error}") from None
        except RecursionError:
            raise unsupported("its values are more than fits here") from None
        return self.steps - before


def _cases(spec: Any, certificate: Any) -> Iterator[tuple[str, str, Any, Any]]:
    """Yield the parts of a certificate: the size of a key, where the stack is, statement, part."""
    for size, one in (sizes_of(spec) or {"": spec}).items():
        part = certificate["keys"][size] if size else certificate
        for at, case in part.get("stack", {"": part}).items():
            yield size, at, one, case


@dataclass(frozen=True)
class Traced:
    """A right object, a function of it, and the certificate of that."""

    image: Image
    spec: Any
    function: Any
    certificate: Any

    @cached_property
    def reached(self) -> Mapping[Run, tuple[int, frozenset[int]]]:
        """How many steps each run takes, and to which instructions it comes; the shortest first."""
        found = {}
        for size, at, checker in self._checkers(self.image, self.certificate):
            for name in (ENTRY, *checker.assertions):
                found[size, at, name] = checker.begun(name), checker.reached
        return dict(sorted(found.items(), key=lambda item: item[1][0]))

    def _checkers(self, image: Image, certificate: Any) -> Iterator[tuple[str, str, Tracing]]:
        for size, at, one, case in _cases(self.spec, certificate):
            align = residues(image.target).get(at)
            assertions = read_certificate(case)
            yield size, at, Tracing(image, one.meaning(self.function), assertions, align)

    def refuted(self, image: Image, said: Any, changed: frozenset[int]) -> Refutation | None:
        """Return why a certificate is refused of an object with some other instructions.

        None: no run of it is, so far as it differs from the right one or meets what is changed.
        """
        right = {(size, at): case for size, at, _, case in _cases(self.spec, self.certificate)}
        lies = {(size, at): case for size, at, _, case in _cases(self.spec, said)
                if case != right[size, at]}  # fmt: skip
        try:
            checkers = {(size, at): one for size, at, one in self._checkers(image, said)}
            for size, at, name in self._order(checkers, right, lies, changed):
                checkers[size, at].begun(name)
        except Refutation as error:
            return error
        return None

    def _order(
        self, checkers: Mapping[tuple[str, str], Tracing], right: Mapping[tuple[str, str], Any],
        lies: Mapping[tuple[str, str], Any], changed: frozenset[int],
    ) -> list[Run]:  # fmt: skip
        """Return the runs that may not be what they were: first those that begin with a lie."""
        first, then = list[Run](), [run for run, (_, reached) in self.reached.items()
                                    if run[:2] in lies or changed & reached]  # fmt: skip
        for place, case in lies.items():
            was, said = right[place]["assertions"], case["assertions"]
            first += [(*place, name) for name in said if said[name] != was.get(name)]
        known = {run for run in then if run[2] == ENTRY or run[2] in checkers[run[:2]].assertions}
        return [*first, *(run for run in then if run in known and run not in first)]

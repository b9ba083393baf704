"""Proves a function by certificates: given ones, or ones that a search proposes.

    certified = Certified(given, Searching.WHERE_REFUSED)
    proof = prove_object(obj, spec, prove=certified.prove)
    certified.found

The rules decide (`ghashgen.verify.checking`), whoever wrote a certificate. The search can only fail
to find one. A function that the rules do not cover is proved as before (`uncovered`).
"""

import json
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import Any

from ghashgen.verify.checking import NOTHING, Way, check_way
from ghashgen.verify.chosen import LENGTH, at_lengths, telling
from ghashgen.verify.core.refutation import Category, Refutation, unsupported
from ghashgen.verify.engine.family import Function, Statement
from ghashgen.verify.meaning.function import Function as Meaning
from ghashgen.verify.meaning.ways import calls_of, ways_of
from ghashgen.verify.theorems import FunctionProof, Theorem, theorems_of
from ghashgen.verify.uncovered import prove_function
from ghashgen.verify.x86_64.elf import Image


class Searching(Enum):
    """Where certificates are searched."""

    NOWHERE = auto()
    WHERE_NONE_IS_GIVEN = auto()
    """For functions of which no certificate is given."""
    WHERE_REFUSED = auto()
    """Also where a given one is missing or refused."""


Calls = Mapping[str, Callable[[], Meaning]]


@dataclass(frozen=True)
class Certified:
    """A way to prove functions by certificates."""

    given: Mapping[str, object] = field(default_factory=dict)
    """Certificates by their names (`ghashgen.verify.meaning.ways`)."""
    searching: Searching = Searching.WHERE_NONE_IS_GIVEN
    found: dict[str, Any] = field(default_factory=dict)
    """The certificates that were accepted."""
    searched: list[str] = field(default_factory=list)
    """The names of those that were searched."""

    def prove(
        self, image: Image, spec: Statement, function: Function, lengths: list[int] | None = None
    ) -> FunctionProof:
        """Prove one function.

        Raises:
            Refutation: it is not proved.
        """
        began = time.perf_counter()
        try:
            calls = calls_of(spec, function)
        except Refutation:
            return prove_function(image, spec, function, lengths)
        all_lengths = lengths is None or LENGTH not in next(iter(calls.values()))().numbers
        try:
            if all_lengths:
                shown = dict.fromkeys(calls, self._by_certificate(image, spec, function, calls))
            else:
                shown = {how: at_lengths(image, call, lengths or []) for how, call in calls.items()}
        except Refutation as error:
            error.symbol = function.symbol
            if error.category is Category.UNSUPPORTED and function.symbol in self.searched:
                return prove_function(image, spec, function, lengths)
            raise
        method = "certificate" if all_lengths else "execution"
        return FunctionProof(
            function.symbol,
            function.operation,
            tuple(
                Theorem(what, function.symbol, way.numbers, method + how)
                for how, way in shown.items()
                for what in theorems_of(spec)
            ),
            sum(way.steps for way in {id(way): way for way in shown.values()}.values()),
            time.perf_counter() - began,
        )

    def _by_certificate(
        self, image: Image, spec: Statement, function: Function, calls: Calls
    ) -> Way:
        """Return what was checked of a function, by the certificate given or by a searched one."""
        name, meaning = function.symbol, next(iter(calls.values()))
        if name in self.given:
            try:
                return self._checked(image, name, meaning, self.given[name])
            except Refutation as error:
                if self.searching is not Searching.WHERE_REFUSED:
                    raise _said(f"the certificate of {name} is refused", error) from None
        elif self.searching is Searching.NOWHERE:
            raise unsupported(f"no certificate of {name}")
        self.searched.append(name)
        return self._searched(image, spec, name, calls)

    def _checked(
        self, image: Image, name: str, meaning: Callable[[], Meaning], certificate: object
    ) -> Way:
        way = check_way(image, meaning, certificate)
        self.found[name] = certificate
        return way

    def _searched(self, image: Image, spec: Statement, name: str, calls: Calls) -> Way:
        """Check proposed certificates until one is accepted."""
        # Who only checks does not even load the search.
        from ghashgen.verify.search.kernel import proposed

        meaning = next(iter(calls.values()))
        refused: Refutation | None = None
        try:
            for data in proposed(image, spec, meaning):
                # As it would be read from a file: plain data, which the search keeps no hold of.
                certificate = json.loads(json.dumps(data))
                try:
                    return self._checked(image, name, meaning, certificate)
                except Refutation as error:
                    refused = error
                    if certificate != NOTHING:
                        refused = _said("no certificate is found, the last is refused", error)
        except Refutation as error:
            refused = refused or error
        refused = refused or unsupported("search: no certificate")
        for call in calls.values():
            refused = telling(image, getattr(spec, "blocks", 1), call, refused)
            if refused.category is not Category.UNSUPPORTED:
                break
        raise refused


def _said(what: str, error: Refutation) -> Refutation:
    """Return that a certificate is refused, which says nothing against the function."""
    out = unsupported(f"{what}: {error.message}", error.at)
    out.instruction = error.instruction
    return out


def names_of(spec: Statement) -> frozenset[str]:
    """Return the names of all certificates that a statement may need."""
    names: set[str] = set()
    for function in spec.functions:
        with suppress(Refutation):
            names |= ways_of(spec, function).keys()
    return frozenset(names)

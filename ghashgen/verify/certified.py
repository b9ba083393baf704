"""Proves a function by certificates: given ones, or ones that a search proposes.

    certified = Certified(given, Searching.WHERE_REFUSED)
    proof = prove_object(obj, spec, prove=certified.prove)
    certified.found

The rules decide (`ghashgen.verify.checking`), whoever wrote a certificate. The search can only fail
to find one.
"""

import json
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import Any

from ghashgen.verify.checking import NOTHING, Way, check_way
from ghashgen.verify.chosen import LENGTH, at_lengths
from ghashgen.verify.core.refutation import Category, Refutation, unsupported
from ghashgen.verify.machine.image import Image
from ghashgen.verify.meaning.function import Function as Meaning
from ghashgen.verify.statements.core import Function, Statement
from ghashgen.verify.theorems import FunctionProof, Theorem, theorems_of


class Searching(Enum):
    """Where certificates are searched."""

    NOWHERE = auto()
    WHERE_NONE_IS_GIVEN = auto()
    """For functions of which no certificate is given."""
    WHERE_REFUSED = auto()
    """Also where a given one is missing or refused."""


@dataclass(frozen=True)
class Certified:
    """A way to prove functions by certificates."""

    given: Mapping[str, object] = field(default_factory=dict)
    """Certificates by the symbols of their functions."""
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

        def meaning() -> Meaning:
            return spec.meaning(function)

        try:
            own = meaning()
            all_lengths = lengths is None or LENGTH not in own.numbers
            if all_lengths:
                way = self._by_certificate(image, spec, function.symbol, meaning)
            else:
                way = at_lengths(image, meaning, lengths or [])
        except Refutation as error:
            error.symbol = function.symbol
            raise
        method = "certificate" if all_lengths else "execution"
        one_buffer = any(buffer.over for buffer in own.buffers.values())
        calls = (", apart", ", in place") if one_buffer else ("",)
        return FunctionProof(
            function.symbol,
            function.operation,
            tuple(
                Theorem(what, function.symbol, way.numbers, method + how)
                for how in calls
                for what in theorems_of(spec)
            ),
            way.steps,
            time.perf_counter() - began,
        )

    def _by_certificate(
        self, image: Image, spec: Statement, name: str, meaning: Callable[[], Meaning]
    ) -> Way:
        """Return what was checked of a function, by the certificate given or by a searched one."""
        if name in self.given:
            try:
                return self._checked(image, name, meaning, self.given[name])
            except Refutation as error:
                if self.searching is not Searching.WHERE_REFUSED:
                    raise _said(f"the certificate of {name} is refused", error) from None
        elif self.searching is Searching.NOWHERE:
            raise unsupported(f"no certificate of {name}")
        self.searched.append(name)
        return self._searched(image, spec, name, meaning)

    def _checked(
        self, image: Image, name: str, meaning: Callable[[], Meaning], certificate: object
    ) -> Way:
        way = check_way(image, meaning, certificate)
        self.found[name] = certificate
        return way

    def _searched(
        self, image: Image, spec: Statement, name: str, meaning: Callable[[], Meaning]
    ) -> Way:
        """Check proposed certificates until one is accepted."""
        # Who only checks does not even load the search.
        from ghashgen.verify.search.kernel import proposed
        from ghashgen.verify.search.telling import BRIEF, tried

        blocks = getattr(spec, "blocks", 1)
        # The search of a function with several lengths may take long: first a look at a few runs.
        several = len(meaning().numbers) > 1
        wrong = tried(image, blocks, meaning, BRIEF) if several else None
        if wrong is not None and wrong.category is not Category.UNSUPPORTED:
            raise wrong
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
        wrong = tried(image, blocks, meaning)
        # That a run is not followed says less than what a certificate shows to be wrong.
        if wrong is None or refused.category is not wrong.category is Category.UNSUPPORTED:
            raise refused
        raise wrong


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
            spec.meaning(function)
            names.add(function.symbol)
    return frozenset(names)

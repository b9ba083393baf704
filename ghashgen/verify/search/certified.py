"""Certificates of a function, given ones or ones that are searched, until one is accepted.

    certified = Certified(given, Searching.WHERE_REFUSED)
    proof = prove_object(obj, spec, certified.search)
    certified.found

Nothing here is trusted: whoever proves gives `check`, and counts only what that has accepted.
"""

import json
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from enum import Enum, auto
from functools import cache
from pathlib import Path
from typing import Any, Protocol

from ghashgen.verify.checking import NOTHING, SCHEMA, check_function, check_sizes
from ghashgen.verify.core.refutation import Category, Refutation, unsupported
from ghashgen.verify.machine.image import Image
from ghashgen.verify.statements.core import Function, Statement, one_size, sizes_of
from ghashgen.verify.x86_64.elf import load_image

_LAST = "no certificate is found, the last is refused"

Check = Callable[[object], object]
"""Checks a certificate; raises a Refutation if it is refused."""


class Shelf(Protocol):
    """Holds data by names."""

    def get(self, name: str, /) -> Any: ...  # noqa: D102
    def put(self, name: str, data: object, /) -> None: ...  # noqa: D102


class Searching(Enum):
    """Where certificates are searched."""

    NOWHERE = auto()
    WHERE_NONE_IS_GIVEN = auto()
    """For functions of which no certificate is given."""
    WHERE_REFUSED = auto()
    """Also where a given one is missing or refused."""


@dataclass(frozen=True)
class Certified:
    """Where the certificates of functions come from, and which ones were accepted."""

    given: Mapping[str, object] = field(default_factory=dict)
    """Certificates by the symbols of their functions."""
    searching: Searching = Searching.WHERE_NONE_IS_GIVEN
    found: dict[str, Any] = field(default_factory=dict)
    """The certificates that were accepted."""
    searched: list[str] = field(default_factory=list)
    """The names of those that were searched."""
    like: Shelf | None = None
    """Where certificates of functions like these are, and accepted ones are put."""

    def search(self, image: Image, spec: Statement, function: Function, check: Check) -> None:
        """Have certificates of a function checked until one is accepted.

        Raises:
            Refutation: none is.
        """
        name = function.symbol

        def asked(certificate: object) -> None:
            check(certificate)
            self.found[name] = certificate

        if name in self.given:
            try:
                asked(self.given[name])
            except Refutation as error:
                if self.searching is not Searching.WHERE_REFUSED:
                    raise _said(f"the certificate of {name} is refused", error) from None
            else:
                return
        elif self.searching is Searching.NOWHERE:
            raise unsupported(f"no certificate of {name}")
        self.searched.append(name)
        self._searched(image, spec, function, asked)

    def _searched(self, image: Image, spec: Statement, function: Function, check: Check) -> None:
        """Have certificates checked: that of a function like this one, then those of a search."""
        if self.like is None or not one_size(spec).meaning(function).numbers:
            _searched(image, spec, function, check)
            return
        # Who only checks does not even load this.
        from ghashgen.verify.search.alike import Alike
        from ghashgen.verify.search.fitted import fitted

        alike = Alike(image, spec, function)
        known = self.like.get(alike.name)
        if known is not None:
            placed = alike.placed(known)
            for one in (fitted(image, spec, function, placed), placed):
                with suppress(Refutation):
                    if one is not None:
                        check(one)
                        return
        _searched(image, spec, function, check)
        self.like.put(alike.name, alike.lifted(self.found[function.symbol]))


def _searched(image: Image, spec: Statement, function: Function, check: Check) -> None:
    """Have proposed certificates checked until one is accepted."""
    if sizes := sizes_of(spec):
        _searched_sizes(image, sizes, function, check)
        return
    # Who only checks does not even load these.
    from ghashgen.verify.search.kernel import proposed
    from ghashgen.verify.search.telling import MOST_STEPS, STEPS, Runs, unfit

    def meaning() -> Any:
        return spec.meaning(function)

    runs = cache(lambda: Runs(image, getattr(spec, "blocks", 1), meaning))
    refused: Refutation | None = None
    last: object = None
    lost = unsupported("search: no certificate")
    for number, found in enumerate(proposed(image, spec, meaning)):
        if isinstance(found, Refutation):
            lost = found
        else:
            # As it would be read from a file: plain data, which the search keeps no hold of.
            certificate = json.loads(json.dumps(found))
            try:
                check(certificate)
            except Refutation as error:
                refused, last = error, None
                if certificate != NOTHING:
                    refused, last = _said(_LAST, error), certificate
            else:
                return
        # To search on may take long, and finds nothing where a function is wrong.
        runs().go_on(STEPS[min(number, len(STEPS) - 1)])
    refused = refused or lost
    if refused.category is not Category.UNSUPPORTED:
        raise refused
    runs().go_on(MOST_STEPS)
    if last is not None and (why := unfit(image, meaning, last)):
        refused = _said(_LAST, why)
    # That a run is not followed says less than what a certificate shows to be wrong.
    raise runs().unfollowed or refused


def _searched_sizes(
    image: Image, sizes: Mapping[str, Statement], function: Function, check: Check
) -> None:
    """Have certificates for every size of a key checked: one for all, or one for each."""
    from ghashgen.verify.search.kernel import proposed

    # The code is the same; what holds in it is too, where no assertion counts rounds.
    any_size = next(iter(sizes.values()))
    # Under round keys of the caller's each size has code of its own, which another's loops lack.
    apart = "first_counter" in function.parameters
    every = proposed(image, any_size, lambda: any_size.meaning(function))
    for found in () if apart else every:
        if not isinstance(found, Refutation):
            with suppress(Refutation):
                check({"keys": dict.fromkeys(sizes, json.loads(json.dumps(found)))})
                return
    cases: dict[str, object] = {}
    for name, one in sizes.items():

        def kept(certificate: object, name: str = name, one: Statement = one) -> None:
            check_sizes(image, one, function, certificate)
            cases[name] = certificate

        _searched(image, one, function, kept)
    check({"keys": cases})


def _said(what: str, error: Refutation) -> Refutation:
    """Return that a certificate is refused, which says nothing against the function."""
    out = unsupported(f"{what}: {error.message}", error.at)
    out.instruction = error.instruction
    return out


def find_object(source: bytes | Path, spec: Statement) -> dict[str, Any]:
    """Return certificates of every function of a statement, each of which has been checked once.

    Raises:
        Refutation: of one function none is accepted; its `symbol` says of which one.
        GhashgenError: the object cannot be read or lacks a symbol.
    """
    image = load_image(source)
    found: dict[str, Any] = {}
    for function in spec.functions:
        found |= find_function(image, spec, function)
    return {"schema": SCHEMA, "functions": found}


def find_function(image: Image, spec: Statement, function: Function) -> dict[str, Any]:
    """Return the certificate of a function by its name.

    Raises:
        Refutation: none is accepted, or the rules do not cover the function.
    """
    certified = Certified()
    try:
        certified.search(image, spec, function, lambda c: check_function(image, spec, function, c))
    except Refutation as error:
        error.symbol = function.symbol
        raise
    return certified.found


def text_of(certificates: Mapping[str, object]) -> str:
    """Return certificates by their names as a document."""
    document = {"schema": SCHEMA, "functions": dict(sorted(certificates.items()))}
    return json.dumps(document, indent=1) + "\n"


def names_of(spec: Statement) -> frozenset[str]:
    """Return the names of all certificates that a statement may need."""
    names: set[str] = set()
    for function in spec.functions:
        with suppress(Refutation):
            one_size(spec).meaning(function)
            names.add(function.symbol)
    return frozenset(names)

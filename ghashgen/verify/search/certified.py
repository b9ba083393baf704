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
from pathlib import Path
from typing import Any

from ghashgen.verify.checking import NOTHING, SCHEMA, check_function, check_sizes
from ghashgen.verify.core.refutation import Category, Refutation, unsupported
from ghashgen.verify.machine.image import Image
from ghashgen.verify.statements.core import Function, Statement, one_size, sizes_of
from ghashgen.verify.x86_64.elf import load_image

Check = Callable[[object], object]
"""Checks a certificate; raises a Refutation if it is refused."""


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
        _searched(image, spec, function, asked)


def _searched(image: Image, spec: Statement, function: Function, check: Check) -> None:
    """Have proposed certificates checked until one is accepted."""
    if sizes := sizes_of(spec):
        _searched_sizes(image, sizes, function, check)
        return
    # Who only checks does not even load these.
    from ghashgen.verify.search.kernel import proposed
    from ghashgen.verify.search.telling import BRIEF, tried

    def meaning() -> Any:
        return spec.meaning(function)

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
                check(certificate)
            except Refutation as error:
                refused = error
                if certificate != NOTHING:
                    refused = _said("no certificate is found, the last is refused", error)
            else:
                return
    except Refutation as error:
        refused = refused or error
    refused = refused or unsupported("search: no certificate")
    wrong = tried(image, blocks, meaning)
    # That a run is not followed says less than what a certificate shows to be wrong.
    if wrong is None or refused.category is not wrong.category is Category.UNSUPPORTED:
        raise refused
    raise wrong


def _searched_sizes(
    image: Image, sizes: Mapping[str, Statement], function: Function, check: Check
) -> None:
    """Have certificates for every size of a key checked: the first ones, or else others."""
    from ghashgen.verify.search.kernel import proposed

    cases: dict[str, object] = {}
    with suppress(Refutation, StopIteration):
        for name, one in sizes.items():
            data = next(proposed(image, one, lambda one=one: one.meaning(function)))  # type: ignore[misc]
            cases[name] = json.loads(json.dumps(data))
        check({"keys": cases})
        return
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

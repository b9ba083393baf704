"""Prove by certificates what the prover does not follow: given ones, or ones that are searched.

    certified = Certified(given, say)
    proof = prove_object(obj, spec, prove=certified.prove)

A function with a given certificate is checked by it and by nothing else. For any other function
that the prover refuses without showing it wrong (`OPEN`), a certificate is searched. Who found a
certificate does not matter: the rules of `ghashgen.verify.checking` decide.
"""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from ghashgen.support.errors import GhashgenError
from ghashgen.verify.checking import Checked, check_function
from ghashgen.verify.core.refutation import Category, Refutation
from ghashgen.verify.engine.family import Function, Statement
from ghashgen.verify.machine.image import Image
from ghashgen.verify.meaning.operations import TEXTS, meaning_of
from ghashgen.verify.prove import THEOREMS, FunctionProof, Theorem, prove_function
from ghashgen.verify.search.kernel import find_function

OPEN = frozenset({Category.UNSUPPORTED, Category.FUNCTION})
"""Refusals that may be the prover's alone: what it does not follow, and results that it does not
see to be right, unless it computed other ones. No search answers a fault of memory, time or
convention, or lines of the prover that disagree.
"""


@dataclass(frozen=True)
class Certified:
    """A way to prove functions in which certificates have a part."""

    given: Mapping[str, object] = field(default_factory=dict)
    """Certificates by the symbols of their functions."""
    say: Callable[[str], None] = lambda text: None
    """Called with a line before a search, which may take minutes."""
    found: dict[str, Any] = field(default_factory=dict)
    """The certificates that were searched and accepted."""

    def require_names(self, spec: Statement) -> None:
        """Refuse given certificates that no function of a statement needs.

        Raises:
            GhashgenError: there is one.
        """
        names: set[str] = set()
        for function in spec.functions:
            try:
                meaning_of(spec, function)
            except Refutation:
                continue
            names.add(function.symbol)
        if odd := sorted(self.given.keys() - names):
            raise GhashgenError(
                f"certificates of {', '.join(odd)}, which the statement does not need",
                f"it needs some of {', '.join(sorted(names)) or 'none'}",
            )

    def prove(
        self, image: Image, spec: Statement, function: Function, lengths: list[int] | None = None
    ) -> FunctionProof:
        """Prove one function.

        Raises:
            Refutation: it is not proved; if no certificate was found either, the prover's reason.
        """
        began = time.perf_counter()
        if function.symbol in self.given:
            return _proof(spec, check_function(image, spec, function, self.given), began)
        try:
            return prove_function(image, spec, function, lengths)
        except Refutation as error:
            if error.category not in OPEN or error.difference is not None:
                raise
            self.say(f"{function.symbol}: {error}; searching for a certificate")
            try:
                found = find_function(image, spec, function)
                checked = check_function(image, spec, function, found)
            except Refutation:
                raise error from None
        self.found.update(found)
        return _proof(spec, checked, began)


def _proof(spec: Statement, checked: Checked, began: float) -> FunctionProof:
    whats = (*THEOREMS, "wipe") if spec.wipe else THEOREMS
    method = "certificate" + (", apart and in place" if checked.operation in TEXTS else "")
    return FunctionProof(
        checked.symbol,
        checked.operation,
        tuple(Theorem(what, checked.symbol, "of any size", method) for what in whats),
        checked.steps,
        time.perf_counter() - began,
    )

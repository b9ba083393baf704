"""The proof of a function that the rules do not cover yet: `ghashgen.verify.engine` executes it.

`ghashgen.verify.certified` comes here where `ways_of` refuses a function. When it covers all of
them, this file and the engine go.
"""

import time
from collections.abc import Iterable
from typing import Any

from ghashgen.verify.core.refutation import unsupported
from ghashgen.verify.engine.family import Function, Statement
from ghashgen.verify.engine.prover import Prover
from ghashgen.verify.theorems import FunctionProof, Theorem, theorems_of
from ghashgen.verify.x86_64.abi import check_entry
from ghashgen.verify.x86_64.elf import Image


def prove_function(
    image: Image, spec: Statement, function: Function, lengths: list[int] | None = None
) -> FunctionProof:
    """Prove one function.

    Raises:
        Refutation: a theorem fails.
    """
    began = time.perf_counter()
    prover: Prover[Any] = Prover(image, spec, function)
    try:
        return _prove(prover, lengths, began)
    finally:
        # Forms are large, and terms refer to their pool: do not wait for a garbage collection.
        prover.meaning.terms.clear()


def _prove(prover: Prover[Any], lengths: Iterable[int] | None, began: float) -> FunctionProof:
    statement, function = prover.statement, prover.function
    with prover.judging():
        check_entry(prover.image, function.symbol)
    shown = prover.meaning.prove(prover, lengths)
    if not shown.parts:
        raise unsupported("nothing was shown", prover.entry_address)
    theorems = (
        Theorem(what, function.symbol, numbers, method)
        for numbers, method in shown.parts
        for what in theorems_of(statement)
    )
    return FunctionProof(
        function.symbol,
        function.operation,
        tuple(theorems),
        prover.executed,
        time.perf_counter() - began,
        shown.behind,
    )

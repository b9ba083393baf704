"""Kernels that process messages in groups: their certificates, also with planted faults."""

import json
import re
from dataclasses import replace
from functools import cache
from typing import Any

from ghashgen.arch.x86_64.assemblers import find_nasm
from ghashgen.check.proofs import statement
from ghashgen.kernels.gcm.kernel import GcmKernel
from ghashgen.kernels.target import target
from ghashgen.output.artefact import make
from ghashgen.verify.core.linear import Case
from ghashgen.verify.rules.assertion import Assertion, read_certificate
from ghashgen.verify.rules.check import Checker
from ghashgen.verify.search.certified import find_function
from ghashgen.verify.search.records import Many
from ghashgen.verify.x86_64.elf import load_image
from helpers.sharing import once
from helpers.verify_objects import assembled


@cache
def source(kernel: GcmKernel) -> str:
    return once(f"text_of_{kernel.name}", lambda: make(kernel, target(), find_nasm()).text)


def stated(kernel: GcmKernel, operation: str) -> tuple[Any, Any]:
    """Return what the kernel claims, and of which function."""
    spec = statement(kernel, kernel.name, "sysv")
    (function,) = (f for f in spec.functions if f.operation == operation)
    return spec, function


def proved(kernel: GcmKernel, operation: str) -> dict[str, Any]:
    """Return the assertions of a function's certificate, which has been checked."""
    spec, function = stated(kernel, operation)
    found: Any = find_function(load_image(assembled(source(kernel))), spec, function)
    assertions: dict[str, Any] = found[function.symbol]["assertions"]
    return assertions


@cache
def found(kernel: GcmKernel, operation: str) -> dict[str, Assertion]:
    """Return the certificate of a function, as the search finds it, once a session."""
    spec, function = stated(kernel, operation)

    def searched() -> str:
        checker = Checker(load_image(assembled(source(kernel))), spec.meaning(function), {})
        return json.dumps(Many(checker, "sysv", True).run())

    return read_certificate(json.loads(once(f"certificate_{function.symbol}", searched)))


def checked(
    kernel: GcmKernel,
    part: tuple[str, str],
    operation: str,
    name: str,
    old: str = "",
    new: str = "",
    behind: str = "",
) -> None:
    """Check the runs from the assertions of a name, with something else between two labels, and
    something behind the function.
    """
    spec, function = stated(kernel, operation)
    before, label, own = source(kernel).partition(f"\n{function.symbol}:\n")
    own, end, after = own.partition("\n.end:")
    begin, stop = (f"\n.{one}:\n" for one in part)
    first, begin, rest = own.partition(begin)
    inside, edge, rest = rest.partition(stop)
    assert edge
    if old:
        inside, changed = re.subn(old, new, inside, count=1)
        assert changed == 1
    text = "".join((before, label, first, begin, inside, edge, rest, "\n", behind, end, after))
    checker = Checker(load_image(assembled(text)), spec.meaning(function), found(kernel, operation))
    checker.begin()
    for one in [one for label, one in checker.assertions.items() if label.startswith(name)]:
        for state in checker.state(one).each((Case(),)):
            checker.run(state, checker.entry + one.at, one)


def run(kernel: GcmKernel, operation: str, name: str, at: str, **changes: Any) -> None:
    """Check the runs from the entry or an assertion, where something else is said of another."""
    spec, function = stated(kernel, operation)
    known = found(kernel, operation)
    changed = {**known, at: replace(known[at], **changes)}
    checker = Checker(load_image(assembled(source(kernel))), spec.meaning(function), changed)
    begun, one = checker.entries(), changed.get(name)
    for state in begun if one is None else checker.state(one).each((Case(),)):
        checker.run(state, checker.entry + (one.at if one else 0), one)

"""The certificates of whole objects: found, written, read back and only checked."""

import copy
import json
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import Any

import pytest
from helpers.compiling import emitted_text
from helpers.verify_objects import assembled

from ghashgen.check.proofs import statement
from ghashgen.kernels.hash.kernel import Kernel
from ghashgen.kernels.target import runnable
from ghashgen.verify.checking import check_object
from ghashgen.verify.core.refutation import Refutation
from ghashgen.verify.rules.check import Checker
from ghashgen.verify.search.certified import find_object
from ghashgen.verify.statements.hash import KernelSpec

SMALL = Kernel("avx", "winograd", "clmul1", 2, segments=True, columns=2)
KERNELS = (
    (SMALL, "sysv"),
    (SMALL, "win64"),
    (Kernel("sse", "k", "clmul1", 2, op="polyval"), "sysv"),
)


@cache
def made(kernel: Kernel, abi: str) -> tuple[bytes, KernelSpec]:
    """Return a kernel's object and its statement."""
    spec = statement(kernel, kernel.name, abi)
    assert isinstance(spec, KernelSpec)
    return assembled(emitted_text(kernel, runnable(abi))), spec


@cache
def found(kernel: Kernel, abi: str) -> str:
    """Return its certificates as text."""
    return json.dumps(find_object(*made(kernel, abi)))


def right() -> Any:
    """Return the certificates of SMALL, to be edited."""
    return json.loads(found(SMALL, "sysv"))


def symbol(operation: str) -> str:
    """Return the symbol of a function of SMALL."""
    return f"{SMALL.name}_{operation}"


@pytest.mark.parametrize(("kernel", "abi"), KERNELS, ids=str)
def test_what_is_found_is_checked_from_its_text(kernel: Kernel, abi: str) -> None:
    data, spec = made(kernel, abi)
    checked = check_object(data, spec, json.loads(found(kernel, abi)))
    assert len(checked) == len(spec.functions)
    assert all(one.steps and one.cases and one.returns for one in checked)


def test_what_checks_loads_no_search() -> None:
    script = (
        "import sys, ghashgen.verify.checking\n"
        "print(*(n for n in sys.modules if n.startswith('ghashgen.verify.')))"
    )
    answer = subprocess.run([sys.executable, "-c", script], capture_output=True, check=True)
    loaded = answer.stdout.decode().split()
    assert "ghashgen.verify.rules.check" in loaded
    assert [name for name in loaded if "search" in name] == []


def functions(edit: Callable[[dict[str, Any]], object]) -> Callable[[Any], object]:
    """Return an edit of the certificates by symbol."""
    return lambda data: edit(data["functions"])


def exchanged(a: str, b: str) -> Callable[[Any], object]:
    """Return an edit that gives each of two functions the certificate of the other."""

    def edit(found: dict[str, Any]) -> None:
        one, other = symbol(a), symbol(b)
        found[one], found[other] = found[other], found[one]

    return functions(edit)


OTHERS: dict[str, Callable[[Any], object]] = {
    "no schema": lambda data: data.pop("schema"),
    "another schema": lambda data: data.update(schema=2),
    "a schema that is true": lambda data: data.update(schema=True),
    "one thing more": lambda data: data.update(also=1),
    "a list of functions": lambda data: data.update(functions=[]),
    "no functions": lambda data: data.update(functions={}),
    "a function left out": functions(lambda found: found.pop(symbol("init"))),
    "a function more": functions(lambda found: found.update(other={"assertions": {}})),
    "no certificate of update": functions(lambda found: found.update({symbol("update"): None})),
    "update as if it had no loop": functions(
        lambda found: found.update({symbol("update"): {"assertions": {}}})
    ),
    "power as if it had no loop": functions(
        lambda found: found.update({symbol("power"): {"assertions": {}}})
    ),
    "update's for column, and column's": exchanged("update", "column"),
    "power's for update, and update's": exchanged("power", "update"),
    "update's for mul, and mul's": exchanged("update", "mul"),
}


@pytest.mark.parametrize("name", sorted(OTHERS))
def test_other_certificates_are_refused(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ghashgen.verify.rules.check.MOST_RUNS", 400)
    wrong = right()
    OTHERS[name](wrong)
    assert wrong != right() or name == "a schema that is true"
    with pytest.raises(Refutation):
        check_object(*made(SMALL, "sysv"), wrong)


EDITS: dict[str, Callable[[dict[str, Any]], object]] = {
    "another place": lambda a: a.update(at=a["at"] + 1),
    "nothing falls": lambda a: a.update(falls="0"),
    "another stack pointer": lambda a: a["places"].update(rsp=["p", "stack", "-16"]),
    "a register of the caller's that is lost": lambda a: a["places"].update(rbp="?"),
    "no way from the entry": lambda a: a["from"].pop("entry"),
    "no ghosts": lambda a: a.update(ghosts={}),
    "no numbers": lambda a: a.update(unknowns={}),
    "no places": lambda a: a.update(places={}),
}


@pytest.mark.parametrize("operation", ["update", "column", "power"])
@pytest.mark.parametrize("name", sorted(EDITS))
def test_an_edited_certificate_is_refused_by_its_symbol(
    name: str, operation: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ghashgen.verify.rules.check.MOST_RUNS", 400)
    wrong = right()
    EDITS[name](wrong["functions"][symbol(operation)]["assertions"]["loop"])
    assert wrong != right()
    with pytest.raises(Refutation) as refusal:
        check_object(*made(SMALL, "sysv"), wrong)
    assert refusal.value.symbol == symbol(operation)


def test_the_certificates_of_another_object_are_refused() -> None:
    data, spec = made(SMALL, "sysv")
    other = replace(SMALL, multiply="k")
    of_other = json.loads(found(other, "sysv"))
    renamed = copy.deepcopy(of_other)
    renamed["functions"] = {
        name.replace(other.name, SMALL.name): one for name, one in of_other["functions"].items()
    }
    check_object(*made(other, "sysv"), of_other)
    for certificates in (of_other, renamed):
        with pytest.raises(Refutation):
            check_object(data, spec, certificates)


def test_a_statement_of_nothing_or_of_one_function_twice_is_refused() -> None:
    data, spec = made(SMALL, "sysv")
    init = spec.functions[:1]
    only = right()
    only["functions"] = {init[0].symbol: only["functions"][init[0].symbol]}
    assert len(check_object(data, replace(spec, functions=init), only)) == 1
    for stated in ((), init * 2):
        with pytest.raises(Refutation, match="no function is stated, or one twice"):
            check_object(data, replace(spec, functions=stated), only)


@pytest.mark.parametrize("error", [RecursionError, MemoryError])
def test_what_stops_the_checker_is_a_refusal(
    error: type[BaseException], monkeypatch: pytest.MonkeyPatch
) -> None:
    def stop(self: Checker) -> None:
        raise error

    monkeypatch.setattr(Checker, "check", stop)
    with pytest.raises(Refutation, match=error.__name__) as refusal:
        check_object(*made(SMALL, "sysv"), right())
    assert refusal.value.symbol == symbol("init")


def test_of_a_wrong_object_nothing_is_found() -> None:
    source = emitted_text(SMALL, runnable("sysv"))
    start = source.index(f"{SMALL.name}_column:\n")
    wrong = source[:start] + source[start:].replace("[rdx + 32]", "[rdx + 64]", 1)
    assert wrong != source
    with pytest.raises(Refutation) as refusal:
        find_object(assembled(wrong), made(SMALL, "sysv")[1])
    assert refusal.value.symbol == symbol("column")

"""Wrong certificates of a right `power`: each is refused."""

import copy
from collections.abc import Callable
from functools import cache
from typing import Any

import pytest
from helpers.compiling import emitted_text
from helpers.core_checking import checked, function_of, searched
from helpers.verify_objects import assembled

from ghashgen.check.proofs import statement
from ghashgen.kernels.hash.kernel import Kernel
from ghashgen.kernels.target import runnable
from ghashgen.verify.core.refutation import Refutation
from ghashgen.verify.machine.image import Image
from ghashgen.verify.statements.hash import KernelSpec
from ghashgen.verify.x86_64.elf import load_image

SMALL = Kernel("avx", "winograd", "clmul1", 1, segments=True)


@cache
def spec() -> KernelSpec:
    """Return the statement."""
    found = statement(SMALL, SMALL.name, "sysv")
    assert isinstance(found, KernelSpec)
    return found


@cache
def image() -> Image:
    """Return the right kernel."""
    return load_image(assembled(emitted_text(SMALL, runnable("sysv"))))


@cache
def right() -> dict[str, Any]:
    """Return the certificate that is found."""
    return searched(image(), spec(), function_of(spec(), "power"))


def check(data: dict[str, Any]) -> None:
    """Check a certificate of power."""
    checked(image(), spec(), function_of(spec(), "power"), data)


def ghost(**changes: Any) -> Callable[[dict[str, Any]], None]:
    """Return an edit of what is said of the power."""
    return lambda a: a["ghosts"]["power"].update(changes)


def way(source: str, **numbers: str) -> Callable[[dict[str, Any]], None]:
    """Return an edit of what the unknowns are where a run comes from."""
    return lambda a: a["from"][source][0].update(numbers)


def swapped(a: dict[str, Any]) -> None:
    """The registers of the factor and of the product, one for the other."""
    places = a["places"]
    (p,) = (k for k, v in places.items() if v == ["v", "p"])
    (r,) = (k for k, v in places.items() if v == ["v", "r"])
    places[p], places[r] = places[r], places[p]


WRONG: dict[str, Callable[[dict[str, Any]], None]] = {
    # What is left may be named by the unknowns of a case, and by no others.
    "what was left before the turn": way("loop", n="n"),
    "half and one more": way("loop", n="n_2+1"),
    "twice the half": way("loop", n="2*n_2"),
    "an unknown that no case has brought": way("loop", n="n_4"),
    "half of the exponent": way("loop", n="exponent_2"),
    "another exponent": way("loop", exponent="n_2"),
    "the half at the entry": way("entry", n="exponent_2"),
    "more than there is at the entry": way("entry", n="exponent+1"),
    "no bit at the entry": way("entry", n="0"),
    # The equation.
    "more left than there is": ghost(left="n+1"),
    "the exponent is what is left": ghost(left="exponent"),
    "nothing is left": ghost(left="0"),
    "what is left of nobody": ghost(left="m"),
    "a factor of nobody": ghost(factor="q"),
    "a product of nobody": ghost(product="q"),
    "the factor is the product": ghost(factor="r"),
    "the product is the factor": ghost(product="p"),
    "one for the other": ghost(factor="r", product="p"),
    "no product": ghost(product=None),
    "one thing more": ghost(also=1),
    "nothing is said": lambda a: a["ghosts"].update(power=None),
    "one register for the other": swapped,
    # The loop.
    "a number that stays": lambda a: a.update(falls="exponent"),
    "one bit more at least": lambda a: a["unknowns"].update(n=[2, (1 << 64) - 1]),
    "63 bits": lambda a: a["unknowns"].update(n=[1, (1 << 63) - 1]),
}


def test_the_right_one_is_accepted() -> None:
    check(right())


@pytest.mark.parametrize("name", sorted(WRONG))
def test_a_wrong_certificate_is_refused(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ghashgen.verify.rules.check.MOST_RUNS", 200)
    data = copy.deepcopy(right())
    WRONG[name](data["assertions"]["loop"])
    assert data != right()
    with pytest.raises(Refutation):
        check(data)

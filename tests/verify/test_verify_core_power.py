"""power by certificates: every exponent, with wrong kernels and wrong certificates beside."""

import copy
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import Any

import pytest
from helpers.compiling import emitted_text
from helpers.core_checking import checked, function_of, refusals, searched
from helpers.verify_objects import assembled
from test_segment_kernels import FAULTS, PLAIN, SMALL, block, body, text

from ghashgen.check.proofs import statement
from ghashgen.kernels.hash.kernel import Kernel
from ghashgen.kernels.target import runnable
from ghashgen.verify.core.refutation import Refutation
from ghashgen.verify.machine.image import Image
from ghashgen.verify.statements.hash import KernelSpec
from ghashgen.verify.x86_64.elf import load_image


@cache
def spec_of(kernel: Kernel, abi: str = "sysv", *operations: str) -> KernelSpec:
    """Return a kernel's statement, about some of its functions."""
    spec = statement(kernel, kernel.name, abi)
    assert isinstance(spec, KernelSpec)
    chosen = operations or ("power", "combine")
    return replace(spec, functions=tuple(f for f in spec.functions if f.operation in chosen))


@pytest.mark.parametrize("abi", ["sysv", "win64"])
@pytest.mark.parametrize(
    "kernel",
    [
        *(replace(SMALL, isa=isa) for isa in ("sse", "avx", "avx2", "avx512vl", "avx512")),
        replace(PLAIN, op="polyval"),
        replace(PLAIN, isa="avx2", order="natural", wipe=True),
        *(replace(PLAIN, multiply=m, reduce="clmul2") for m in ("karatsuba", "schoolbook")),
    ],
    ids=lambda kernel: kernel.name,
)
def test_power_and_combine_are_proved(kernel: Kernel, abi: str) -> None:
    data = assembled(emitted_text(kernel, runnable(abi)))
    assert list(refusals(data, spec_of(kernel, abi))) == []


@pytest.mark.parametrize("name", sorted(FAULTS))
def test_a_planted_fault_is_refused(name: str) -> None:
    function, change, _ = FAULTS[name]
    before, lines, after = body(text(SMALL), f"{SMALL.name}_{function}")
    wrong = assembled(before + change(lines) + after)
    assert list(refusals(wrong, spec_of(SMALL, "sysv", function)))


def test_a_result_that_is_written_in_the_loop_only_is_refused() -> None:
    before, lines, after = body(text(SMALL), f"{SMALL.name}_power")
    store = "\n".join(block(lines, "Y"))
    late, early = store, store.replace("xmm0", "xmm15")
    assert late in lines
    wrong = lines.replace(late, "").replace(".bit:", ".bit:\n" + early)
    wrong = wrong.replace("    jb ", early + "\n    cmp rdx, 1\n    jb ", 1)
    assert list(refusals(assembled(before + wrong + after), spec_of(SMALL, "sysv", "power")))


def test_the_lowest_bit_may_be_asked_as_a_carry_and_not_the_other_way() -> None:
    before, lines, after = body(text(SMALL), f"{SMALL.name}_power")
    start, end = lines.index("    mov         rax, rdx"), lines.index("    je          .even")
    lines = lines[:start] + "    shr rdx, 1\n" + lines[end:]
    lines = lines.replace("    je          .even", "    jnc .even", 1)
    late = next(line for line in lines.splitlines() if "shr         rdx, 0x01" in line)
    right = lines.replace(late, "")
    spec = spec_of(SMALL, "sysv", "power")
    assert list(refusals(assembled(before + right + after), spec)) == []
    wrong = right.replace("jnc .even", "jc .even")
    assert list(refusals(assembled(before + wrong + after), spec))


# Wrong certificates of a right kernel.


@cache
def image() -> Image:
    """Return the right kernel."""
    return load_image(assembled(text(SMALL)))


@cache
def right() -> dict[str, Any]:
    """Return the certificate that is found."""
    spec = spec_of(SMALL)
    return searched(image(), spec, function_of(spec, "power"))


def check(data: dict[str, Any]) -> None:
    """Check a certificate of power."""
    spec = spec_of(SMALL)
    checked(image(), spec, function_of(spec, "power"), data)


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

"""Places with unknowns that may be one: what is written at one of them is not read at the other."""

from typing import Any

import pytest
from helpers.verify_objects import ASM, assembled

from ghashgen.check.statements import load_spec
from ghashgen.verify.checking import check_function
from ghashgen.verify.core.linear import Facts
from ghashgen.verify.core.numbers import combined, parse, unknown
from ghashgen.verify.core.refutation import Refutation
from ghashgen.verify.core.terms import Terms
from ghashgen.verify.core.values import Pointer
from ghashgen.verify.machine.image import Image
from ghashgen.verify.machine.memory import Memory
from ghashgen.verify.machine.regions import Access, Region
from ghashgen.verify.x86_64.elf import load_image
from ghashgen.verify.x86_64.target import X86_64

# The certificate names the same bytes twice: at a known place, and at one that is the same where
# t is 1, as it is. Then other bytes are written there, and t is asked for.
TWICE = """
    pxor        xmm1, xmm1
    movdqu      [rsp - 80], xmm1
    mov         eax, 1
    align       16
.cut:
    pcmpeqd     xmm1, xmm1
    movdqu      [rsp - 80], xmm1
    pxor        xmm6, xmm6
    cmp         rax, 1
    jne         .other
    movdqu      xmm6, [rsp - 80]
.other:
    movdqu      xmm1, [rdi]
    pxor        xmm1, xmm6
    movdqu      [rdi], xmm1
"""
CUT = 16
SAVED = ("rbx", "rbp", "r12", "r13", "r14", "r15")


def certificate(places: dict[str, Any]) -> dict[str, Any]:
    """Return a certificate of TWICE with these places on the stack."""
    return {"foreign_gmult": {"assertions": {"cut": {
        "at": CUT, "unknowns": {"t": [1, 2]}, "among": {}, "facts": [],
        "places": {
            "rax": ["n", "t"], "rdi": ["p", "state", "0"], "rsi": ["p", "table", "0"],
            "rsp": ["p", "stack", "0"], **{name: ["@", name] for name in SAVED}, **places,
        },
        "ghosts": {}, "flags": "public", "dirty": False, "level": 0, "falls": "0",
        "from": {"entry": [{"t": "1"}]},
    }}}}  # fmt: skip


def refused(places: dict[str, Any], begin: str = TWICE) -> str:
    """Return why a certificate of mul that begins so is refused."""
    head, label, tail = (ASM / "foreign.asm").read_text().partition("\nforeign_gmult:\n")
    image = load_image(assembled(f"{head}\nalign 16{label}{begin}{tail}"))
    spec = load_spec(ASM / "foreign.toml")
    function = next(f for f in spec.functions if f.operation == "mul")
    try:
        check_function(image, spec, function, certificate(places)[function.symbol])
    except Refutation as refutation:
        return refutation.message
    return ""


def test_a_function_that_writes_where_its_certificate_names_a_place_twice() -> None:
    zeros = ["c", "0x0"]
    once, twice = {"stack+-80:16": zeros}, {"stack+-80:16": zeros, "stack+16*t-96:16": zeros}
    assert refused(twice) == "cut: stack+16*t-96:16, in a buffer of known size"
    assert refused(once) == "the state is wrong"
    # What the certificate says is so; right code is proved by it.
    right = TWICE.replace("pcmpeqd     xmm1, xmm1", "pxor        xmm1, xmm1")
    assert right != TWICE
    assert refused(once, right) == ""


def memory(low: int, high: int) -> Memory:
    """Return a memory with 0xAB written at 16·t, t being within a range."""
    terms = Terms(lambda name, number: pytest.fail("no table"))
    region = Region("buffer", 0, 256, Access.UPDATE, lambda memory, at: 0, 64)
    m = Memory(terms, Image(X86_64, (), {}), [region])
    m.facts = Facts({"t": (low, high)})
    m.put("buffer", m.key(parse("16*t")), 0xAB, 16)
    return m


@pytest.mark.parametrize(
    ("at", "size", "apart"),
    [(16, 16, True), (17, 16, False), (32, 1, False), (100, 1, False), (159, 1, False),
     (160, 1, True)],
)  # fmt: skip
@pytest.mark.parametrize("store", [False, True])
def test_an_access_that_may_overlap_such_a_place_is_refused(
    at: int, size: int, apart: bool, store: bool
) -> None:
    m, where = memory(2, 9), Pointer("buffer", at)

    def access() -> None:
        if store:
            m.store(where, 1, size)
        else:
            m.load(where, size)

    if apart:
        access()
    else:
        with pytest.raises(Refutation, match=r"buffer at \d+, where 16\*t is written"):
            access()


def test_two_written_places_that_become_one_are_refused() -> None:
    m = memory(1, 9)
    m.written["buffer"].update({k: (0xCD, k) for k in range(16)})
    m.renamed({"t": combined(unknown("s"), 1)})
    with pytest.raises(Refutation, match="two written places of buffer that are one"):
        m.renamed({"s": -1})

"""The proof of pipelined loops: what is carried ahead of the hash is followed, or refused."""

from dataclasses import replace

import pytest
from helpers.verify_objects import ASM, assembled

from ghashgen.check.statements import load_spec
from ghashgen.verify.core.refutation import Category
from ghashgen.verify.prove import Proof, prove_object

FUNCTION, MEMORY, UNSUPPORTED = Category.FUNCTION, Category.MEMORY, Category.UNSUPPORTED


def text_of(name: str) -> str:
    """Return foreign.asm with another foreign_ghash."""
    head, _, _ = (ASM / "foreign.asm").read_text().partition("global foreign_ghash")
    return head + (ASM / f"{name}.inc").read_text()


def prove(text: str) -> Proof:
    foreign = load_spec(ASM / "foreign.toml")
    update = tuple(f for f in foreign.functions if f.operation == "update")
    return prove_object(assembled(text), replace(foreign, functions=update))


def planted(name: str, old: str, new: str, occurrence: int = 0) -> Proof:
    parts = text_of(name).split(old)
    assert len(parts) > occurrence + 1, f"{name} has no such text: {old!r}"
    return prove(old.join(parts[: occurrence + 1]) + new + old.join(parts[occurrence + 1 :]))


@pytest.mark.parametrize("name", ["ahead", "far_ahead"])
def test_a_right_pipelined_loop_is_proved_for_every_length(name: str) -> None:
    proof = prove(text_of(name))
    assert proof.refutation is None
    assert {(t.lengths, t.method) for t in proof.theorems} == {
        ("0..4611686018427387903, multiples of 16", "certificate")
    }


PLANTED = [
    # A carried register is off by one block.
    ("movdqu      xmm9, [rdx + 80]", "movdqu      xmm9, [rdx + 96]", 0, FUNCTION),
    ("movdqu      xmm9, [rdx + 16]", "movdqu      xmm9, [rdx + 32]", 0, FUNCTION),
    # It holds a block of this group, not of the next; or of the group after that.
    ("movdqu      xmm9, [rdx + 80]", "movdqu      xmm9, [rdx + 16]", 0, FUNCTION),
    ("movdqu      xmm9, [rdx + 80]", "movdqu      xmm9, [rdx + 144]", 0, MEMORY),
    # It is not filled again: the same block twice.
    ("movdqu      xmm10, [rdx + 96]\n    pshufb      xmm10, xmm1\n", "", 0, FUNCTION),
    # A wrong byte in it.
    ("pshufb      xmm9, xmm1", "pshufb      xmm9, [wrong]", 1, FUNCTION),
    ("movdqu      xmm9, [rdx + 80]", "movdqu      xmm9, [rdx + 79]", 0, FUNCTION),
    ("movdqu      xmm9, [rdx + 80]", "movq        xmm9, [rdx + 80]", 0, FUNCTION),
    # It is added to the wrong entry of the table.
    ("pxor        xmm10, [rsi + 16]", "pxor        xmm10, [rsi + 32]", 1, FUNCTION),
    # Two carried registers are exchanged.
    ("    add         rdx, 64\n", "    pxor xmm9, xmm10\n    pxor xmm10, xmm9\n"
     "    pxor xmm9, xmm10\n    add         rdx, 64\n", 0, FUNCTION),
    # The stack's slot: wrong block, not filled again.
    ("movdqu      xmm0, [rdx + 112]", "movdqu      xmm0, [rdx + 96]", 0, FUNCTION),
    ("movdqu      [rsp - 24], xmm0", "nop", 1, FUNCTION),
    # The loop ends one group late: it prepares a group that is not there.
    ("cmp         rcx, 128\n    jae", "cmp         rcx, 64\n    jae", 0, MEMORY),
    ("cmp         rcx, 128\n    jb", "cmp         rcx, 64\n    jb", 0, MEMORY),
    # It ends one block late.
    ("cmp         rcx, 128\n    jae", "cmp         rcx, 112\n    jae", 0, MEMORY),
    # The last group takes the state as it was prepared for: an absorbed block counts twice.
    ("    pxor        xmm0, xmm8\n", "    pxor        xmm0, xmm8\n    pxor        xmm0, xmm9\n", 0,
     FUNCTION),
]  # fmt: skip


@pytest.mark.parametrize(("old", "new", "occurrence", "category"), PLANTED)
def test_a_wrong_carried_value_is_rejected(
    old: str, new: str, occurrence: int, category: Category
) -> None:
    wrong = (
        "section .rodata\nalign 16\n"
        "wrong: db 15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 0, 1\n"
    )
    end = "section .note.GNU-stack"
    text = text_of("ahead").replace(end, f"{wrong}\n{end}")
    parts = text.split(old)
    assert len(parts) > occurrence + 1, f"no such text: {old!r}"
    joined = old.join(parts[: occurrence + 1]) + new + old.join(parts[occurrence + 1 :])
    refutation = prove(joined).refutation
    assert refutation is not None
    assert refutation.category is category, str(refutation)


FAR = [
    # All of these are right at every executed length: only the induction can see them.
    ("movdqu      xmm10, [rdx + 144]", "movdqu      xmm10, [rdx + 160]"),
    ("movdqu      xmm10, [rdx + 144]", "movdqu      xmm10, [rdx + 80]"),
    ("movdqa      xmm9, xmm10", "nop"),
    ("movdqu      xmm10, [rdx + 80]", "movdqu      xmm10, [rdx + 16]"),
    ("pshufb      xmm10, xmm1\n    add", "add"),
    ("cmp         rcx, 192\n    jae", "cmp         rcx, 128\n    jae"),
]


@pytest.mark.parametrize(("old", "new"), FAR)
def test_a_fault_that_no_executed_length_shows_is_rejected(old: str, new: str) -> None:
    refutation = planted("far_ahead", old, new).refutation
    assert refutation is not None


def test_a_loop_that_prepares_differently_beyond_the_executed_lengths_is_not_proved() -> None:
    refutation = planted(
        "ahead",
        "    movdqu      xmm9, [rdx + 80]\n",
        "    cmp         rcx, 1024\n    jae         .next\n"
        "    movdqu      xmm9, [rdx + 80]\n.next:\n",
    ).refutation
    assert refutation is not None
    assert refutation.numbers["length"] == 1024


@pytest.mark.parametrize("length", [160, 176])
def test_no_length_lies_between_the_executed_ones_and_the_induction(length: int) -> None:
    """A loop that is entered late moves the induction's base: what lies below it is executed."""
    refutation = planted(
        "far_ahead",
        "    cmp         rcx, 192\n    jb",
        f"    cmp         rcx, {length}\n    je          .done\n    cmp         rcx, 192\n    jb",
    ).refutation
    assert refutation is not None
    assert refutation.category is FUNCTION
    assert refutation.numbers["length"] == length

"""Right code that the prover once refused: proved, beside a wrong twin that is refused."""

import random
import re
from dataclasses import replace

import pytest
from helpers.compiling import plain
from helpers.gcm_proving import SMALL, proved, text_of
from helpers.row_instances import no_table
from helpers.verify_objects import ASM, assembled
from iced_x86 import Decoder

from ghashgen.check.attack.facts_cases import machine
from ghashgen.check.attack.forms import RCX
from ghashgen.check.statements import load_spec
from ghashgen.verify.core.linear import Facts, Fork
from ghashgen.verify.core.numbers import linear
from ghashgen.verify.core.refutation import Category, Refutation
from ghashgen.verify.core.term import SECRET, Term, same_value, secret
from ghashgen.verify.core.terms import Terms
from ghashgen.verify.prove import prove_object
from ghashgen.verify.rules.check import Checker
from ghashgen.verify.statements.hash import KernelSpec
from ghashgen.verify.x86_64.rows.table import step_of

FUNCTION, MEMORY, UNSUPPORTED = Category.FUNCTION, Category.MEMORY, Category.UNSUPPORTED


def foreign(operation: str) -> KernelSpec:
    spec = load_spec(ASM / "foreign.toml")
    return replace(spec, functions=tuple(f for f in spec.functions if f.operation == operation))


SYMBOLS = {"mul": "foreign_gmult", "update": "foreign_ghash"}


def foreign_refuted(operation: str, old: str, new: str) -> Refutation | None:
    text = plain((ASM / "foreign.asm").read_text())
    head, label, tail = text.partition(f"\n{SYMBOLS[operation]}:\n")
    assert old in tail
    return prove_object(
        assembled(head + label + tail.replace(old, new, 1)), foreign(operation)
    ).refutation


SUM = "pxor xmm7, xmm6\npxor xmm7, xmm5\n"
DEEP = (
    "movdqu xmm7, [rdi]\nmovdqa xmm6, xmm7\npslldq xmm6, 8\nmovdqa xmm5, [rsi]\npslldq xmm5, 8\n"
    f"{SUM * 1500}pshufd xmm4, xmm7, 0x44\npxor xmm4, xmm4\n"
)
LOAD = "movdqu xmm0, [rdi]"
FIRST = "sub rcx, 64\n"

ACCEPTED = {
    # Function, a text in it, what is right there, what is wrong, and the refusal.
    "a sum of three thousand parts": (
        "mul", LOAD, f"{DEEP}{LOAD}\npxor xmm0, xmm4", f"{DEEP}{LOAD}\npxor xmm0, xmm7",
        FUNCTION, "the state is wrong",
    ),
    "SETcc beside a length": (
        "update", FIRST,
        f"mov r8, rcx\ncmp rsi, rsi\nsetne r8b\nmovzx r8d, r8b\nadd rcx, r8\n{FIRST}",
        f"mov r8, rcx\ncmp rsi, rsi\nsete r8b\nmovzx r8d, r8b\nadd rcx, r8\n{FIRST}",
        MEMORY, "beyond it",
    ),
    "the rest of a length in 32 bits": (
        "update", FIRST, f"mov r8, rcx\nand r8d, 15\nadd rcx, r8\n{FIRST}",
        f"mov r8, rcx\nand r8d, 31\nadd rcx, r8\n{FIRST}", MEMORY, "beyond it",
    ),
    "PADDD of a register with itself": (
        "mul", LOAD, f"{LOAD}\nmovdqa xmm3, xmm0\npaddd xmm3, xmm3\nmovdqa xmm4, xmm0\n"
        "pslld xmm4, 1\npxor xmm3, xmm4\npxor xmm0, xmm3",
        f"{LOAD}\nmovdqa xmm3, xmm0\npaddd xmm3, xmm3\nmovdqa xmm4, xmm0\npsllq xmm4, 1\n"
        "pxor xmm3, xmm4\npxor xmm0, xmm3", FUNCTION, "the state is wrong",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", ACCEPTED)
def test_what_is_right_is_proved_and_its_twin_is_refused(name: str) -> None:
    operation, old, right, wrong, category, words = ACCEPTED[name]
    refutation = foreign_refuted(operation, old, right)
    assert refutation is None, str(refutation)
    refutation = foreign_refuted(operation, old, wrong)
    assert refutation is not None
    assert refutation.category is category, str(refutation)
    assert words in str(refutation)


BITS = (("vmovq xmm2, r12\n", "r12"), ("vmovq xmm4, r8\n", "r8"))
JOINED = "vpunpcklqdq xmm2, xmm2, xmm4 ; bits of both lengths"
BSWAP = {
    "the length of the AAD first": "vpunpcklqdq xmm2, xmm4, xmm2\n vpshufb xmm2, xmm2, xmm0 ;",
    "the length of the text first": "vpunpcklqdq xmm2, xmm2, xmm4\n vpshufb xmm2, xmm2, xmm0 ;",
}


@pytest.mark.parametrize("name", BSWAP)
def test_lengths_by_bswap(name: str) -> None:
    text = text_of(SMALL)
    head, label, tail = text.partition(f"\n{SMALL.name}_seal:\n")
    for old, register in BITS:
        assert old in tail
        tail = tail.replace(old, f"bswap {register}\n {old}", 1)
    assert JOINED in tail
    tail = tail.replace(JOINED, BSWAP[name], 1)
    refutation = proved(SMALL, head + label + tail, "seal").refutation
    if name == "the length of the AAD first":
        assert refutation is None, str(refutation)
    else:
        assert refutation is not None
        assert refutation.category is FUNCTION, str(refutation)
        assert "the tag is wrong" in str(refutation)


# An open that checks its tag first.

STORE = r"(?m)^ +(vmovdqu|vmovq|vmovd|vpextrw|vpextrb) +(byte |word )?\[rbp[^\]]*\], .*$"
SAVED = " mov [rsp - 24], r9\n vmovdqu [rsp - 48], xmm2\n vmovdqu [rsp - 64], xmm0\n"
BACK = (
    " mov r9, [rsp - 24]\n vmovdqu xmm2, [rsp - 48]\n vmovdqu xmm0, [rsp - 64]\n"
    " vpxor xmm3, xmm3, xmm3\n"
)


def tag_first(own: str) -> str:
    """Return open in two passes: one that writes nothing, and where the tag is right, another."""
    begin, compare = own.index(".aad_done:\n"), own.index(".tag:\n")
    text, tail = own[begin:compare], own[compare:]
    again = re.sub(r"\.(\w+)", r".\1_again", text.replace(".tag", ".decrypted"))
    tail = re.sub(r"(?s)( je \.right\n).*?( mov eax, 0x01)", r"\1\2", tail)
    tail = tail.replace(".right:\n", f".right:\n{BACK}{again}.decrypted_again:\n", 1)
    return own[:begin] + SAVED + re.sub(STORE, "", text) + tail


def test_an_open_that_does_not_clear_its_output_is_refused_in_these_words() -> None:
    """It checks its tag first. Where that differs the output has to be zeros all the same."""
    text = text_of(SMALL)
    head, label, tail = text.partition(f"\n{SMALL.name}_open:\n")
    own, end, rest = tail.partition("\n.end:")
    refutation = proved(SMALL, head + label + tag_first(own) + end + rest, "open").refutation
    assert refutation is not None
    assert refutation.category is FUNCTION, str(refutation)
    assert "the output at 0 is not written" in refutation.message
    # One that never decrypts is wrong.
    wrong = re.sub(STORE, "", own)
    refutation = proved(SMALL, head + label + wrong + end + rest, "open").refutation
    assert refutation is not None
    assert refutation.category is FUNCTION, str(refutation)
    assert "the output at 0 is not written" in str(refutation)


# What stops the prover.


@pytest.mark.parametrize(
    ("error", "words"), [(RecursionError, "RecursionError: its"), (MemoryError, "MemoryError: its")]
)
def test_what_stops_the_prover_is_a_refusal(
    error: type[Exception], words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stop(*whatever: object) -> None:
        raise error

    monkeypatch.setattr(Checker, "run", stop)
    refutation = prove_object(
        assembled((ASM / "foreign.asm").read_text()), foreign("mul")
    ).refutation
    assert refutation is not None
    assert refutation.category is UNSUPPORTED
    assert refutation.symbol == "foreign_gmult"
    assert words in refutation.message


# A byte beside what may be anything.


def test_a_part_beside_anything_is_had_again_and_equals_nothing() -> None:
    terms = Terms(no_table)
    rest = terms.opaque("unknown", terms.caller("rax"), mask=0xFFFFFFFFFFFFFF00)
    known = terms.keep(terms.variable("C1"), 0xFF)
    both = terms.beside(rest, known)
    assert isinstance(both, Term)
    assert terms.keep(both, 0xFF) is known
    assert secret(both)
    assert not same_value(both, both)
    # Nothing else is known of it, and none of its bits is public.
    wider = terms.keep(both, 0xFFFF)
    assert isinstance(wider, Term)
    assert wider.op == "opaque"
    assert wider.deps & SECRET
    assert terms.try_form(both) is None
    assert terms.xor(both, both) != 0
    with pytest.raises(AssertionError, match="shares bits"):
        terms.beside(rest, 0x100)


def test_low_bits_of_a_length_that_is_wider_than_the_operand() -> None:
    """AND of 32 bits with a mask that the length's scale says the bits of; no other."""
    rng = random.Random(3)
    for _ in range(50):
        scale = 1 << rng.randrange(4, 12)
        rest, mask = rng.randrange(scale), (1 << rng.randrange(1, 14)) - 1
        length, facts = linear(rest, {"u": scale}), Facts({"u": (0, (1 << 60) // scale)})
        code = bytes([0x81, 0xE1]) + mask.to_bytes(4, "little")  # and ecx, mask
        if mask < 128:
            code = bytes([0x83, 0xE1, mask])
        m = machine({RCX: length}, facts=facts)
        step = step_of(Decoder(64, code, ip=0x1000).decode())
        if mask < scale:
            step(m)
            assert m.gpr[RCX] == rest & mask
        else:
            with pytest.raises(Fork):
                step(m)

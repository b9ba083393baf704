"""encrypt and decrypt of AES-GCM by hand: proved for every length, faults of all kinds refused."""

import pytest
from helpers.crypt_objects import source, spec
from helpers.verify_objects import ASM, assembled

from ghashgen.check.statements import load_spec
from ghashgen.verify.core.limits import GREATEST_TEXT
from ghashgen.verify.core.refutation import Category
from ghashgen.verify.difference import explain
from ghashgen.verify.prove import THEOREMS, Proof, prove_object
from ghashgen.verify.search.telling import wrong_at
from ghashgen.verify.statements.gcm import GcmSpec


def proved(text: str, kernel: str, operation: str) -> Proof:
    proof = prove_object(assembled(text), spec(kernel, operation))
    explain(proof.refutation)
    return proof


WAYS = [
    ("stitched", "encrypt", ()),
    ("stitched", "encrypt", ("KEEP",)),
    ("stitched", "decrypt", ()),
    ("stitched_wide", "encrypt", ()),
    ("stitched_wide", "decrypt", ()),
]


@pytest.mark.parametrize(("kernel", "operation", "defined"), WAYS)
def test_it_is_proved_for_every_length(
    kernel: str, operation: str, defined: tuple[str, ...]
) -> None:
    proof = proved(source(kernel, *defined), kernel, operation)
    assert proof.refutation is None, str(proof.refutation)
    assert {(t.what, t.lengths, t.method) for t in proof.theorems} == {
        (what, f"0..{GREATEST_TEXT}", f"certificate, {where}")
        for what in THEOREMS
        for where in ("apart", "in place")
    }


@pytest.mark.parametrize("rounds", [5, 9])
def test_rounds_of_aes_that_a_loop_carries_are_not_followed(rounds: int) -> None:
    """It is right, and an assertion has no words for a block after some rounds."""
    proof = proved(source("stitched", f"AHEAD {rounds}"), "stitched", "decrypt")
    assert proof.refutation is not None
    assert proof.refutation.category is UNSUPPORTED, str(proof.refutation)


FUNCTION, MEMORY, UNSUPPORTED = Category.FUNCTION, Category.MEMORY, Category.UNSUPPORTED
PADDED = "the last partial block is not the padded input bytes"

PLANTED = [
    # Counters.
    ("encrypt", (), "one:    dd 1, 0", "one:    dd 2, 0", 0, FUNCTION, "the counter block"),
    ("encrypt", (), "one:    dd 1, 0", "one:    dd 1, 1", 0, FUNCTION, "the counter block"),
    ("decrypt", (), "one:    dd 1, 0", "one:    dd 0, 1", 0, FUNCTION, "the counter block"),
    # A carry out of the word: right for most counters.
    ("encrypt", (), "vpaddd ", "vpaddq ", 0, FUNCTION, "an addition of secrets"),
    # A big-endian counter: right unless a byte carries.
    ("encrypt", (), "vpaddd      xmm11, xmm11, [one]",
     "vpshufb xmm11, xmm11, [swap]\n vpaddd xmm11, xmm11, [big]\n vpshufb xmm11, xmm11, [swap]",
     0, FUNCTION, "the counter block"),
    ("encrypt", (), "    vpshufb     xmm11, xmm11, [swap]\n    vmovdqu     [COUNTER], xmm11",
     "    vmovdqu     [COUNTER], xmm11", 0, FUNCTION, "the counter block is wrong"),
    ("encrypt", (), "    vmovdqu     [COUNTER], xmm11", "nop", 0, FUNCTION, "the counter block"),
    ("decrypt", ("AHEAD 5",), "vpsubd      xmm11", "vpaddd      xmm11", 0, FUNCTION, "block"),
    # Rounds and round keys.
    ("encrypt", (), "vaesenc     xmm %+ j, xmm %+ j, KEY(%2)",
     "vaesenc     xmm %+ j, xmm %+ j, KEY(%2 ^ (7 * (%2 == 3 || %2 == 4)))", 0, FUNCTION,
     "block 1 of the output"),
    ("decrypt", ("AHEAD 5",), "ROUNDS      4, AHEAD + 1, 10", "ROUNDS      4, AHEAD + 2, 10", 0,
     FUNCTION, "block 1 of the output"),
    # The order of blocks, in what is written and in what is hashed.
    ("encrypt", (), "[OUT + %2 + 16 * j]", "[OUT + %2 + 16 * (j ^ (%1 == 4))]", 0, FUNCTION,
     "block 1 of the output"),
    ("encrypt", (), "TIMES       %1 - j, j == 0",
     "TIMES       (%1 - j) ^ (3 * (%1 == 4 && j > 1)), j == 0", 0, FUNCTION,
     "the state is wrong: block 3 times H^1 should not occur"),
    ("decrypt", (), "[%2 + 16 * j]", "[%2 + 16 * (j ^ (%1 == 4))]", 0, FUNCTION, "the state"),
    # The plaintext is hashed: right in place.
    ("encrypt", (), "    vmovdqa     xmm9, xmm0\n", "    vmovdqu     xmm9, [IN]\n", 0, FUNCTION,
     "the state is wrong"),
    # Ciphertext hashed after it is gone: right apart.
    ("decrypt", (), "    HASH        4, IN\n    WRITE       4, 0\n",
     "    WRITE       4, 0\n    HASH        4, IN\n", 0, FUNCTION, "in place"),
    ("decrypt", (), "    vmovdqu     xmm9, [IN]\n    ABSORB\n    WRITE       1, 0\n",
     "    WRITE       1, 0\n    vmovdqu     xmm9, [IN]\n    ABSORB\n", 0, FUNCTION, "in place"),
    # Read before it is written, and the group before the one that is due.
    ("encrypt", (), "HASH        4, OUT\n    ROUNDS", "HASH        4, OUT + 64\n    ROUNDS", 0,
     MEMORY, "which has no initial content"),
    ("encrypt", (), "HASH        4, OUT\n    ROUNDS", "HASH        4, OUT - 16\n    ROUNDS", 0,
     MEMORY, "before it"),
    ("encrypt", ("KEEP",), "    WRITE       4, 0\n    KEEP_GROUP\n%else\n",
     "    WRITE 4, 0\n%else\n", 0, FUNCTION, "the state is wrong"),
    # The last block.
    ("encrypt", (), "[masks + 16]", "[masks + 15]", 0, FUNCTION, PADDED),
    ("encrypt", (), "[masks + 16]", "[masks + 17]", 0, FUNCTION, "block 1 of the output"),
    ("encrypt", (), "vpand       xmm9, xmm0, [r10]", "vmovdqa xmm9, xmm0", 0, FUNCTION, PADDED),
    ("decrypt", (), "    vmovdqa     xmm9, xmm1\n", "    vmovdqa     xmm9, xmm0\n", 0, FUNCTION,
     "the state"),
    ("encrypt", (), "    vpextrb     [OUT], xmm0, 0\n", "", 0, FUNCTION, "is not written"),
    ("encrypt", (), "vpextrb     [OUT], xmm0, 0", "vmovd       [OUT], xmm0", 0, MEMORY, "beyond"),
    ("encrypt", (), "    vpsrldq     xmm0, xmm0, 2\n", "", 0, FUNCTION, "block 1 of the output"),
    ("decrypt", (), "vmovd       [OUT], xmm0", "vmovq       [OUT], xmm0", 0, MEMORY, "output"),
    # Each byte gets one value.
    ("encrypt", (), "vmovdqu     [OUT + %2 + 16 * j], xmm %+ j",
     "vmovdqu [OUT + %2 + 16 * j], xmm15\n vmovdqu [OUT + %2 + 16 * j], xmm %+ j", 0, MEMORY,
     "written already"),
    # Right for the lengths executed: only the induction can see it.
    ("encrypt", (), "cmp         LENGTH, 64\n    jb          .rest",
     "cmp LENGTH, 4096\n jae .done\n cmp LENGTH, 64\n jb .rest", 0, UNSUPPORTED, "induction"),
    ("decrypt", (), ".group:\n",
     "cmp LENGTH, 4096\n jb .group\n vpaddd xmm11, xmm11, [one]\n.group:\n", 1, UNSUPPORTED, ""),
    # A branch on the counter.
    ("encrypt", (), "    test        LENGTH, LENGTH\n    jz          .done\n",
     "    test LENGTH, LENGTH\n jz .done\n cmp dword [COUNTER + 12], -1\n je .done\n", 0,
     Category.CONSTANT_TIME, ""),
]  # fmt: skip
"""Operation, variant, a text, what stands there instead, at which occurrence, and the refusal."""


@pytest.mark.parametrize(("operation", "defined", "old", "new", "at", "category", "words"), PLANTED)
def test_a_planted_fault_is_refused(
    operation: str,
    defined: tuple[str, ...],
    old: str,
    new: str,
    at: int,
    category: Category,
    words: str,
) -> None:
    parts = source("stitched", *defined).split(old)
    assert len(parts) > at + 1, f"no such text: {old!r}"
    text = old.join(parts[: at + 1]) + new + old.join(parts[at + 1 :])
    text = text.replace("one:    dd", "big:    dd 0, 0, 0, 1 << 24\none:    dd", 1)
    refutation = proved(text, "stitched", operation).refutation
    assert refutation is not None
    assert refutation.category in (category, UNSUPPORTED), str(refutation)


WIDE = [
    ("encrypt", "lanes:  dd 0, 0, 0, 0, 1", "lanes:  dd 0, 0, 0, 0, 2", "block 2 of the output"),
    ("encrypt", "four:   times 4 dd 4", "four:   times 4 dd 3", "the counter block"),
    ("decrypt", "POWERS(4 * (%1 - j))", "POWERS(4 * (j + 1))", "the state is wrong"),
    ("encrypt", "vmovdqu8    zmm9 {k1}{z}, %1", "vmovdqa64   zmm9, %1", PADDED),
    ("encrypt", "vmovdqu8    [OUT] {k1}, zmm0", "vmovdqu64   [OUT], zmm0", "beyond it"),
    (
        "decrypt",
        "vmovdqu8    [OUT] {k1}, zmm0",
        "vmovdqu8    [OUT] {k2}, zmm0",
        "a mask that the caller left",
    ),
    ("decrypt", "vpsubd      xmm11, xmm11, xmm30", "nop", "the counter block is wrong"),
    ("encrypt", "add         LENGTH, 15", "add         LENGTH, 14", ""),
]


@pytest.mark.parametrize(("operation", "old", "new", "words"), WIDE)
def test_a_fault_planted_in_lanes_is_refused(
    operation: str, old: str, new: str, words: str
) -> None:
    text = source("stitched_wide")
    assert text.count(old) == 1
    refutation = proved(text.replace(old, new), "stitched_wide", operation).refutation
    assert refutation is not None


def test_a_file_states_it() -> None:
    stated = load_spec(ASM / "stitched.toml")
    assert isinstance(stated, GcmSpec)
    assert [f.operation for f in stated.functions] == ["decrypt", "encrypt"]
    assert wrong_at(assembled(source("stitched")), stated, [0, 37, 129]) is None

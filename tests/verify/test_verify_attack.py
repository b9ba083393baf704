"""Wrong objects that an earlier prover called proved: each is refused, its repaired twin proved.

Each is first run on this CPU, to see that the one is wrong and the other right.
"""

from dataclasses import replace

import pytest
from helpers.attacking import (
    STATE,
    SUBKEY,
    expected,
    hashed,
    multiplied,
    powered,
    probed,
    proof,
    source,
)
from helpers.attacking import statement as statement_of
from helpers.compiling import emitted_text
from helpers.verify_objects import assembled

from ghashgen.algebra.field.ghash import ghash_padded
from ghashgen.check.proofs import statement
from ghashgen.check.validation.segments import power_of
from ghashgen.kernels.hash.kernel import Kernel
from ghashgen.kernels.target import target
from ghashgen.verify.core.refutation import Category
from ghashgen.verify.prove import prove_object
from ghashgen.verify.search.telling import wrong_at

FUNCTION, UNSUPPORTED, WIPE = Category.FUNCTION, Category.UNSUPPORTED, Category.WIPE

DATA = bytes((31 * k + 7) & 0xFF for k in range(4096))

# name -> (length multiple, right at, wrong at, category, words of the refutation)
LENGTHS = {
    "tail_kept": (
        1,
        (0, 5, 69, 128, 133, 134, 196),
        (197, 261),
        FUNCTION,
        "the state is wrong (length 197)",
    ),
    "total_kept": (1, (0, 5, 64, 133, 256, 399), (400 + 64 + 5, 479), UNSUPPORTED, "refused"),
    "total_twice": (1, (0, 5, 64, 133, 2111, 2112), (2113, 2197), UNSUPPORTED, "refused"),
    "block_kept": (16, (0, 16, 128, 144), (192, 256), FUNCTION, "(length 256)"),
    "sign_of_length": (16, (0, 16, 128, 176), (192, 256, 1008), FUNCTION, "(length 256)"),
    "narrow_shift": (16, (0, 16, 144, 192, 256), (160, 176), FUNCTION, ""),
    "narrow_compare": (16, (0, 16, 144, 192, 256), (160, 176), FUNCTION, ""),
    "narrow_test": (16, (0, 16, 144, 192, 256), (160, 176), FUNCTION, ""),
    "narrow_and": (16, (0, 16, 144, 192, 256), (160, 176), FUNCTION, ""),
}

MISSED = {"block_kept"}
"""Right twins of which the search finds no certificate: one that takes a block more before its loop
for some lengths has no single assertion at its head.
"""


@pytest.mark.parametrize("name", sorted(LENGTHS))
def test_wrong_at_some_lengths(name: str) -> None:
    multiple, right, wrong, category, words = LENGTHS[name]
    bad, good = source(name, True), source(name, False)
    for length in range(0, 400, multiple):
        assert hashed(good, DATA, length) == expected(DATA[:length]), length
    assert all(hashed(bad, DATA, n) == expected(DATA[:n]) for n in right)
    assert all(hashed(bad, DATA, n) != expected(DATA[:n]) for n in wrong)
    found = proof(name, False, "update", length_multiple=multiple).refutation
    assert (found is not None) == (name in MISSED), str(found)
    assert found is None or found.category is UNSUPPORTED
    refutation = proof(name, True, "update", length_multiple=multiple).refutation
    assert refutation is not None
    assert refutation.category is category, str(refutation)
    assert words in str(refutation)


def test_a_byte_beside_what_the_caller_left() -> None:
    """The byte is known, whatever is beside it; what is beside it is refused where it is used."""
    zeroed = "movzx       r9d, byte [rdx]\n    mov         [r8], r9b"
    wide = "[r8], r9w"
    merged = "mov         r9b, [rdx]\n    mov         [r8], r9b"
    text = source("tail_kept", False)
    assert text.count(zeroed) == 1
    right = text.replace(zeroed, merged)
    wrong = text.replace(zeroed, merged.replace("[r8], r9b", wide))
    for length in range(15):
        assert hashed(right, DATA, length) == expected(DATA[:length]), length
    spec = statement_of("update", length_multiple=1)
    assert prove_object(assembled(right), spec).refutation is None
    refutation = wrong_at(assembled(wrong), spec, range(15))
    assert refutation is not None
    assert refutation.category is FUNCTION
    assert "the state: part of what the caller left" in str(refutation)


def test_the_last_lengths() -> None:
    name = "last_lengths"
    # It returns without a look at the input, which is nowhere.
    assert hashed(source(name, True), None, (1 << 62) - 64 + 16) == STATE
    assert proof(name, False, "update").refutation is None
    refutation = proof(name, True, "update").refutation
    assert refutation is not None
    assert refutation.category is UNSUPPORTED, str(refutation)


@pytest.mark.parametrize("name", ["null_input", "wrapped_pointer"])
def test_a_null_pointer_and_no_bytes(name: str) -> None:
    assert hashed(source(name, True), None, 0) != STATE
    assert hashed(source(name, False), None, 0) == STATE
    assert proof(name, False, "update").refutation is None
    refutation = proof(name, True, "update").refutation
    assert refutation is not None
    assert refutation.category is UNSUPPORTED, str(refutation)


def test_a_mask_register_narrows() -> None:
    name, right = "mask_width", ghash_padded(SUBKEY, STATE, bytes(16))
    assert multiplied(source(name, True), STATE) != right
    assert multiplied(source(name, False), STATE) == right
    assert proof(name, False, "mul").refutation is None
    refutation = proof(name, True, "mul").refutation
    assert refutation is not None
    assert refutation.category is FUNCTION, str(refutation)


LEFT = {
    "wipe_shared": ("mul", "rax may hold a secret"),
    "wipe_released": ("mul", "rax may hold a secret"),
    "wipe_kept_carry": ("mul", "the flags may depend on a secret"),
    "wipe_rotated": ("mul", "the flags may depend on a secret"),
    "wipe_cut_flags": ("update", "the flags may depend on a secret"),
}


@pytest.mark.parametrize("name", sorted(LEFT))
def test_a_secret_left_behind(name: str) -> None:
    operation, words = LEFT[name]
    states = [bytes((k * j + k) & 0xFF for j in range(16)) for k in range(1, 40)]
    assert len({probed(source(name, True), state) for state in states}) > 1
    assert len({probed(source(name, False), state) for state in states}) == 1
    assert proof(name, False, operation, wipe=True).refutation is None
    refutation = proof(name, True, operation, wipe=True).refutation
    assert refutation is not None
    assert refutation.category is WIPE, str(refutation)
    assert words in str(refutation)


def test_the_greatest_exponents() -> None:
    """m - 0 is negative from 2^63 on: the wrong object returns there without a result."""
    kernel = Kernel("avx", "winograd", "clmul1", 1, segments=True)
    text, name = emitted_text(kernel, target()), f"{kernel.name}_power"
    spec = statement(kernel, kernel.name, "sysv")
    spec = replace(spec, functions=tuple(f for f in spec.functions if f.operation == "power"))
    before, start, after = text.partition(f"{name}:\n")
    found = {}
    for jump in ("jns", "jae"):
        extra = f"    cmp rdx, 0\n    {jump} .every\n    ret\n.every:\n"
        changed = before + start + after.replace("    endbr64\n", "    endbr64\n" + extra, 1)
        assert changed.count(extra) == 1
        exponents = (0, 1, 5, (1 << 63) - 1, 1 << 63, (1 << 64) - 1)
        found[jump] = [
            powered(changed, kernel.name, m) == power_of(SUBKEY, m, "ghash") for m in exponents
        ]
        refutation = prove_object(assembled(changed), spec).refutation
        assert (refutation is None) is (jump == "jae"), str(refutation)
        if refutation is not None:
            assert refutation.category is UNSUPPORTED, str(refutation)
            assert "exponent, which has to be known" in str(refutation)
    assert found == {"jns": [True] * 4 + [False] * 2, "jae": [True] * 6}

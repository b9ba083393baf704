"""A family of kernels from outside the package: proved for every length, wrong ones refused."""

import ast
import re
from dataclasses import replace
from pathlib import Path

import pytest
from ghashgen.verify.engine.family import Result
from toys.family.sums import BOUND, MEANINGS, Sums, sums
from verify_objects import assembled

import ghashgen.verify
from ghashgen.verify.core.refutation import Category
from ghashgen.verify.difference import explain
from ghashgen.verify.prove import THEOREMS, Proof, prove_object

ASM = (Path(__file__).parent / "toys" / "family" / "sums.asm").read_text()
WIN = "%define WIN\n"


def only(operation: str, statement: Sums) -> Sums:
    functions = tuple(f for f in statement.functions if f.operation == operation)
    return replace(statement, functions=functions)


def built(text: str, abi: str) -> bytes:
    return assembled((WIN if abi == "win64" else "") + text)


def planted(operation: str, old: str, new: str, at: int = 0, abi: str = "sysv") -> Proof:
    parts = ASM.split(old)
    assert len(parts) > at + 1, f"no such text: {old!r}"
    text = old.join(parts[: at + 1]) + new + old.join(parts[at + 1 :])
    assert text != ASM
    return prove_object(built(text, abi), only(operation, sums(abi)))


@pytest.mark.parametrize("abi", ["sysv", "win64"])
def test_a_family_of_ones_own_is_proved_for_every_length(abi: str) -> None:
    proof = prove_object(built(ASM, abi), sums(abi))
    assert proof.refutation is None, proof.report()
    shown = {(t.symbol, t.lengths, t.method) for t in proof.theorems if t.what == "function"}
    below, above = "0..64, multiples of 16", f"65..{BOUND}, multiples of 16"
    assert shown == {
        ("sums_init", "none", "execution"),
        ("sums_update", below, "execution"),
        ("sums_update", above, "induction"),
        ("sums_update", "every pair", "induction"),
        ("sums_probe", "none", "execution"),
        ("sums_count", "every length", "execution"),
        ("sums_mask", below, "execution"),
        ("sums_mask", above, "induction"),
        ("sums_replace", below, "execution"),
        ("sums_replace", above, "induction"),
    }
    assert {t.what for t in proof.theorems} == set(THEOREMS)
    assert [f.behind is not None for f in proof.functions] == [
        False, True, True, True, False, False,
    ]  # fmt: skip


FUNCTION, MEMORY, UNSUPPORTED = Category.FUNCTION, Category.MEMORY, Category.UNSUPPORTED

PLANTED = [
    ("init", "[TABLE], xmm0", "[TABLE], xmm1", 0, FUNCTION),
    ("init", "movdqu      [TABLE], xmm0", "nop", 0, FUNCTION),
    ("init", "movdqu      [TABLE], xmm0", "movdqu [STATE], xmm0", 0, MEMORY),
    # An unwritten table cannot be read, whatever the caller left there.
    ("init", "movdqu      xmm0, [STATE]", "movdqu xmm0, [TABLE]", 0, MEMORY),
    ("update", "pxor        xmm0, xmm1", "nop", 0, FUNCTION),
    ("update", "pxor        xmm0, xmm1", "movdqa xmm0, xmm1", 1, FUNCTION),
    ("update", "pxor        xmm0, xmm1", "pand xmm0, xmm1", 1, FUNCTION),
    ("update", "movdqu      xmm1, [TABLE]", "pxor xmm1, xmm1", 0, FUNCTION),
    ("update", "movdqu      xmm1, [TEXT]", "movdqu xmm1, [TEXT + 1]", 0, MEMORY),
    ("update", "add         TEXT, 16", "add TEXT, 32", 0, MEMORY),
    ("update", "add         AAD, 16", "nop", 0, MEMORY),
    # One length in the place of the other: right where they are equal.
    ("update", "test        LENGTH, LENGTH", "mov LENGTH, AAD_LENGTH\n test LENGTH, LENGTH", 0,
     FUNCTION),
    # Right for the lengths executed; only one of the inductions can see it.
    ("update", "test        LENGTH, LENGTH", "cmp LENGTH, 1024\n jae .end\n test LENGTH, LENGTH",
     0, UNSUPPORTED),
    ("update", "test        AAD_LENGTH, AAD_LENGTH",
     "cmp AAD_LENGTH, 1024\n jae .text\n test AAD_LENGTH, AAD_LENGTH", 0, UNSUPPORTED),
    # Wrong only where both are long: no pair of these is ever executed.
    ("update", "    test        AAD_LENGTH, AAD_LENGTH\n",
     "    cmp AAD_LENGTH, 1024\n jb .go\n cmp LENGTH, 1024\n jae .end\n.go:\n"
     "    test AAD_LENGTH, AAD_LENGTH\n", 0, UNSUPPORTED),
    # An output: every byte gets one value, and none beyond does.
    ("mask", "movdqu      [OUT], xmm0", "nop", 0, FUNCTION),
    ("mask", "movdqu      [OUT], xmm0", "movdqu [OUT], xmm1\n movdqu [OUT], xmm0", 0, MEMORY),
    ("mask", "movdqu      [OUT], xmm0", "movdqu [OUT], xmm1", 0, FUNCTION),
    ("mask", "movdqu      [OUT], xmm0", "movdqu [OUT + 1], xmm0", 0, MEMORY),
    ("mask", "movdqu      xmm0, [IN]", "movdqu xmm0, [OUT]", 0, MEMORY),
    ("mask", "add         OUT, 16", "nop", 0, MEMORY),
    ("mask", "test        COUNT, COUNT", "cmp COUNT, 1024\n jae .end\n test COUNT, COUNT", 0,
     UNSUPPORTED),
    # In place, a byte is what was written to it from then on, and gets one value.
    ("replace", "add         IN, 16", "nop", 0, MEMORY),
    ("replace", "pxor        xmm0, xmm1\n    movdqu      [OUT], xmm0",
     "movdqu [OUT], xmm1\n movdqu xmm0, [IN]", 0, FUNCTION),
    ("replace", "movdqu      [OUT], xmm0", "movdqu [OUT], xmm1\n movdqu [IN], xmm0", 0, MEMORY),
    ("replace", "movdqu      [OUT], xmm0", "nop", 0, FUNCTION),
    ("replace", "movdqu      [OUT], xmm0", "movdqu [OUT + 16], xmm0", 0, MEMORY),
    ("mask", "    test        COUNT, COUNT\n",
     "    cmp COUNT, 1024\n jb .go\n movdqa xmm1, xmm0\n.go:\n test COUNT, COUNT\n", 0,
     UNSUPPORTED),
    # What is returned: its bits, in its register.
    ("probe", "movd        eax, xmm0", "nop", 0, FUNCTION),
    ("probe", "movd        eax, xmm0", "movd ecx, xmm0", 0, FUNCTION),
    ("probe", "movd        eax, xmm0", "movd eax, xmm1", 0, FUNCTION),
    ("probe", "movd        eax, xmm0", "xor eax, eax", 0, FUNCTION),
    ("probe", "movd        eax, xmm0", "mov rax, rcx", 0, FUNCTION),
    ("probe", "movd        eax, xmm0", "movd eax, xmm0\n shr eax, 1", 0, FUNCTION),
    ("probe", "movd        eax, xmm0", "movd eax, xmm0\n and eax, 0x7fffffff", 0, FUNCTION),
    ("count", "shr         rax, 4", "nop", 0, FUNCTION),
    ("count", "shr         rax, 4", "shr rax, 3", 0, FUNCTION),
    ("count", "shr         rax, 4", "xor eax, eax", 0, FUNCTION),
    ("count", "shr         rax, 4", "shr rax, 4\n mov eax, eax", 0, UNSUPPORTED),
    ("count", "shr         rax, 4", "shr rax, 4\n mov rcx, rax\n mov rax, r10", 0, FUNCTION),
]  # fmt: skip


@pytest.mark.parametrize("abi", ["sysv", "win64"])
@pytest.mark.parametrize(("operation", "old", "new", "at", "category"), PLANTED)
def test_a_planted_fault_is_rejected(
    operation: str, old: str, new: str, at: int, category: Category, abi: str
) -> None:
    refutation = planted(operation, old, new, at, abi).refutation
    assert refutation is not None
    assert refutation.category is category, str(refutation)


def test_arguments_on_the_stack_are_those_of_the_convention() -> None:
    for old, new in (("[rsp + 40]", "[rsp + 32]"), ("[rsp + 48]", "[rsp + 56]")):
        refutation = planted("update", old, new, abi="win64").refutation
        assert refutation is not None
        assert refutation.category in (MEMORY, UNSUPPORTED)


def test_a_refusal_that_nobody_can_explain_stays_one() -> None:
    proof = planted("update", "pxor        xmm0, xmm1", "nop")
    explain(proof.refutation)
    assert "the sum is wrong" in proof.report()


def test_a_written_block_may_be_read_back() -> None:
    again = "movdqu [OUT], xmm0\n movdqu xmm2, [OUT]\n pxor xmm2, xmm2"
    assert planted("mask", "movdqu      [OUT], xmm0", again).refutation is None


def test_a_block_may_be_written_again_as_it_is() -> None:
    again = "movdqu [OUT], xmm0\n movdqu [OUT], xmm0"
    assert planted("mask", "movdqu      [OUT], xmm0", again).refutation is None


def test_in_place_the_output_is_the_input_until_it_is_written() -> None:
    assert planted("replace", "movdqu      xmm0, [IN]", "movdqu xmm0, [OUT]").refutation is None


def test_a_family_that_wipes() -> None:
    text = ASM.replace("    ret\n", "    pxor xmm0, xmm0\n    pxor xmm1, xmm1\n    ret\n")
    assert prove_object(assembled(text), sums(wipe=True)).refutation is None
    refutation = prove_object(assembled(ASM), sums(wipe=True)).refutation
    assert refutation is not None
    assert refutation.category is Category.WIPE


def wiped(move: str) -> Proof:
    """Return the proof of a probe that wipes, with another move to its result."""
    text = ASM.replace("    ret\n", "    pxor xmm0, xmm0\n    pxor xmm1, xmm1\n    ret\n")
    text = text.replace("movd        eax, xmm0", move)
    return prove_object(assembled(text), only("probe", sums(wipe=True)))


def test_bits_above_what_is_returned_mean_nothing_and_hold_no_secret_once_wiped() -> None:
    assert planted("probe", "movd        eax, xmm0", "movq rax, xmm0").refutation is None
    assert wiped("movd eax, xmm0").refutation is None
    assert wiped("movq rax, xmm0\n mov eax, eax").refutation is None
    for move in ("movq rax, xmm0", "movd eax, xmm0\n mov ecx, eax"):
        refutation = wiped(move).refutation
        assert refutation is not None
        assert refutation.category is Category.WIPE


@pytest.mark.parametrize(("operation", "returns"), [("probe", None), ("init", Result(32))])
def test_a_number_is_compared_where_one_is_returned_and_nowhere_else(
    operation: str, returns: Result | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(MEANINGS[operation], "returns", returns)
    refutation = prove_object(built(ASM, "sysv"), only(operation, sums())).refutation
    assert refutation is not None
    assert refutation.category is UNSUPPORTED


HASH = re.compile(r"ghash|polyval|subkey|karatsuba|\bH\^|\bpower\b|\binit\b|\bupdate\b", re.I)


def test_what_drives_a_proof_names_no_function_of_a_hash() -> None:
    """Strings in the code, documentation aside."""
    folder = Path(ghashgen.verify.__file__).parent
    for path in [*folder.glob("engine/*.py"), *folder.glob("core/*.py"), folder / "prove.py"]:
        tree = ast.parse(path.read_text())
        said = {
            node.value.value
            for node in ast.walk(tree)
            if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        }
        for node in ast.walk(tree):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                assert node.value in said or not HASH.search(node.value), (path, node.value)

"""The prover on hand-written kernels: right ones are proved, planted faults are rejected."""

import pickle
from dataclasses import replace

import pytest
from helpers.verify_objects import ASM, assembled, edited, original

from ghashgen.check.statements import load_spec
from ghashgen.support.errors import GhashgenError
from ghashgen.verify.core.refutation import Category
from ghashgen.verify.difference import explain
from ghashgen.verify.prove import THEOREMS, Proof, prove_object
from ghashgen.verify.report import proof_data, report
from ghashgen.verify.search.telling import wrong_at
from ghashgen.verify.statements.hash import KernelSpec

FUNCTION, MEMORY, ABI = Category.FUNCTION, Category.MEMORY, Category.ABI
TIMING = Category.TIMING
CONSTANT_TIME, WIPE, UNSUPPORTED = Category.CONSTANT_TIME, Category.WIPE, Category.UNSUPPORTED


def spec(name: str, **changes: object) -> KernelSpec:
    return replace(load_spec(ASM / f"{name}.toml"), **changes)  # type: ignore[arg-type]


def only(statement: KernelSpec, operation: str) -> KernelSpec:
    functions = tuple(f for f in statement.functions if f.operation == operation)
    return replace(statement, functions=functions)


@pytest.mark.parametrize(
    ("name", "functions", "lengths"),
    [
        ("foreign", 3, "0..4611686018427387903, multiples of 16"),
        ("wide", 1, "0..4611686018427387903"),
        # It aligns its frame to 32 bytes.
        ("lanes", 1, "0..4611686018427387903, multiples of 16"),
    ],
)
def test_a_right_kernel_is_proved(name: str, functions: int, lengths: str) -> None:
    proof = prove_object(original(name), spec(name))
    assert proof.refutation is None
    assert len(proof.functions) == functions
    update = [t for t in proof.theorems if t.symbol == proof.functions[-1].symbol]
    assert {t.what for t in update} == set(THEOREMS)
    assert {(t.lengths, t.method) for t in update} == {(lengths, "certificate")}


def test_a_right_multiplication_in_natural_order_is_proved() -> None:
    proof = prove_object(original("natural"), spec("natural"))
    assert proof.refutation is None
    assert {(t.lengths, t.method) for t in proof.theorems} == {("none", "certificate")}


PLANTED = [
    # foreign: init, gmult, ghash
    ("foreign", "init", "psrlq       xmm3, 63", "psrlq       xmm3, 62", 0, FUNCTION),
    ("foreign", "init", "pand        xmm1, [top_bits]", "nop", 0, FUNCTION),
    ("foreign", "init", "    jne         .power", "    jne .power\n    jmp rsi", 0, UNSUPPORTED),
    ("foreign", "init", "cmp         rax, 64", "cmp         rax, 80", 0, MEMORY),
    ("foreign", "init", "cmp         rax, 64", "cmp         rax, 48", 0, FUNCTION),
    ("foreign", "mul", "ADD_PRODUCT [rsi]", "ADD_PRODUCT [rsi + 16]", 0, FUNCTION),
    ("foreign", "mul", "ADD_PRODUCT [rsi]", "ADD_PRODUCT [rsi + 8]", 0, MEMORY),
    ("foreign", "mul", "movdqu      xmm0, [rdi]", "movdqa      xmm0, [rdi]", 0, MEMORY),
    ("foreign", "mul", "movdqu      xmm0, [rdi]", "movdqu      xmm0, [rdi + 1]", 0, MEMORY),
    ("foreign", "mul", "movdqu      [rdi], xmm0", "movdqu      [rsi], xmm0", 0, MEMORY),
    ("foreign", "mul", "pshufb      xmm0, xmm1", "pshufb      xmm1, xmm0", 0, FUNCTION),
    ("foreign", "update", "ADD_PRODUCT [rsi + 32]", "ADD_PRODUCT [rsi + 16]", 0, FUNCTION),
    ("foreign", "update", "pclmulqdq   xmm7, %1, 0x10", "pclmulqdq   xmm7, %1, 0x00", 0, FUNCTION),
    ("foreign", "update", "pxor        xmm0, xmm8", "por         xmm0, xmm8", 0, FUNCTION),
    ("foreign", "update", "movdqa      xmm8, xmm0", "nop", 1, FUNCTION),
    ("foreign", "update", "[rdx + 48]", "[rdx + 49]", 0, MEMORY),
    ("foreign", "update", "[rdx + 48]", "[rdx + 56]", 0, MEMORY),
    ("foreign", "update", "[rdx + 48]", "[rdx + 64]", 0, MEMORY),
    ("foreign", "update", "[rdx + 48]", "[rdx + 47]", 0, FUNCTION),
    ("foreign", "update", "add         rdx, 64", "add         rdx, 80", 0, MEMORY),
    ("foreign", "update", "jz          .done", "jb          .done", 0, FUNCTION),
    ("foreign", "update", "add         rcx, 64", "mov         rbx, 1\nadd rcx, 64", 0, ABI),
    ("foreign", "update", "add         rcx, 64", "push        rbx\nadd rcx, 64", 0, ABI),
    (
        "foreign", "update", "pshufb      xmm8, xmm1", "movq rax, xmm8\ntest rax, rax\njz .done", 0,
        CONSTANT_TIME,
    ),
    (
        "foreign", "update", "pshufb      xmm8, xmm1",
        "movq rax, xmm8\nand eax, 15\nmovzx eax, byte [rdx + rax]", 0, CONSTANT_TIME,
    ),
    ("foreign", "update", "movdqa      xmm8, xmm0", "movaps      xmm8, xmm0", 0, TIMING),
    ("foreign", "update", "add         rcx, 64", "popcnt      rax, rcx", 0, UNSUPPORTED),
    ("foreign", "update", "movdqu      [rdi], xmm8", "movdqu      [rdi], xmm9", 0, FUNCTION),
    ("foreign", "update", "movdqu      [rdi], xmm8", "movdqu      [rsp], xmm8", 0, MEMORY),
    # wide
    ("wide", "update", "    vzeroupper\n", "", 0, ABI),
    ("wide", "update", "vmovdqu8    zmm6{k1}{z}, [rdx]", "vmovdqu64   zmm6, [rdx]", 0, MEMORY),
    ("wide", "update", "bzhi        rax, rax, rcx", "bzhi        rax, rax, r8", 0, UNSUPPORTED),
    ("wide", "update", "add         rcx, 15", "add         rcx, 16", 0, FUNCTION),
    ("wide", "update", "[rdi + rcx + 64]", "[rdi + rcx + 48]", 0, FUNCTION),
    ("wide", "update", "vmovdqu64   zmm1{k2}{z}", "vmovdqu64   zmm1", 0, MEMORY),
    ("wide", "update", "xmm3, xmm5, 0x96", "xmm3, xmm5, 0x69", 0, FUNCTION),
    ("wide", "update", "vextracti64x4 ymm4, zmm5, 1", "vextracti64x4 ymm4, zmm5, 0", 0, FUNCTION),
    ("wide", "update", "cmp         rcx, 64\n    jae", "cmp         rcx, 48\n    jae", 0, MEMORY),
    # lanes: one accumulator a lane, a stack frame
    ("lanes", "update", "MULTIPLY    ymm9", "MULTIPLY    ymm8", 0, FUNCTION),
    ("lanes", "update", "MULTIPLY    ymm8", "MULTIPLY    ymm9", 0, FUNCTION),
    ("lanes", "update", "and         rsp, -32", "and         rsp, -16", 0, MEMORY),
    ("lanes", "update", "sub         rsp, 64", "sub         rsp, 0", 0, MEMORY),
    ("lanes", "update", "    leave\n", "    pop         rbp\n", 0, ABI),
    ("lanes", "update", "xmm0, xmm0, [rsp + 16]", "xmm0, xmm0, [rsp + 32]", 0, FUNCTION),
    # natural: GFNI
    ("natural", "mul", "[rdi + 16], 0x01", "[rdi], 0x01", 0, FUNCTION),
    ("natural", "mul", "[reverse_bits], 0", "[reverse_bits], 1", 0, FUNCTION),
    ("natural", "mul", "0x8040201008040201", "0x0102040810204080", 0, FUNCTION),
]  # fmt: skip


@pytest.mark.parametrize(("name", "operation", "old", "new", "occurrence", "category"), PLANTED)
def test_a_planted_fault_is_rejected(
    name: str, operation: str, old: str, new: str, occurrence: int, category: Category
) -> None:
    proof = prove_object(edited(name, old, new, occurrence), only(spec(name), operation))
    assert proof.refutation is not None
    assert proof.refutation.category is category, str(proof.refutation)


def refuted(proof: Proof) -> str:
    assert proof.refutation is not None
    return str(proof.refutation)


def test_a_wrong_power_is_told_in_words() -> None:
    wrong = edited("foreign", "ADD_PRODUCT [rsi + 32]", "ADD_PRODUCT [rsi + 16]")
    refutation = prove_object(wrong, only(spec("foreign"), "update")).refutation
    assert refutation is not None
    assert refutation.numbers["length"] == 64
    assert refutation.message == "the state is wrong"
    explain(refutation)
    assert refutation.message.startswith("the state is wrong: block 2 times H^2 should not occur")
    difference = refutation.explanation
    assert difference is not None
    assert "block 2 times H^2 should not occur" in difference.product
    assert "block 2 times H^3 is missing" in difference.product
    assert difference.extra is not None
    assert difference.missing is not None
    assert {m.split(".")[0] for m in difference.extra} == {"B2", "C2"}
    assert {m.split(".")[0] for m in difference.missing} == {"B3", "C2"}
    # The first product with the wrong power.
    assert refutation.instruction.startswith("pclmul")
    assert refutation.instruction.endswith("[rsi+10h]")


def test_the_first_wrong_product_of_a_state_named_inside_products_is_told() -> None:
    """The forms are gone by then: those computed again have the same names."""
    wrong = edited("lanes", "MULTIPLY    ymm8", "MULTIPLY    ymm9")
    refutation = prove_object(wrong, only(spec("lanes"), "update")).refutation
    explain(refutation)
    assert refutation is not None
    assert "the state is wrong: block 2 times H^2 should not occur" in refutation.message
    assert refutation.instruction.startswith("vpclmul")


def test_an_over_read_names_its_length_and_distance() -> None:
    wrong = edited("foreign", "[rdx + 48]", "[rdx + 56]")
    text = refuted(prove_object(wrong, only(spec("foreign"), "update")))
    assert "load from 16 bytes of input that end 8 beyond it" in text
    assert "(length 64)" in text


def test_a_kernel_that_claims_to_wipe_and_does_not_is_rejected() -> None:
    text = refuted(prove_object(original("foreign"), spec("foreign", wipe=True)))
    assert text.startswith("wipe: foreign_")
    assert "may hold a secret at return" in text


def test_a_kernel_that_wipes_is_proved_to() -> None:
    clear = "".join(f"    pxor        xmm{k}, xmm{k}\n" for k in range(9))
    text = (ASM / "foreign.asm").read_text().replace("    ret\n", clear + "    ret\n")
    proof = prove_object(assembled(text), spec("foreign", wipe=True))
    assert proof.refutation is None
    assert {t.what for t in proof.theorems} == {*THEOREMS, "wipe"}


def test_a_secret_left_on_the_stack_is_found() -> None:
    clear = "".join(f"    pxor        xmm{k}, xmm{k}\n" for k in range(9))
    text = (ASM / "foreign.asm").read_text().replace("    ret\n", clear + "    ret\n")
    spill = text.replace(
        "movdqu      [rdi], xmm8", "movdqu      [rdi], xmm8\n    movdqu      [rsp - 24], xmm8"
    )
    assert "from the entry's stack pointer may hold a secret" in refuted(
        prove_object(assembled(spill), only(spec("foreign", wipe=True), "update"))
    )


def test_the_table_must_be_aligned_as_declared() -> None:
    text = refuted(prove_object(original("foreign"), spec("foreign", table_align=8)))
    assert "16-byte alignment, which is not assured" in text


def test_the_other_bit_order_is_rejected() -> None:
    from ghashgen.algebra.field.bitorder import Order

    proof = prove_object(original("foreign"), spec("foreign", order=Order.NATURAL))
    assert proof.refutation is not None
    assert proof.refutation.category is FUNCTION


def test_windows_wants_its_own_registers() -> None:
    refutation = prove_object(original("foreign"), spec("foreign", abi="win64")).refutation
    assert refutation is not None


LATE = {
    # The tail uses the wrong power for 3 blocks only; far lengths are run before near ones.
    "a wrong tail": (
        "wide", "    neg         rcx\n",
        "    cmp         rcx, 3\n    jne         .right\n    inc         rcx\n.right:\n"
        "    neg         rcx\n", 229,
    ),
    # Right up to 1023 bytes, wrong from there on: beyond what is executed.
    "a loop that breaks": (
        "foreign", "    sub         rcx, 64\n    jb          .single\n",
        "    cmp         rcx, 1024\n    jae         .done\n"
        "    sub         rcx, 64\n    jb          .single\n", 1024,
    ),
}  # fmt: skip


@pytest.mark.parametrize(("kernel", "old", "new", "length"), LATE.values(), ids=LATE.keys())
def test_what_is_wrong_at_some_lengths_is_found_with_a_length(
    kernel: str, old: str, new: str, length: int
) -> None:
    text = (ASM / f"{kernel}.asm").read_text().replace(old, new)
    refutation = prove_object(assembled(text), spec(kernel)).refutation
    assert refutation is not None
    assert refutation.category is FUNCTION
    assert refutation.numbers["length"] == length


def test_at_chosen_lengths_nothing_is_wrong() -> None:
    assert wrong_at(original("foreign"), only(spec("foreign"), "update"), [0, 16, 80]) is None


def test_a_statement_without_a_function_is_no_proof() -> None:
    """All of nothing holds."""
    proof = prove_object(original("foreign"), replace(spec("foreign"), functions=()))
    assert not proof.proved
    assert "no function is stated: there is nothing to prove" in str(proof.refutation)


def test_what_the_search_says_is_no_proof() -> None:
    """Only a certificate that has been accepted is one."""
    proof = prove_object(original("foreign"), only(spec("foreign"), "update"), lambda *_: None)
    assert not proof.proved
    assert "no certificate is accepted" in str(proof.refutation)


def test_no_length_says_nothing() -> None:
    refutation = wrong_at(original("foreign"), only(spec("foreign"), "update"), [])
    assert "no length is chosen" in str(refutation)


def test_an_init_of_a_table_of_nothing_is_no_proof() -> None:
    with pytest.raises(GhashgenError, match="init, but the statement says nothing of the table"):
        spec("foreign", cells=(None,) * 4)


def test_what_is_not_stated_is_named() -> None:
    """Others can call it, and nothing is proved of it."""
    proof = prove_object(original("foreign"), only(spec("foreign"), "mul"))
    assert proof.proved
    assert proof.unstated == ("foreign_ghash", "foreign_init")
    assert "nothing is stated or proved about foreign_ghash, foreign_init" in report(proof)
    assert proof_data(proof)["unstated"] == ["foreign_ghash", "foreign_init"]
    assert prove_object(original("natural"), spec("natural")).unstated == ()


def test_what_is_no_object_is_refused() -> None:
    with pytest.raises(GhashgenError, match="not an ELF file"):
        prove_object(b"no object", spec("foreign"))


def test_a_missing_symbol_is_named() -> None:
    with pytest.raises(GhashgenError, match="no symbol 'foreign_init'"):
        prove_object(original("wide"), spec("foreign"))


def test_a_proof_speaks_in_words_and_in_data() -> None:
    good = prove_object(original("natural"), spec("natural"))
    assert "natural_mul: 15 instructions followed" in report(good)
    assert proof_data(good)["functions"][0]["theorems"][0]["what"] == "function"
    wrong = edited("foreign", "ADD_PRODUCT [rsi + 32]", "ADD_PRODUCT [rsi + 16]")
    bad = prove_object(wrong, only(spec("foreign"), "update"))
    # Nobody need explain it: it is refused all the same, and may go to another process.
    assert "the state is wrong" in report(pickle.loads(pickle.dumps(bad)))
    explain(bad.refutation)
    assert "NOT proved" in report(bad)
    assert "monomial that is missing: B3." in report(bad)
    assert report(pickle.loads(pickle.dumps(bad))) == report(bad)
    data = proof_data(bad)["refutation"]
    assert data["category"] == "function"
    assert data["length"] == 64


def test_vzeroupper_writes_no_secret() -> None:
    """Registers that the kernel never uses are not suspected because VZEROUPPER names them all."""
    used = (0, 1, 2, 3, 4, 5, 6, 16, 17)
    clear = "".join(f"    vpxorq      zmm{k}, zmm{k}, zmm{k}\n" for k in used)
    text = (ASM / "wide.asm").read_text().replace("    vzeroupper\n", clear + "    vzeroupper\n")
    assert prove_object(assembled(text), spec("wide", wipe=True)).refutation is None
    forgotten = text.replace("    vpxorq      zmm16, zmm16, zmm16\n", "")
    assert prove_object(assembled(forgotten), spec("wide", wipe=True)).refutation is None
    left = text.replace("    vpxorq      zmm6, zmm6, zmm6\n", "")
    assert "zmm6 may hold a secret" in refuted(
        prove_object(assembled(left), spec("wide", wipe=True))
    )

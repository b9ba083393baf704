"""Wrong seals and opens that a prover might take for right, each with its repaired twin.

They are made of an emitted kernel by hand: each does what something in the proof of messages would
let by if it were too wide. A wrong one is refused by the first line, with the word that says what
is wrong; its twin differs in that alone, and is proved.
"""

import pickle
import re
from dataclasses import replace

import pytest
from helpers.gcm_proving import SMALL, proved, text_of
from helpers.piece_faults import ASKED, FUNCTION, MEMORY, OPEN, TIMING, Edit, Row, at, edited
from helpers.planting import put

from ghashgen.verify.core.refutation import Category, Refutation

COMPARED = "cmp rax, 0x00\n je .right"
DIFFERS = " je .right\n"
CLEARED = ".clear_cleared_1:\n"
TAG = "vmovdqu [rax], xmm0"
FRAME = "; frame\n"


def first_group(spin: bool) -> Edit:
    """Return an edit: the first group is worked on before the loop.

    With `spin` a loop that moves no pointer follows, and then what is written begins behind it.
    """

    def edit(own: str) -> str:
        found = re.search(r"\n\.groups:\n(.*?)\.group:\n(.*?)\n +jae +\.group\n", own, re.S)
        assert found is not None
        setup, group = found.groups()
        moves = re.search(r"add +(\w+), 0x20\n +sub +(\w+), 0x20\n", group)
        begins = re.search(r"\[(\w+)\], xmm0 +; zeros\n", own)
        assert moves is not None
        assert begins is not None
        at, left = moves.groups()
        wrong = f"{SPIN} mov {begins[1]}, {at}\n" if spin else ""
        straight = f"{setup}{group}\n{wrong} cmp {left}, 0x20\n jb .after_group\n"
        return own.replace("\n.groups:\n", f"\n{straight}.groups:\n", 1)

    return edit


def compared(*lines: str) -> Edit:
    """Return an edit: this decides whether the tag is right."""
    return put((COMPARED, "\n ".join(lines)))


def aligned(load: str) -> Edit:
    """Return an edit that needs the stack's alignment modulo 64, and loads after the clearing."""
    frame = f"{FRAME} mov rbx, rsp\n and rbx, -64\n"
    return put((FRAME, frame), (".clear_last:\n", f".clear_last:\n{load}"))


PADDED = r"(\.aad_rest:.*?)vpsrlq +xmm9, xmm9, 0x08 "
IV_BITS = "vmovq xmm3, rdx\n"

PAIR = """ cmp r12, 16
 jne .fine
 cmp r8, 16
 je .refused
.fine:
"""
"""Text of 16 bytes is proved behind AAD of 32."""

SPIN = " mov ecx, 3\n.spin:\n sub ecx, 1\n cmp ecx, 0\n jne .spin\n"

HOLES: dict[str, tuple[str, *Row]] = {
    # A loop that moves no pointer cuts before the output's beginning is known to be one.
    "the output is cleared from its second group on": ("open", first_group(spin=True),
        first_group(spin=False), MEMORY, "store to 16 bytes of output that end 16 beyond it"),
    # What is proved behind the answer, for one alignment of the stack, holds for that one.
    "aligned for one stack of four": ("open", aligned(" vmovdqa ymm12, [rsp + 16]\n vzeroupper\n"),
        aligned(""), MEMORY, "load from stack needs 32-byte alignment, which is not assured"),
    "a condition on 32 bits": ("open", compared("test eax, eax", "je .right"),
        compared("test rax, rax", "je .right"), *ASKED),
    "a condition on all bits but one": ("open", compared("shr rax, 1", "je .right"),
        compared("or rax, rax", "je .right"), *ASKED),
    "a condition on more than the tag": ("open",
        compared("vmovq rcx, xmm2", "or rax, rcx", "je .right"),
        compared("mov rcx, rax", "or rax, rcx", "je .right"), *ASKED),
    "bytes of the tag compared one after the other": (
        "open",
        put(
            ("vpshufd xmm1, xmm0, 0x4e\n",
             "vmovd eax, xmm0\n cmp rax, 0\n jne .differs\n vpshufd xmm1, xmm0, 0x4e\n"),
            (DIFFERS, f"{DIFFERS}.differs:\n"),
        ),
        put((DIFFERS, f"{DIFFERS}.differs:\n")),
        TIMING, "a condition depends on a secret",
    ),
    "a condition on the tag once more": ("open", *at(".right:\n",
        ".right:\n cmp rax, 0\n jne .refused\n", ".right:\n cmp r13, r13\n jne .refused\n",
        *ASKED)),
    "one byte of the tag fewer": ("open", *at("vmovq xmm1, r10\n vp",
        "lea rcx, [r10 - 1]\n vmovq xmm1, rcx\n vp", "lea rcx, [r10]\n vmovq xmm1, rcx\n vp",
        *ASKED)),
    "the right tag is given away": ("open", *at(CLEARED, f"{CLEARED} vmovdqu [r13 - 16], xmm1\n",
        f"{CLEARED} vmovdqu xmm1, [rsp]\n", MEMORY,
        "store to 16 bytes of output that start 16 before it")),
    "the status is a byte of the tag": ("open", *at(f"{CLEARED} mov eax, 0x01",
        f"{CLEARED} vmovd eax, xmm1", f"{CLEARED} mov eax, 2\n sub eax, 1", FUNCTION,
        "the status is wrong, not 1")),
    "text is written behind the zeros": ("open", *at(CLEARED, f"{CLEARED} mov byte [rbp - 1], 1\n",
        f"{CLEARED} mov rbp, 0\n", MEMORY, "store to 1 bytes of output that start 1 before it")),
    "zeros that end a byte early": ("open", *at("and r14, 0x01\n cmp r14, 0x00\n je ", "jmp ",
        "and r14, 0x01\n cmp r14, 0x00\n jbe ", FUNCTION, "the output at 0 is not written")),
    "zeros that end a byte late": ("open", *at(DIFFERS, f"{DIFFERS} add r14, 1\n",
        f"{DIFFERS} add r14, 0\n", MEMORY, "store to 1 bytes of output that end 1 beyond it")),
    # Totals, where loops have been cut.
    "a total that the loop counts down": ("seal", *at(".group:\n", ".group:\n sub r12, 32\n",
        ".group:\n mov rcx, r12\n add rcx, 32\n", FUNCTION, "the tag is wrong")),
    "the length of the text for that of the AAD": ("seal", *at("shl r8, 0x03 ",
        "mov r8, r12\n shl r8, 3 ;", "mov rcx, r8\n mov r8, rcx\n shl r8, 3 ;", FUNCTION,
        "the tag is wrong")),
    "what is left of the text for its length": ("seal", *at("shl r12, 0x03 ",
        "mov r12, r10\n shl r12, 3 ;", "add r12, r12\n shl r12, 2 ;", FUNCTION,
        "the tag is wrong")),
    "the length of the text in 32 bits": ("seal", *at("vmovq xmm2, r12\n", "vmovd xmm2, r12d\n",
        "vmovq xmm2, r12\n vmovdqa xmm2, xmm2\n", OPEN, "the tag is wrong")),
    "one pair of lengths, asked for before any loop": ("seal", *at(".iv_ready:\n",
        f".iv_ready:\n{PAIR}", ".iv_ready:\n cmp r12, 16\n", FUNCTION,
        "the status is wrong, not 0")),
    "one pair of lengths, asked for behind all loops": ("seal", *at(".tag:\n", f".tag:\n{PAIR}",
        ".tag:\n cmp r12, 16\n", FUNCTION, "the status is wrong, not 0")),
    "AAD that is not padded with zeros": ("seal",
        lambda own: re.sub(PADDED, r"\1;", own, count=1, flags=re.S),
        lambda own: re.sub(PADDED, r"\1vpsrldq xmm9, xmm9, 1 ;", own, count=1, flags=re.S), OPEN,
        "search: no invariant of the loop"),
    "an IV whose length is in the other half of its block": ("seal", *at(IV_BITS,
        f"{IV_BITS} vpslldq xmm3, xmm3, 8\n", f"{IV_BITS} vpslldq xmm3, xmm3, 0\n", FUNCTION,
        "the tag: sbox of a product")),
    "a state that begins with ones": ("seal", *at("vpxor xmm3, xmm3, xmm3\n mov r11, r8",
        "vpcmpeqd xmm3, xmm3, xmm3\n mov r11, r8", "vpsrldq xmm3, xmm3, 16\n mov r11, r8", FUNCTION,
        "the tag")),
    "the tag written before a length is refused": ("seal", *at(".refused:\n",
        ".refused:\n mov byte [rax], 0\n", ".refused:\n xor eax, eax\n", OPEN,
        "something is written, where all is to stay")),
    # The operand of a NOP is no address; that of a prefetch is one.
    "a prefetch at the tag": ("seal", *at(TAG, f"vmovq rcx, xmm0\n prefetcht0 [rcx]\n {TAG}",
        f"vmovq rcx, xmm0\n nop dword [rcx + rcx]\n {TAG}", TIMING,
        "an address depends on a secret")),
}  # fmt: skip
"""What is wrong: the function, how it is made wrong, its twin, and the refusal."""


def refuted(operation: str, edit: Edit) -> Refutation | None:
    text = edited(SMALL.name, text_of(SMALL), operation, edit)
    return proved(SMALL, text, operation).refutation


@pytest.mark.parametrize("name", sorted(HOLES))
def test_a_wrong_message_is_refused(name: str) -> None:
    operation, wrong, _, category, words = HOLES[name]
    refutation = refuted(operation, wrong)
    assert refutation is not None
    # Not by the second line, which would call it a fault of the prover.
    assert refutation.category == category, str(refutation)
    assert words in str(refutation)
    assert str(pickle.loads(pickle.dumps(refutation))) == str(refutation)


@pytest.mark.parametrize("name", sorted(HOLES))
def test_its_twin_is_proved(name: str) -> None:
    operation, _, twin, _, _ = HOLES[name]
    refutation = refuted(operation, twin)
    # A twin that aligns an address that is not its stack pointer is right, and not found.
    found = name != "aligned for one stack of four"
    assert (refutation.category if refutation else None) == (None if found else OPEN)


@pytest.mark.parametrize("label", [".refused:", ".right:", ".clear_cleared_1:"])
def test_nothing_secret_is_left_on_any_way_out(label: str) -> None:
    kernel = replace(SMALL, wipe=True)
    head, entry, tail = text_of(kernel).partition(f"\n{kernel.name}_open:\n")
    before, at, after = tail.partition(f"\n{label}\n")
    wipe = re.search(r" vpxor +xmm1, xmm1, xmm1 +; wipe\n", after)
    assert wipe is not None
    kept = after[: wipe.start()] + after[wipe.end() :]
    refutation = proved(kernel, head + entry + before + at + kept, "open").refutation
    if label == ".refused:":
        # No secret has come by then.
        assert refutation is None
    else:
        assert refutation is not None
        assert refutation.category == Category.WIPE

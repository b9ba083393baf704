"""Groups of messages whose lengths differ, in registers of two lanes: proofs and planted faults."""

from typing import Any

import pytest
from helpers.proving_groups import checked, found, run

from ghashgen.kernels.gcm.kernel import GcmKernel
from ghashgen.verify.core.refutation import Refutation

KERNEL = GcmKernel(128, "avx2", "k", "clmul1", 6, many="alike")

REFUSED = (
    "as the assertion has it|iv_length is iv_length_0|the status is wrong|not in its range"
    "|no unknown length|the output at|not as they are|no way to any assertion|the tag"
    "|not one of its values|aad_length"
)
"""A cut is refused: the last way that was tried may be that of another message."""

OUTSIDE = "not known to be in it|that end|that start"

PARTS = {
    "mixed": ("mixed", "mixed_look"),
    "look": ("mixed_look", "mixed_cipher"),
    "cipher": ("mixed_cipher", "mixed_text_0"),
    "textb": ("mixed_text_1", "mixed_text_2"),
    "hashm": ("mixed_lengths", "mixed_no"),
    "judgem": ("mixed_tags", "mixed_no"),
    "told": ("mixed_tags", "mixed_no"),
}
"""Between which labels the code of an assertion's runs is, by what its name begins with."""

FAULTS = {
    ("mixed", "a length that is compared with another message's"): (
        r"\[rsi \+ 120\]( +; len)", r"[rsi + 40]\1", REFUSED),
    ("mixed", "a text of 65 bytes"): (r"(cmp +rax, )0x31", r"\g<1>0x32", "not in its range"),
    ("mixed", "AAD of three bytes"): (r"(cmp +r14, )0x04", r"\g<1>0x03", REFUSED),
    ("mixed", "AAD of another length"): (
        r"\[rsi \+ 128\]( +; aad_len)", r"[rsi + 48]\1", REFUSED),
    ("lookb", "swapped lanes"): (
        r"(vextracti128 \[rax \+ 592\], ymm3, 0x0)1", r"\g<1>0", REFUSED),
    ("lookb", "AAD of no bytes that is read"): (r"(cmp +r14, )0x04", r"\g<1>0x00", OUTSIDE),
    ("cipherb", "keystream in another message's place"): (
        r"(vextracti128 \[rax \+ )80\]", r"\g<1>144]", REFUSED),
    ("cipherb", "the keystream of another message's IV"): (
        r"\[rsi \+ 80\]( +; AES: iv)", r"[rsi]\1", REFUSED),
    ("textbb", "a tail that writes behind a message"): (
        r"( \+ rbp - )16(\], xmm\d+ +; AES: written)", r"\g<1>15\2", OUTSIDE),
    ("textbb", "a text in another message's place"): (r"\[rsi \+ 104\]", "[rsi + 24]", REFUSED),
    ("textbb", "the keystream of another message"): (
        r"(\[rax \+ rbp \+ )48\]", r"\g<1>112]", REFUSED),
    ("textbb", "blocks as another message has them"): (
        r"(mov +r8, )rbp", r"\1r12", REFUSED + "|" + OUTSIDE),
    ("textbb", "ciphertext that is not padded"): (
        r"\[rcx \+ rbp \+ 32\]", "[r9 + 48]", REFUSED),
    ("textbb", "what another group left in the place of zeros"): (
        r"vmovdqu +\[rax \+ 336\], xmm6", "nop", REFUSED),
    ("hashmb", "another message's length"): (r"(shl +)rbp", r"\1r12", "the tag"),
    ("hashmb", "another message's block"): (
        r"(vinserti128 +ymm\d+, ymm\d+, \[rax \+ )336\]", r"\g<1>256]", "the tag"),
    ("hashmb", "a tag in another's place"): (r"\[rsi \+ 112\]", "[rsi + 32]", "the tag"),
    ("hashmb", "a status that is left out"): (
        r"\[rsi \+ 152\](, rax +; tags: status)", r"[rsi + 232]\1", "the status is wrong"),
    ("hashmb", "three messages passed over"): (
        r"(add +rsi, )320", r"\g<1>240", "another state|not as|no way"),
    ("hashm", "a branch on this message's ciphertext"): (
        r"shl +rcx, 0x03", r"cmp qword [rsp + 1872], 0\n    jz .told\n.told:\n    \g<0>",
        "a condition depends on a secret"),
}  # fmt: skip
"""By assertion and fault: what stands in `seal_many`, what is put there, and the refusal."""

OPEN_FAULTS = {
    ("judgem", "half of a tag"): (
        r"(vpshufd +xmm\d+, xmm\d+, )0x4e(\n +vpor)", r"\g<1>0xe4\2", "which is done"),
    ("toldam", "another message's verdict"): (
        r"(vextracti128 xmm\d+, ymm\d+, 0x0)1(\n)", r"\g<1>0\2", "which is done"),
    ("toldamb", "zeros behind a message"): (
        r"(\[rax \+ rcx - )16(\], xmm\d+ +; zeros)", r"\g<1>15\2", OUTSIDE),
}  # fmt: skip
"""The same of `open_many`."""

CASES = [*(("seal_many", *one) for one in FAULTS), *(("open_many", *one) for one in OPEN_FAULTS)]


@pytest.mark.parametrize(("operation", "name", "fault"), CASES)
def test_a_planted_fault_is_refused(operation: str, name: str, fault: str) -> None:
    old, new, why = (FAULTS | OPEN_FAULTS)[name, fault]
    part = next(part for begin, part in PARTS.items() if name.startswith(begin))
    with pytest.raises(Refutation, match=why):
        checked(KERNEL, part, operation, name, old, new)


@pytest.mark.parametrize(("operation", "name"), dict.fromkeys(one[:2] for one in CASES))
def test_without_a_fault_the_same_runs_are_accepted(operation: str, name: str) -> None:
    part = next(part for begin, part in PARTS.items() if name.startswith(begin))
    checked(KERNEL, part, operation, name)


def test_groups_have_texts_of_one_to_four_blocks() -> None:
    known = found(KERNEL, "seal_many")
    assert known["textaa"].unknowns["length"] == (16, 64)
    ends = [known[f"hashma{letter}"].unknowns["length"] for letter in "abcd"]
    assert ends == [(16, 16), (17, 32), (33, 48), (49, 64)]


@pytest.mark.parametrize("other", [["t", "keystream", ["n", "0"]], ["t", "mask"], ["c", "0x0"]])
def test_what_the_frame_holds_is_what_the_assertion_says(other: Any) -> None:
    said = found(KERNEL, "seal_many")["textbb"].memory
    held = next(k for k, (_, v) in enumerate(said) if v == ["t", "keystream", ["n", "16"]])
    changed = [(place, other if k == held else v) for k, (place, v) in enumerate(said)]
    with pytest.raises(Refutation, match=REFUSED):
        run(KERNEL, "seal_many", "textab", "textbb", memory=tuple(changed))

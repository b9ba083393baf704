"""Groups of messages whose lengths differ: what assertions may say of them; planted faults."""

import pytest
from helpers.proving_groups import checked, found, run

from ghashgen.kernels.gcm.kernel import GcmKernel
from ghashgen.verify.core.refutation import Refutation

KERNEL = GcmKernel(128, "avx512", "k", "clmul1", 8, many="alike")

REFUSED = (
    "as the assertion has it|iv_length is iv_length_0|the status is wrong|not in its range"
    "|no unknown length|the output at 0 is wrong|do not make up|no sum of powers"
)
"""A cut is refused: the last way that was tried may be that of another message."""

PARTS = {
    "mixed": ("mixed", "mixed_look_0"),
    "lookb": ("mixed_look_1", "mixed_look_2"),
    "lookd": ("mixed_look_3", "mixed_1_cipher"),
    "cipher": ("mixed_1_cipher", "mixed_1_text_3"),
    "textcba": ("mixed_1_text_1", "mixed_1_text_0"),
    "text": ("mixed_2_text_1", "mixed_2_text_0"),
    "hashm": ("mixed_hash", "mixed_no"),
    "judgem": ("mixed_tags", "mixed_no"),
    "told": ("mixed_tags", "mixed_no"),
}
"""Between which labels the code of an assertion's runs is, by what its name begins with."""

BRANCH = r"""vmovq rax, {}
    test rax, rax
    jz .told
.told:
    \g<0>"""

SHL = r"shl +r10, 0x03 +; tags"

FAULTS = {
    ("mixed", "a length that is compared with another message's"): (
        r"\[rsi \+ 120\]( +; len)", r"[rsi + 40]\1", REFUSED),
    ("mixed", "a text of 129 bytes"): (r"(cmp +rax, )0x80", r"\g<1>0x81", "not in its range"),
    ("mixed", "AAD of 17 bytes"): (r"(cmp +r15, )0x11", r"\g<1>0x12", "not in its range"),
    ("mixed", "an IV of another length"): (r"(cmp +rax, )0x0c", r"\g<1>0x0d", REFUSED),
    ("lookbb", "the mask of another message's AAD"): (
        r"(bzhi +rcx, rcx, )r13", r"\1r15", "not known to be in it|that end"),
    ("lookbb", "another message's AAD"): (r"\[rsi \+ 88\]", "[rsi + 8]", REFUSED),
    ("lookbb", "no AAD by another message's length"): (r"(cmp +)r13", r"\1rbp", REFUSED),
    ("lookdb", "swapped AAD"): (
        r"(vinserti64x2 ymm1, )ymm1, xmm2(.*\n.*ymm2, )ymm3, xmm4", r"\1ymm3, xmm4\2ymm1, xmm2",
        REFUSED),
    ("lookdb", "a text of 65 bytes in one row"): (
        r"(cmp +r12, )0x41", r"\g<1>0x42", REFUSED + "|not in its range"),
    ("cipherba", "the keystream of another message"): (
        r"(vaesenclast zmm5, )zmm5", r"\1zmm4", REFUSED),
    ("cipherba", "the keystream of another message's IV"): (
        r"\[rsi \+ 80\]( +; AES: iv)", r"[rsi]\1", REFUSED),
    ("textcba", "the mask of another message's text"): (
        r"(bzhi +rdx, rdx, )r12", r"\1r14", "not known to be in it|that end|not written"),
    ("textcbb", "the mask of another message's row"): (
        r"(mov +rdx, )r12(\n +sub +rdx, 0x40)", r"\1r14\2",
        REFUSED + "|not known to be in it"),
    ("textcbb", "a mask of a row that is not there"): (
        r"sub +r9, 0x01( +; 0 if)", r"or r9, -1\1", "not known to be in it|that end"),
    ("textcbb", "the row before"): (
        r"(vmovdqu8 +zmm\d+\{k1\}\{z\}, \[rax) \+ 64\]", r"\1]", "input read where output"),
    ("textcbb", "swapped rows"): (
        r"(vpxorq +zmm8, )zmm9(, zmm8 +; the other)", r"\1zmm5\2", "wrong|not as"),
    ("textcbb", "powers of another message"): (
        r"(mov +rdx, )r12(\n +add)", r"\1r14\2", REFUSED + "|not known"),
    ("textcbb", "a mixed group taken for one alike"): (
        r"(mov +rdx, )r12((?:.*\n)*?.*bzhi +rdx, rdx, )r12", r"\1r14\2r14",
        "not known to be in it|that end|not written"),
    ("textcbb", "powers of one block more"): (
        r"(add +rdx, )0x0f", r"\g<1>0x1f", REFUSED),
    ("textcbb", "the powers of the row before"): (
        r"(vmovdqu64 +zmm\d+, \[r8 \+ )256", r"\g<1>192", REFUSED),
    ("textcbb", "a tail that writes behind a message"): (
        r"(vmovdqu8 +\[rcx \+ 64\])\{k\d\}", r"\1", "that end|not known to be in it"),
    ("textcbb", "ciphertext that is not padded"): (
        r"(vmovdqu8 +zmm5)\{k1\}\{z\}(, zmm5)", r"\1\2", REFUSED),
    ("textcbb", "another message's text"): (r"\[rsi \+ 96\]", "[rsi + 16]", "wrong|not as"),
    ("textcbb", "another message's AAD"): (
        r"(vextracti64x2 xmm\d+, zmm1, 0x0)1", r"\g<1>2", REFUSED),
    ("textccb", "a sum of another message in this one's place"): (
        r"vpxorq( +)zmm5(, zmm8, zmm15)", r"vpxorq\1zmm6\2", REFUSED),
    ("hashmb", "swapped lengths"): (
        r"(shl +)r12(.*\n.*vmovq +xmm\d+, )r12(.*\n.*shl +)r13(.*\n.*vmovq +xmm\d+, )r13",
        r"\1r13\2r13\3r12\4r12", "the tag"),
    ("hashmb", "swapped sums"): (
        r"(vshufi64x2 +zmm7, )zmm1, zmm5(.*\n.*zmm1, )zmm1, zmm5", r"\1zmm5, zmm1\2zmm5, zmm1",
        "the tag"),
    ("hashmb", "a tag in another's place"): (r"\[rsi \+ 112\]", "[rsi + 32]", "the tag is"),
    ("hashmb", "a status that is left out"): (
        r"\[rsi \+ 152\](, rax +; tags: status)", r"[rsi + 232]\1", "the status is wrong"),
    ("hashmb", "three messages passed over"): (
        r"(add +rsi, )320", r"\g<1>240", "another state|not as|no way"),
    ("hashm", "a branch on this message's sum"): (
        SHL, BRANCH.format("xmm1"), "a condition depends on a secret"),
}  # fmt: skip


@pytest.mark.parametrize(("name", "fault"), FAULTS)
def test_a_planted_fault_is_refused(name: str, fault: str) -> None:
    old, new, why = FAULTS[name, fault]
    part = next(part for begin, part in PARTS.items() if name.startswith(begin))
    with pytest.raises(Refutation, match=why):
        checked(KERNEL, part, "seal_many", name, old, new)


OPEN_FAULTS = {
    ("judgem", "half of a tag"): (
        r"(vpshufd +xmm\d+, xmm\d+, )0x4e(\n +vporq)", r"\g<1>0xe4\2", "which is done"),
    ("toldam", "another message's verdict"): (
        r"(vextracti64x2 xmm\d+, zmm\d+, 0x0)1(\n)", r"\g<1>0\2", "which is done"),
}  # fmt: skip


@pytest.mark.parametrize(("name", "fault"), OPEN_FAULTS)
def test_a_planted_fault_of_open_is_refused(name: str, fault: str) -> None:
    old, new, why = OPEN_FAULTS[name, fault]
    with pytest.raises(Refutation, match=why):
        checked(KERNEL, PARTS["told"], "open_many", name, old, new)


@pytest.mark.parametrize(
    "name", ["mixed", "lookbb", "lookdb", "cipherba", "textcba", "textcbb", "textccb", "hashmb"]
)
def test_without_a_fault_the_same_runs_are_accepted(name: str) -> None:
    part = next(part for begin, part in PARTS.items() if name.startswith(begin))
    checked(KERNEL, part, "seal_many", name)


@pytest.mark.parametrize("name", ["judgemb", "toldamb"])
def test_without_a_fault_the_same_runs_of_open_are_accepted(name: str) -> None:
    checked(KERNEL, PARTS["told"], "open_many", name)


def test_the_keystream_is_that_of_its_place() -> None:
    said = found(KERNEL, "seal_many")["textaaa"].registers
    streams = [(p, v) for p, v in said.items() if isinstance(v, list) and v[1] == "keystream"]
    lanes = {tuple(v[2]): place for place, v in streams}
    assert sorted(int(place) for _, place in lanes) == [0, 16, 32, 48]
    changed = {**said, lanes["n", "16"]: ["t", "keystream", ["n", "32"]]}
    with pytest.raises(Refutation, match=REFUSED):
        run(KERNEL, "seal_many", "cipheraa", "textaaa", registers=changed)


def test_a_message_is_hashed_to_its_end() -> None:
    """What stands in a register behind a text is X of all of it, and not of another place."""
    known = found(KERNEL, "seal_many")["textdba"]
    ghosts = {**known.ghosts, "x": {**known.ghosts["x"], "hashed": "0"}}
    with pytest.raises(Refutation, match=REFUSED):
        run(KERNEL, "seal_many", "textcba", "textdba", ghosts=ghosts)

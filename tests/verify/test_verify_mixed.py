"""Groups of messages whose lengths differ: what assertions may say of them; planted faults."""

from typing import Any

import pytest
from helpers.proving_groups import checked, found, run, stated

from ghashgen.kernels.gcm.kernel import GcmKernel
from ghashgen.verify.core.refutation import Refutation
from ghashgen.verify.core.term import CALLER, DATA, NUMBERS, OTHERS, TABLE, Term

KERNEL = GcmKernel(128, "avx512", "k", "clmul1", 8, many="alike")

CONTEXT = ["t", "context"]

REFUSED = (
    "as the assertion has it|iv_length is iv_length_0|the status is wrong|not in its range"
    "|no unknown length|the output at 0 is wrong"
)
"""A cut is refused: the last way that was tried may be that of another message."""

PARTS = {
    "mixed": ("mixed", "mixed_look_0"),
    "lookb": ("mixed_look_1", "mixed_look_2"),
    "cipher": ("mixed_cipher", "mixed_text_0"),
    "textb": ("mixed_text_1", "mixed_text_2"),
    "hashm": ("mixed_lengths", "mixed_no"),
    "judgem": ("mixed_tags", "mixed_no"),
    "told": ("mixed_tags", "mixed_no"),
}
"""Between which labels the code of an assertion's runs is, by what its name begins with."""

BRANCH = r"""vmovq rax, {}
    test rax, rax
    jz .told
.told:
    \g<0>"""

SHL = r"shl +rdx, 0x03 +; AAD"

FAULTS = {
    ("mixed", "a length that is compared with another message's"): (
        r"\[rsi \+ 120\]( +; len)", r"[rsi + 40]\1", REFUSED),
    ("mixed", "a text of 65 bytes"): (r"(cmp +rax, )0x40", r"\g<1>0x41", "not in its range"),
    ("mixed", "AAD of 17 bytes"): (r"(cmp +rax, )0x10", r"\g<1>0x11", "not in its range"),
    ("mixed", "an IV of another length"): (r"(cmp +rax, )0x0c", r"\g<1>0x0d", REFUSED),
    ("lookbb", "the mask of another message's AAD"): (
        r"(bzhi +rax, rax, )r10", r"\1r8", "not known to be in it|that end"),
    ("lookbb", "another message's AAD"): (r"\[rsi \+ 88\]", "[rsi + 8]", REFUSED),
    ("cipherb", "the keystream of another message"): (
        r"(vaesenclast zmm4, )zmm4", r"\1zmm3", REFUSED),
    ("cipherb", "the keystream of another message's IV"): (
        r"\[rsi \+ 80\]( +; AES: iv)", r"[rsi]\1", REFUSED),
    ("textbb", "the mask of another message's text"): (
        r"(bzhi +rax, rax, )r9", r"\1rdx", "not known to be in it|that end|not written"),
    ("textbb", "the powers of another message"): (
        r"(mov +rax, )r9", r"\1rdx", REFUSED + "|not known"),
    ("textbb", "a mixed group taken for one alike"): (
        r"(bzhi +rax, rax, )r9((?:.*\n)*?.*mov +rax, )r9", r"\1rdx\2rdx",
        "not known to be in it|that end|not written"),
    ("textbb", "powers of one block more"): (
        r"(add +rax, )0x0f", r"\g<1>0x1f", REFUSED),
    ("textbb", "a tail that writes behind a message"): (
        r"(vmovdqu8 +\[rcx\])\{k\d\}", r"\1", "that end|not known to be in it"),
    ("textbb", "ciphertext that is not padded"): (
        r"(vmovdqu8 +zmm4)\{k1\}\{z\}(, zmm4)", r"\1\2", REFUSED),
    ("textbb", "another message's text"): (r"\[rsi \+ 96\]", "[rsi + 16]", "wrong|not as"),
    ("textba", "powers of another message in this one's place"): (
        r"zmm11, (\[rcx)", r"zmm7, \1", REFUSED),
    ("hashmb", "swapped lengths"): (
        r"(shl +)r9(.*\n.*vmovq +xmm\d+, )r9(.*\n.*shl +)r10(.*\n.*vmovq +xmm\d+, )r10",
        r"\1r10\2r10\3r9\4r9", "the tag"),
    ("hashmbb", "another message's power of the AAD"): (
        r"(vinserti64x2 ymm9, ymm9, )xmm13", r"\1xmm9", "the tag"),
    ("hashmb", "another message's powers"): (
        r"(vpclmulqdq +zmm\d+, zmm4, )zmm12", r"\1zmm8", "the tag"),
    ("hashmb", "a tag in another's place"): (r"\[rsi \+ 112\]", "[rsi + 32]", "the tag is"),
    ("hashmb", "a status that is left out"): (
        r"\[rsi \+ 152\](, rax +; tags: status)", r"[rsi + 232]\1", "the status is wrong"),
    ("hashmb", "three messages passed over"): (
        r"(add +rsi, )320", r"\g<1>240", "another state|not as|no way"),
    ("hashmaa", "a branch on a value of the context"): (
        SHL, BRANCH.format("xmm13"), "a condition depends on a secret"),
    ("hashmaa", "a branch on this message's text"): (
        SHL, BRANCH.format("xmm3"), "a condition depends on a secret"),
}  # fmt: skip


@pytest.mark.parametrize(("name", "fault"), FAULTS)
def test_a_planted_fault_is_refused(name: str, fault: str) -> None:
    old, new, why = FAULTS[name, fault]
    part = next(part for begin, part in PARTS.items() if name.startswith(begin))
    with pytest.raises(Refutation, match=why):
        checked(KERNEL, part, "seal_many", name, old, new)


OPEN_FAULTS = {
    ("judgema", "half of a tag"): (
        r"(vpshufd +xmm\d+, xmm\d+, )0x4e(\n +vporq)", r"\g<1>0xe4\2", "depends on a secret"),
    ("toldamb", "another message's verdict"): (
        r"(vextracti64x2 xmm\d+, zmm\d+, 0x0)1(\n)", r"\g<1>0\2", "depends on a secret"),
}  # fmt: skip


@pytest.mark.parametrize(("name", "fault"), OPEN_FAULTS)
def test_a_planted_fault_of_open_is_refused(name: str, fault: str) -> None:
    old, new, why = OPEN_FAULTS[name, fault]
    with pytest.raises(Refutation, match=why):
        checked(KERNEL, PARTS["told"], "open_many", name, old, new)


@pytest.mark.parametrize("name", ["mixed", "lookbb", "cipherb", "textba", "textbb", "hashmb"])
def test_without_a_fault_the_same_runs_are_accepted(name: str) -> None:
    part = next(part for begin, part in PARTS.items() if name.startswith(begin))
    checked(KERNEL, part, "seal_many", name)


@pytest.mark.parametrize("name", ["judgemb", "toldamb"])
def test_without_a_fault_the_same_runs_of_open_are_accepted(name: str) -> None:
    checked(KERNEL, PARTS["told"], "open_many", name)


def test_the_keystream_is_that_of_its_place() -> None:
    said = found(KERNEL, "seal_many")["textab"].registers
    streams = [(p, v) for p, v in said.items() if isinstance(v, list) and v[1] == "keystream"]
    lanes = {tuple(v[2]): place for place, v in streams}
    assert [place for _, place in sorted(lanes)] == ["0", "16", "32", "48"]
    changed = {**said, lanes["n", "16"]: ["t", "keystream", ["n", "32"]]}
    with pytest.raises(Refutation, match=REFUSED):
        run(KERNEL, "seal_many", "cipherb", "textab", registers=changed)


@pytest.mark.parametrize("said", [CONTEXT, ["t", "other", 1]])
def test_a_value_is_of_no_less_than_it_depends_on(said: Any) -> None:
    """The followed message's text is neither the context's nor another's."""
    known = found(KERNEL, "seal_many")["textbaa"].registers
    place = next(place for place, v in known.items() if v == ["t", "block", "C", ["n", "0"]])
    with pytest.raises(Refutation, match=REFUSED):
        run(KERNEL, "seal_many", "textaa", "textbaa", registers={**known, place: said})


def test_a_value_of_the_context_is_of_no_message() -> None:
    known = found(KERNEL, "seal_many")["textbb"].registers
    place = next(place for place, v in known.items() if v == CONTEXT)
    with pytest.raises(Refutation, match=REFUSED):
        run(
            KERNEL, "seal_many", "textab", "textbb",
            registers={**known, place: ["t", "other", 0]},
        )  # fmt: skip


def test_what_is_of_the_context_alone() -> None:
    spec, function = stated(KERNEL, "seal_many")
    meaning: Any = spec.meaning(function)
    for deps, is_ in ((TABLE, True), (TABLE | DATA, False), (TABLE | OTHERS, False),
                      (TABLE | NUMBERS, False), (OTHERS, False), (DATA, False)):  # fmt: skip
        value = meaning.terms.lost(f"a test of {deps}", True, of=deps)
        assert meaning.forgotten(value, CONTEXT) is is_
    left = meaning.terms.lost("what a caller left", False)
    assert left.deps & CALLER
    assert not meaning.forgotten(left, CONTEXT)
    assert meaning.forgotten(0, CONTEXT)
    assert meaning.forgotten(0, ["t", "other", 1])
    new = meaning.value(["context"])
    assert isinstance(new, Term)
    assert new.deps & TABLE
    assert not new.deps & (DATA | OTHERS)
    assert not meaning.forgotten(new, ["t", "other", 0])

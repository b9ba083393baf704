"""Kernels for narrow registers that take messages in groups are proved, and refused with a fault.

The faults stand in the group of messages of two blocks.
"""

import pytest
from helpers.proving_groups import checked, proved

from ghashgen.kernels.gcm.kernel import GcmKernel
from ghashgen.verify.core.refutation import Refutation

KERNEL = GcmKernel(128, "avx2", "k", "clmul1", 6, many="alike")
LONG = GcmKernel(128, "avx2", "k", "clmul1", 10, many="alike")
"""Its table has the powers for messages of eight blocks."""
ONE_LANE = {
    "avx": GcmKernel(128, "avx", "winograd", "clmul1", 6, many="alike"),
    "sse": GcmKernel(256, "sse", "k", "clmul1", 6, many="alike", wipe=True),
}
PART = "alike_2_group", "alike_2_no"

LENGTHS = [[16, 16], *([n + 1, n + 16] for n in range(16, 128, 16))]


@pytest.mark.parametrize(("operation", "kernel"), [("seal_many", LONG), ("open_many", KERNEL)])
def test_it_is_proved_for_any_count(operation: str, kernel: GcmKernel) -> None:
    groups = [one for name, one in proved(kernel, operation).items() if name.startswith("group")]
    most = 8 if kernel is LONG else 4
    assert sorted(one["unknowns"]["length"] for one in groups) == LENGTHS[:most]
    assert all(one["among"] == {"aad_length": [0, *range(4, 17)]} for one in groups)
    assert all(one["unknowns"]["place"] == [0, 3] for one in groups)


@pytest.mark.parametrize("isa", ONE_LANE)
def test_in_registers_of_one_lane_it_is_proved_too(isa: str) -> None:
    groups = [one for name, one in proved(ONE_LANE[isa], "seal_many").items() if "group" in name]
    assert sorted(one["unknowns"]["length"] for one in groups) == LENGTHS[:4]


UNLIKE = "the status is wrong|not as the assertion has it"
"""A text, or what is put aside of it, is not what it has to be: there is no way on."""

FAULTS = {
    ("seal_many", "groupb", "swapped lanes"): (
        r"(vextracti128 +\[r8\], ymm\d+, 0x0)1( +; AES: written)", r"\g<1>0\2", UNLIKE),
    ("seal_many", "groupb", "a tail that writes behind a message"): (
        r"( \+ \w+ - )16(\], xmm\d+ +; AES: written)", r"\g<1>15\2", "not known|that end"),
    ("seal_many", "groupb", "a tail that is not moved up"): (
        r"(vpshufb +ymm\d+, ymm\d+, )ymm\d+( +; AES: moved up)", r"\1ymm0\2", UNLIKE),
    ("seal_many", "groupb", "a tail without the bytes before it"): (
        r"(vpxor +ymm\d+, )ymm\d+(, ymm\d+ +; AES: the last 16)", r"\1ymm0\2", UNLIKE),
    ("seal_many", "groupb", "ciphertext that is not zero-padded"): (
        r"(vpshufb +ymm\d+, ymm\d+, )ymm\d+( +; AES: C, zero-)", r"\1ymm0\2", UNLIKE),
    ("seal_many", "groupb", "ciphertext put aside in another's place"): (
        r"(\[rsp \+ )576(\].*C, put aside)", r"\g<1>560\2", UNLIKE),
    ("seal_many", "groupb", "another message's IV"): (
        r"(\[rsi \+ )80(\] +; AES: iv)", r"\g<1>112\2", "no initial content|status"),
    ("seal_many", "hashb", "a tag in another's place"): (
        r"(\[rsi \+ )32(\] +; tags: tag\n)", r"\g<1>112\2", "the tag is not written"),
    ("seal_many", "hashb", "another message's status"): (
        r"(\[rsi \+ )152(\], rdx +; tags: status)", r"\g<1>232\2", "the status is wrong"),
    ("seal_many", "hashb", "a word that is no status"): (
        r"(\[rsi \+ )152(\], rdx +; tags: status)", r"\g<1>144\2", "a word is written|status"),
    ("seal_many", "hashb", "another message's AAD"): (
        r"(\[rsi \+ )88(\] +; aad)", r"\g<1>8\2", "the tag: of another message"),
    ("seal_many", "hashb", "AAD joined as if it were shorter"): (
        r"(shl +r\d+, )0x04( +; AAD)", r"\g<1>0x03\2", "the tag"),
    ("seal_many", "hashb", "AAD of eight bytes that is read as if it had more"): (
        r"(\[rdx \+ rcx - )8(\] +; its last 8 bytes)", r"\g<1>7\2", "aad that end 1 beyond it"),
    ("seal_many", "hashb", "AAD of no bytes that is read"): (
        r"(cmp +rcx, )0x04(\n +jb +\.alike_2_aad_under_4)", r"\g<1>0x00\2", "aad"),
    ("seal_many", "hashb", "three messages passed over"): (
        r"add( +rsi, )320( +; the next group)", r"add\g<1>240\2", "hashb. -> checksb"),
    ("seal_many", "hashb", "a count of three"): (
        r"(sub +rdx, )0x04", r"\g<1>0x03", "hashb. -> checksb"),
    ("seal_many", "checksb", "a rest of three as a group"): (
        r"(cmp +rdx, )0x04(\n +jb +\.alike_2_no)", r"\g<1>0x03\2", "not known to be in it"),
    ("seal_many", "checksb", "a record of the next group"): (
        r"(\[rsi \+ )280(\] +; len)", r"\g<1>360\2", "not its turn|not known"),
    ("seal_many", "checksb", "a length that is not compared"): (
        r"(len\n(?: +db.*\n)* +cmp +)rdx(, rax)", r"\1rax\2", "length"),
    ("open_many", "groupb", "another message's text"): (
        r"(\[rsi \+ )16(\] +; AES: in)", r"\g<1>96\2", "not as they are"),
    ("open_many", "judgeb", "half of a tag"): (
        r"(vpshufd +ymm\d+, ymm\d+, )0x4e( +; tags\n +vpor)", r"\g<1>0xe4\2",
        "which is done"),
    ("open_many", "judgebb", "another message's verdict"): (
        r"(vextracti128 xmm\d+, ymm\d+, 0x0)1( +; tags\n)", r"\g<1>0\2",
        "store to output before length, which is done"),
    ("open_many", "judgebb", "another message's text that is cleared"): (
        r"(\[rsi \+ )104(\] +; out)", r"\g<1>184\2", "output"),
    ("open_many", "judgebc", "another message's status of a wrong tag"): (
        r"(\[rsi \+ )232(\], r\w+ +; status)", r"\g<1>312\2", "the status is wrong"),
}  # fmt: skip
"""By function, assertion and fault: what stands in a group, what is put there, the refusal."""


@pytest.mark.parametrize(("operation", "name", "fault"), FAULTS)
def test_a_planted_fault_is_refused(operation: str, name: str, fault: str) -> None:
    old, new, why = FAULTS[operation, name, fault]
    with pytest.raises(Refutation, match=why):
        checked(KERNEL, PART, operation, name, old, new)


@pytest.mark.parametrize(("operation", "name"), dict.fromkeys(fault[:2] for fault in FAULTS))
def test_without_a_fault_the_same_runs_are_accepted(operation: str, name: str) -> None:
    checked(KERNEL, PART, operation, name)

"""Kernels that take messages in groups of four are proved, and refused with a fault."""

import re
from dataclasses import replace

import pytest
from helpers.proving_groups import checked, found, proved, run, stated
from helpers.verify_objects import assembled

from ghashgen.kernels.gcm.kernel import GcmKernel
from ghashgen.verify.core.linear import Case
from ghashgen.verify.core.numbers import parse
from ghashgen.verify.core.refutation import Refutation
from ghashgen.verify.rules.assertion import _bytes
from ghashgen.verify.rules.check import Checker
from ghashgen.verify.x86_64.elf import load_image

KERNEL = GcmKernel(128, "avx512", "k", "clmul1", 8, many="alike")
BOTH = ("seal_many", "open_many")


@pytest.mark.parametrize("operation", BOTH)
def test_it_is_proved_for_any_count(operation: str) -> None:
    assertions = proved(KERNEL, operation)
    groups = [one for name, one in assertions.items() if name.startswith(("run", "group"))]
    lengths = [one["unknowns"].get("text", one["unknowns"]["length"]) for one in groups]
    assert sorted(lengths) == [[1, 16], [17, 32], [33, 48], [49, 64], [65, 128]]
    places = [one["unknowns"]["place"] for one in groups]
    assert sorted(places) == [[0, 3], *[[0, 7]] * 4]


CODE = {
    "next": ("next", "block_first"),
    "run": ("next", "block_first"),
    "read": ("block_first", "block_group"),
    "drain": ("block_no", "alike_first"),
}
"""Between which labels the code of an assertion's runs is, by what its name begins with."""


def part_of(name: str) -> tuple[str, str]:
    """Return between which labels the code is to which an assertion belongs."""
    kind = re.sub("told.|group|read|last|hash|judge|checks|ahead|drain|run", "", name)[0]
    if kind == "e":
        return "rows_2_group", "rows_2_no"
    if kind == "A":
        return CODE["drain"]
    return next((part for begin, part in CODE.items() if name.startswith(begin)), LOOP)


LOOP = "block_group", "block_no"

TAG, STATUS = r"( +rax, \[rsi )- 288(\] +; tags: tag\n)", r"(\[rsi )- 248(\], rax +; tags: status)"
CUT = "status|not as|do not make up X|not in its range|place is|no sum of powers"
"""A cut is refused: the last way that was tried may be that of another message."""

NO_AAD = r"vpxorq +((xmm\d+), \2, \2 +; AAD)", r"vporq \1"
FAULTS = {
    ("seal_many", "reada", "swapped lanes"): (
        r"(vextracti64x2 xmm\d+, zmm\d+, 0x0)1( +; AES)", r"\g<1>2\2", "the status is wrong"),
    ("seal_many", "reada", "a tail that writes behind a message"): (
        r"(vmovdqu8 +\[rax\])\{k\d\}(, xmm\d+ +; AES: written)", r"\1\2", "that end|not known"),
    ("seal_many", "reada", "another message's IV"): (
        r"(\[rsi \+ )80(\] +; AES: iv)", r"\g<1>88\2", "not known to be in it|status"),
    ("seal_many", "runa", "another message's AAD"): (
        r"(\[rsi \+ )88(\] +; AAD: aad)", r"\g<1>8\2", "the status is wrong"),
    ("seal_many", "next", "AAD of 17 bytes"): (
        r"(cmp +r8, )0x11", r"\g<1>0x12", "is not in its range"),
    ("seal_many", "runa", "anything for AAD where there is none"): (
        *NO_AAD, CUT),
    ("seal_many", "hasha", "AAD of the group before where there is none"): (
        *NO_AAD, CUT),
    ("seal_many", "hasha", "AAD of one byte passed over"): (
        r"(cmp +r8, )0x00(\n +je +\.block_read)", r"\g<1>0x01\2", CUT),
    ("seal_many", "groupe", "AAD of the group before where there is none, before two rows"): (
        *NO_AAD, CUT),
    ("seal_many", "aheada", "the power of the text for the AAD"): (
        r"(vpclmulqdq +zmm\d+, zmm20, )zmm3, 0x01", r"\1zmm1, 0x01", "the tag"),
    ("seal_many", "hasha", "a rest of three as a group"): (
        r"(cmp +rax, )0x04(\n +jb +\.block_no)", r"\g<1>0x03\2", "not known to be in it"),
    ("seal_many", "hasha", "a record behind the window"): (
        r"(\[rsi \+ )280(\] +; len)", r"\g<1>360\2", "not its turn|not known"),
    ("seal_many", "hasha", "a length that is not compared"): (
        r"(; len\n(?: +db.*\n)* +cmp +)rax(, rdx)", r"\1rdx\2", "not as|range"),
    ("seal_many", "hasha", "the AAD of the group before"): (
        r"(\[rsi )\+ 168(\] +; AAD: aad)", r"\1- 152\2", CUT),
    ("seal_many", "aheada", "the group before is hashed with this one's AAD"): (
        r"(vmovdqa64 +)(zmm\d+), zmm\d+", r"\1\2, \2", CUT),
    ("seal_many", "aheada", "a tag of the group before in this one's record"): (
        TAG, r"\1+ 32\2", "the tag is not written"),
    ("seal_many", "aheada", "a status of the group before in this one's record"): (
        STATUS, r"\1+ 72\2", "the status is wrong"),
    ("seal_many", "aheada", "a tag in another's place"): (
        TAG, r"\1- 208\2", "the tag is not written"),
    ("seal_many", "aheada", "a word that is no status"): (
        STATUS, r"\1- 256\2", "a word is written|status"),
    ("seal_many", "aheada", "three messages passed over"): (
        r"add( +rsi, )320( +; the next group)", r"add\g<1>240\2", "another state|not as"),
    ("seal_many", "aheada", "a group that is begun twice"): (
        r"add( +rsi, )320( +; the next group)", r"add\g<1>1000\2", "another state|not as"),
    ("seal_many", "aheada", "a count of three"): (
        r"(sub +rax, )0x04", r"\g<1>0x03", "another state|not as"),
    ("seal_many", "draina", "a tag that is left out"): (
        r"(\[rsi - )128(\] +; tags: tag\n)", r"\g<1>48\2", "the tag is"),
    ("seal_many", "draina", "a status that is left out"): (
        r"(\[rsi - )168(\], r\w+ +; tags: status\n)", r"\g<1>248\2", "the status is wrong"),
    ("seal_many", "draina", "tags of the last group in the group before"): (
        r"(\[rsi - )288(\] +; tags: tag\n)", r"\g<1>608\2", "not known|not its turn"),
    ("seal_many", "reade", "swapped lanes of a first row"): (
        r"(vshufi64x2 +zmm\d+, zmm\d+, zmm\d+, 0x)44( +; AES, row 1)", r"\g<1>e4\2",
        "the status is wrong"),
    ("seal_many", "laste", "the first row's text again"): (
        r"(\[r\w+) \+ 64(\] +; AES, row 2: text)", r"\1\2", "has been written over"),
    ("seal_many", "laste", "the first row written over"): (
        r"(vmovdqu8 +\[r\d+) \+ 64(\])", r"\1\2", "before 64, which is done"),
    ("seal_many", "laste", "the first row's counters"): (
        r"_numbers_6\]", "_numbers_2]", "output at 64|status is wrong"),
    ("seal_many", "laste", "a last row that writes behind a message"): (
        r"(vmovdqu8 +\[r\d+ \+ 64\])\{k\d\}", r"\1", "that end|not known"),
    ("seal_many", "laste", "powers of one block more"): (
        r"(add +r\w+, )0x0f( +; AES, row 2)", r"\g<1>0x1f\2", "the status is wrong"),
    ("seal_many", "hashe", "the second row's power for the first"): (
        r"(zmm\d+, \[r\w+ \+ )176(\] +; C: H)", r"\g<1>240\2", "the tag"),
    ("seal_many", "hashe", "lanes of two messages added up"): (
        r"(vshufi64x2 +zmm\d+, zmm\d+, zmm\d+, 0x)88( +; C\n)", r"\g<1>dd\2", "the tag"),
    ("open_many", "reada", "another message's text"): (
        r"(\[rsi \+ )16(\] +; AES: in)", r"\g<1>96\2", "whether the tag is right"),
    ("open_many", "aheada", "the text of the group before"): (
        r"(\[rsi )\+ 16(\] +; AES: in)", r"\1- 304\2", "written over"),
    ("open_many", "judgea", "half of a tag"): (
        r"(vpshufd +xmm\d+, xmm\d+, )0x4e(\n +vporq)", r"\g<1>0xe4\2",
        "which is done"),
    ("open_many", "toldaab", "another message's verdict"): (
        r"(vextracti64x2 xmm\d+, zmm\d+, 0x0)1(\n)", r"\g<1>0\2",
        "another answer|status|which is done"),
    ("open_many", "toldaab", "another message's text that is cleared"): (
        r"(\[rsi - )536(\] +; out)", r"\g<1>456\2", "output"),
    ("open_many", "toldbac", "another message's status of a wrong tag"): (
        r"(\[rsi - )408(\], r\w+ +; status)", r"\g<1>328\2", "the status is wrong|toldc"),
    ("open_many", "toldaa", "a status of this group for the group before"): (
        r"(mov +\[rsi - )488(\], r\w+ +; status)", r"\g<1>168\2", "status|toldb"),
    ("open_many", "toldaAb", "another message's verdict in the last group"): (
        r"(vextracti64x2 xmm\d+, zmm\d+, 0x0)1(\n)", r"\g<1>0\2",
        "another answer|status|which is done"),
    ("open_many", "judgeea", "a first row that is not cleared"): (
        r"vmovdqu64 +\[r\w+\], zmm\d+ +; zeros", "nop", "output at 0"),
    ("open_many", "judgeea", "zeros behind a message"): (
        r"(\[r\w+ \+ r\w+) - 64(\], zmm\d+ +; zeros)", r"\1 - 63\2", "that end|not known"),
}  # fmt: skip
"""By function, assertion and fault: what stands in a group, what is put there, the refusal."""


@pytest.mark.parametrize(("operation", "name", "fault"), FAULTS)
def test_a_planted_fault_is_refused(operation: str, name: str, fault: str) -> None:
    old, new, why = FAULTS[operation, name, fault]
    with pytest.raises(Refutation, match=why):
        checked(KERNEL, part_of(name), operation, name, old, new)


@pytest.mark.parametrize(
    ("operation", "name"),
    [
        *(("seal_many", name) for name in ("next", "groupe")),
        *(("seal_many", name) for name in ("runa", "reada", "hasha", "aheada", "draina")),
        *(("seal_many", name) for name in ("reade", "laste", "hashe")),
        *(("open_many", name) for name in ("reada", "aheada", "judgea", "toldaab", "toldbac")),
        *(("open_many", name) for name in ("judgeA", "toldaAb")),
        *(("open_many", name) for name in ("judgeea", "toldaea")),
    ],
)
def test_without_a_fault_the_same_runs_are_accepted(operation: str, name: str) -> None:
    checked(KERNEL, part_of(name), operation, name)


def test_a_turn_is_shown_for_every_message_of_the_window() -> None:
    few = {**found(KERNEL, "seal_many")["next"].unknowns, "place": (0, 2)}
    with pytest.raises(Refutation, match="entry -> next"):
        run(KERNEL, "seal_many", "entry", "next", unknowns=few)


def test_a_window_may_be_of_one_record_where_an_assertion_says_so() -> None:
    any_size = {**found(KERNEL, "seal_many")["groupe"].unknowns, "window": (1, 4)}
    with pytest.raises(Refutation, match="not its turn"):
        run(KERNEL, "seal_many", "groupe", "groupe", unknowns=any_size)


def test_a_question_about_the_next_message_is_no_case_of_this_one() -> None:
    memory = (*found(KERNEL, "seal_many")["next"].memory, (_bytes("output+length:1"), "?"))
    with pytest.raises(Refutation, match="another state"):
        run(KERNEL, "seal_many", "entry", "next", memory=memory)


@pytest.mark.parametrize("power", [0, 2])
def test_what_is_read_of_the_aad_is_multiplied_once(power: int) -> None:
    known = found(KERNEL, "seal_many")["readaa"].ghosts
    more = {"x": {**known["x"], "sum": [["s", power]]}}
    with pytest.raises(Refutation, match=r"status is wrong|do not make up X"):
        run(KERNEL, "seal_many", "runa", "readaa", ghosts={**known, **more})


STEP = """
section .rodata align=16
swap:   db 15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0
section .text
global {symbol}:function
{symbol}:
    shr         r10, 1
    shl         r10, 4
    vmovdqu     xmm1, [rcx + r10]       ; AAD at 8·(r10 - r10 mod 2)
    vpshufb     xmm1, xmm1, [rel swap]
    cmp         r9, 6
    jne         .other
    mov         r11, [rsi + 208]        ; the AAD's length of message 2
    cmp         r11, r8
    jne         .other
    nop
.other:
    ret
section .note.GNU-stack noalloc noexec nowrite progbits
"""
"""Message 0 is followed. What halves r10 brings a number, and so does the length of message 2."""


def test_a_case_brings_no_number_of_another_message() -> None:
    spec, function = stated(KERNEL, "seal_many")
    known = found(KERNEL, "seal_many")["next"]
    own = {
        **known.unknowns, "aad_length": (1, 1 << 60), "iv_length": (12, 12), "length": (0, 99),
        "place": (0, 0), "window": (3, 4), "record": (0, 9),
    }  # fmt: skip
    halved = {"a": (0, 1 << 56), "aad_length_of": (0, 1 << 20)}
    facts = ("aad_length-8*aad_length_of-16", "aad_length-16*a-16", "count-record-4")
    places = {
        "rsp": ["p", "stack", "0"], "rsi": ["p", "messages", "80*record"], "rcx": ["p", "aad", "0"],
        "r8": ["n", "a"], "r9": ["n", "aad_length_of"], "r10": ["n", "aad_length_of"],
    }  # fmt: skip
    words = tuple((place, value) for place, value in known.memory if place.region == "messages")
    begin, read, other = (
        replace(
            known, name=name, at=at, unknowns={**own, **more},
            known=tuple(map(parse, said)), registers=held, memory=words, level=level, falls=0,
            sources={"begin": ({u: parse(u) for u in (*own, *more)},)},
        )
        for name, at, more, said, held, level in (
            ("begin", 0, halved, facts, places, 2),
            ("read", 40, {"a": (0, 1 << 56)}, (), {"v1.0": ["t", "block", "D", ["n", "16*a"]]}, 1),
            ("other", 41, {}, (), {}, 1),
        )
    )  # fmt: skip
    image = load_image(assembled(STEP.format(symbol=function.symbol)))
    checker = Checker(image, spec.meaning(function), {a.name: a for a in (begin, read, other)})
    checker.begin()
    (state,) = checker.state(begin).each((Case(),))
    with pytest.raises(Refutation, match=r"v1\.0 is not as the assertion has it"):
        checker.run(state, checker.entry, begin)

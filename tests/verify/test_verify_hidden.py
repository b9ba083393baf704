"""A branch on a secret is refused in a group of messages, whatever a certificate says of it.

The run of each message may leave a condition to the run of another one, so one of them must answer.
"""

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import pytest
from helpers.proving_groups import found, source, stated
from helpers.verify_objects import assembled

from ghashgen.kernels.gcm.kernel import GcmKernel
from ghashgen.verify.core.linear import Case
from ghashgen.verify.core.numbers import parse
from ghashgen.verify.core.refutation import Refutation
from ghashgen.verify.meaning.questions import Questions
from ghashgen.verify.rules.assertion import Assertion
from ghashgen.verify.rules.check import Checker
from ghashgen.verify.x86_64.elf import load_image

KERNEL = GcmKernel(128, "avx512", "k", "clmul1", 8, many="alike")

SECRET = "a condition depends on a secret, and no run answers it"


def ran(
    operation: str, old: str, new: str, behind: str, changed: dict[str, Assertion]
) -> Iterable[int]:
    """Run some assertions with something else in a function; yield the place that each follows."""
    spec, function = stated(KERNEL, operation)
    before, label, own = source(KERNEL).partition(f"\n{function.symbol}:\n")
    own, end, after = own.partition("\n.end:")
    assert own.count(old) == 1
    text = "".join((before, label, own.replace(old, new), behind, end, after))
    known = {**found(KERNEL, operation), **changed}
    checker = Checker(load_image(assembled(text)), spec.meaning(function), known)
    checker.begin()
    for one in changed.values():
        for state in checker.state(one).each((Case(),)):
            checker.run(state, checker.entry + one.at, one)
        yield one.unknowns["place"][0]


AAD = """
.mixed_look_3:
    mov         rax, [rsi + 248]                    ; AAD: aad
"""
TO_A_BRANCH = """
.mixed_look_3:
    jmp near .branch
    db 0x66, 0x90
.back:
"""
ON_THE_KEY = """
.branch:
    vextracti64x2 xmm29, zmm1, 1
    vpxorq xmm29, xmm29, [rdi + 176]
    vmovq rax, xmm29
    and rax, 1
    jz .odd
    nop
.odd:
    mov rax, [rsi + 248]
    jmp .back
"""
"""The lane is 0 behind a block of AAD, so the branch is on a bit of H."""


@pytest.mark.parametrize("lane", [["c", "0x0"], "?", ["v", "q"], ["t", "mask"]], ids=str)
def test_a_branch_on_the_key_is_refused(lane: Any) -> None:
    """Each of the first three runs leaves it to the last, which leaves it, too."""
    changed = {
        name: replace(one, registers={**one.registers, "v1.1": lane})
        for name, one in found(KERNEL, "seal_many").items()
        if name.startswith("lookd")
    }
    places = set[int]()
    with pytest.raises(Refutation, match=SECRET):  # noqa: PT012
        for place in ran("seal_many", AAD, TO_A_BRANCH, ON_THE_KEY, changed):
            places.add(place)
    assert places == {0, 1, 2}


TAG = """
    vpxorq      zmm0, zmm0, zmm19                   ; tags: tags
    mov         rax, [rsi - 288]                    ; tags: tag
"""
THROUGH_ANOTHER = """
.branch:
    mov edx, 1
    kmovq k7, rdx
    mov rdx, [rsi - 320]
    vmovdqu8 xmm29{k7}{z}, [rdx]
    mov rdx, [rsi - 208]
    vmovdqu64 [rdx], xmm29
    mov rdx, [rdx]
    test rdx, rdx
    jz .told
.told:
    mov rax, [rsi - 288]
    jmp .back
"""
"""A branch on the IV of message 0, which stood where the tag of message 1 is written later."""


def test_a_secret_that_went_through_another_message_is_refused() -> None:
    changed = {n: one for n, one in found(KERNEL, "seal_many").items() if n.startswith("draina")}
    to_a_branch = TAG.replace(
        TAG.splitlines()[-1], "    jmp near .branch\n    db 0x66, 0x90\n.back:"
    )
    with pytest.raises(Refutation, match=SECRET):
        [*ran("seal_many", TAG, to_a_branch, THROUGH_ANOTHER, changed)]


FIRST = """
    vmovq       r9, xmm0
    db          0x0f, 0x1f, 0x84, 0x00, 0x00, 0x00, 0x00, 0x00  ; padding: a jump keeps off the \
end of a 32-byte line
    cmp         r9, 0x00
    jne         .mixed_wrong_0
"""
TO_A_QUESTION = """
    vmovq       r9, xmm0
    jmp near .branch
    db 0x0f, 0x1f, 0x00
.back:
    cmp         r9, 0x00
    jne         .mixed_wrong_0
"""
ASKED = """
.branch:
    {}
    vmovq       r10, xmm29
    cmp         r10, 0
    je          .told
.told:
    jmp .back
"""
DIFFERENCE = """
    mov         r10, [rsi + {}]
    vmovdqu64   xmm29, [r10]
    vextracti64x2 xmm28, zmm1, {}
    vpxorq      xmm29, xmm28, xmm29
    vpshufd     xmm28, xmm29, 0x4e
    vporq       xmm29, xmm29, xmm28
"""


def difference(given: int, tag: int) -> str:
    """Return the comparison of a message's tag with the one that another message is given."""
    return DIFFERENCE.format(32 + 80 * given, tag)


QUESTIONS = {
    "four tags together": "vporq xmm27, xmm0, xmm0"
    + "".join(difference(k, k) + "vporq xmm27, xmm27, xmm29\n" for k in (1, 2, 3))
    + "vmovdqa64 xmm29, xmm27",
    "two tags together": difference(1, 1) + "vporq xmm29, xmm29, xmm0",
    "one tag or the other": difference(1, 1) + "vpandq xmm29, xmm29, xmm0",
    "two tags, alike or not": "vextracti64x2 xmm29, zmm1, 1\n vpxorq xmm29, xmm29, xmm1",
    "another message's tag": difference(1, 0),
    "tags of two other messages": difference(2, 3),
    "half of another message's tag": difference(1, 1).replace("0x4e", "0xe4"),
    "a key": "vmovdqu64 xmm29, [rdi + 176]",
    "a key beside another message's tag": difference(1, 1) + "vpxorq xmm29, xmm29, [rdi + 176]",
    "another message's IV": "mov r10, [rsi + 80]\n vmovq xmm29, [r10]",
}
"""What is asked before the verdict on the first message, in a group that is opened."""


@pytest.mark.parametrize("question", QUESTIONS)
def test_a_question_that_is_no_verdict_is_refused(question: str) -> None:
    with pytest.raises(Refutation, match=SECRET):
        [*asked(QUESTIONS[question])]


@pytest.mark.parametrize("k", [1, 2, 3])
def test_the_verdict_on_another_message_is_a_question(k: int) -> None:
    """That message's run answers it, and is refused for it: its status does not follow."""
    with pytest.raises(Refutation, match="the status is wrong, not 1"):
        [*asked(difference(k, k))]


def asked(question: str) -> Iterable[int]:
    changed = {n: one for n, one in found(KERNEL, "open_many").items() if n.startswith("judgem")}
    return ran("open_many", FIRST, TO_A_QUESTION, ASKED.format(question), changed)


def left(unknowns: dict[str, tuple[int, int]], **changes: Any) -> bool:
    """Return whether the run that follows the first message of a group leaves a question."""
    spec, function = stated(KERNEL, "seal_many")
    checker = Checker(load_image(assembled(source(KERNEL))), spec.meaning(function), {})
    checker.begin()
    one = found(KERNEL, "seal_many")["hashma"]
    one = replace(one, unknowns={**one.unknowns, **unknowns}, **changes)
    (state,) = checker.state(one).each((Case(),))
    checker.meaning.entering(state)
    return checker.meaning.may_be_known(state, checker.terms.lost("a test", True))


def test_a_question_is_left_to_another_message() -> None:
    assert left({})


ONE_OF_TWO = ("count-record-2", "record-place")

NOWHERE: dict[str, tuple[dict[str, tuple[int, int]], dict[str, Any]]] = {
    "there may be no other record": ({}, {"known": ()}),
    "there is only this record": ({}, {"known": ("count-record-1", "record-place")}),
    "it may be any record": ({"place": (0, 3)}, {}),
    "it may be the one other record": ({"place": (0, 1)}, {"known": ONE_OF_TWO}),
    "no other record is in the window": ({"window": (1, 1)}, {}),
    "perhaps no other record is in the window": ({"window": (1, 4)}, {}),
}


@pytest.mark.parametrize("where", NOWHERE)
def test_a_question_is_left_only_where_there_is_another_message(where: str) -> None:
    unknowns, changes = NOWHERE[where]
    if "known" in changes:
        changes = {"known": tuple(map(parse, changes["known"]))}
    with pytest.raises(Refutation, match=SECRET):
        left(unknowns, **changes)


def test_all_runs_mean_one_record() -> None:
    """A run that answers means its own record; any other one those to which it may leave it."""
    questions = Questions()
    questions.ask(7, False, {("stack+8", -80), (3, 0)})
    questions.ask(7, True, {(3, 0), (3, 80), ("stack+8", 0)})
    questions.ask(7, False, {(3, 0), (3, 160)})
    questions.ask(9, False, {(3, 80)})
    with pytest.raises(Refutation, match=SECRET):
        questions.ask(7, False, {(3, 80), ("stack+8", -80)})


def test_runs_that_all_answer_may_mean_several_records() -> None:
    questions = Questions()
    for distance in (0, 80, 160):
        questions.ask(7, False, {(3, distance)})
    with pytest.raises(Refutation, match=SECRET):
        questions.ask(7, True, {(3, 0), (3, 80), (3, 160)})

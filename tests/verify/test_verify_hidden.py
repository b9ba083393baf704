"""A branch on the key is refused, whatever a certificate says of constants.

The run that follows a message may call a constant the value of another message, and the run of that
one, of a third. Then no run would check a branch on the constant + H.
"""

from dataclasses import replace
from typing import Any

import pytest
from helpers.proving_groups import found, source, stated
from helpers.verify_objects import assembled

from ghashgen.kernels.gcm.kernel import GcmKernel
from ghashgen.verify.core.linear import Case
from ghashgen.verify.core.refutation import Refutation
from ghashgen.verify.core.term import OTHERS
from ghashgen.verify.rules.check import Checker
from ghashgen.verify.x86_64.elf import load_image

KERNEL = GcmKernel(128, "avx512", "k", "clmul1", 8, many="alike")

OLD = """
.mixed_look_3:
    mov         rax, [rsi + 248]                    ; AAD: aad
"""
NEW = """
.mixed_look_3:
    jmp near .branch
    db 0x66, 0x90
.back:
"""
BEHIND = """
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


ANSWERS, OTHER = "a question that no run answers", "a question about no other message"


@pytest.mark.parametrize(
    ("called", "why"),
    [
        ((1, 0, 0, 0), ANSWERS),
        ((3, 3, 3, 0), ANSWERS),
        ((0, 0, 0, 0), OTHER),
        ((4, 4, 4, 4), OTHER),
    ],
    ids=["two runs", "three runs", "its own", "outside the window"],
)
def test_a_key_is_not_hidden_behind_a_constant(called: tuple[int, ...], why: str) -> None:
    """`called`: whose value the run of each message takes the constant for."""
    spec, function = stated(KERNEL, "seal_many")
    known, changed = found(KERNEL, "seal_many"), {}
    for name in (name for name in known if name.startswith("lookd")):
        place = known[name].unknowns["place"][0]
        assert known[name].registers["v1.1"] == ["c", "0x0"]
        other = {**known[name].registers, "v1.1": ["t", "other", called[place]]}
        changed[name] = replace(known[name], registers=other)
    assert len(changed) == 4
    before, label, own = source(KERNEL).partition(f"\n{function.symbol}:\n")
    own, end, after = own.partition("\n.end:")
    assert OLD in own
    text = "".join((before, label, own.replace(OLD, NEW), BEHIND, end, after))
    checker = Checker(load_image(assembled(text)), spec.meaning(function), {**known, **changed})
    checker.begin()
    with pytest.raises(Refutation, match=why):  # noqa: PT012
        for one in changed.values():
            for state in checker.state(one).each((Case(),)):
                checker.run(state, checker.entry + one.at, one)


def left(unknowns: dict[str, tuple[int, int]], **changes: Any) -> bool:
    """Return whether the run of a group's first message leaves a question to that of the second."""
    spec, function = stated(KERNEL, "seal_many")
    checker = Checker(load_image(assembled(source(KERNEL))), spec.meaning(function), {})
    checker.begin()
    one = found(KERNEL, "seal_many")["hashma"]
    one = replace(one, unknowns={**one.unknowns, **unknowns}, **changes)
    (state,) = checker.state(one).each((Case(),))
    checker.meaning.entering(state)
    value = checker.terms.lost("a test", True, of=OTHERS << 1)
    return checker.meaning.may_be_known(state, value)


def test_a_question_is_left_to_another_message() -> None:
    assert left({})


@pytest.mark.parametrize("unknowns", [{"place": (0, 1)}, {"window": (1, 4)}])
def test_a_question_is_left_only_where_there_is_another_message(
    unknowns: dict[str, tuple[int, int]],
) -> None:
    with pytest.raises(Refutation, match=OTHER):
        left(unknowns)


def test_a_question_is_left_only_to_a_record_that_there_is() -> None:
    with pytest.raises(Refutation, match=OTHER):
        left({}, known=())

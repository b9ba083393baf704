"""A window that slides: what is kept of a message, what is known of others, and who is followed."""

from itertools import islice
from typing import Any

import pytest
from helpers.proving_groups import checked, found, run, source, stated
from helpers.verify_objects import assembled

from ghashgen.kernels.gcm.kernel import GcmKernel
from ghashgen.verify.core.linear import Case
from ghashgen.verify.core.numbers import combined, parse, times, unknown
from ghashgen.verify.core.refutation import Refutation
from ghashgen.verify.core.term import CALLER, OPAQUE, Term
from ghashgen.verify.core.values import Pointer
from ghashgen.verify.meaning.buffers import NUMBER_BYTES
from ghashgen.verify.meaning.records import (
    LARGEST,
    MESSAGES,
    PLACE,
    RECORD,
    RECORD_BYTES,
    WINDOW,
    WORDS,
)
from ghashgen.verify.rules.check import Checker
from ghashgen.verify.x86_64.elf import load_image

KERNEL = GcmKernel(128, "avx512", "k", "clmul1", 8, many="alike")
LOOP = "block_group", "block_no"

BRANCH = """
.branch:
    mov rax, rdx
    shl rax, 3
    push rax
    {}
    vmovq rax, {}
    test rax, rax
    pop rax
    jz .told
.told:
    jmp .back
"""
BRANCHES = {
    "the next group": ("nop", "xmm17"),
    "the group before": ("valignq zmm29, zmm20, zmm20, 2", "xmm29"),
    "two groups": ("vpxorq zmm29, zmm17, zmm20", "xmm29"),
}
"""Of whose AAD, and how it is taken."""


@pytest.mark.parametrize("data", BRANCHES)
def test_a_branch_on_data_of_a_group_is_refused(data: str) -> None:
    taken, value = BRANCHES[data]
    old = r"mov +rax, rdx\n +shl +rax, 0x03 .*\n"
    new = "jmp near .branch\n    db 0x66, 0x90\n.back:\n"
    with pytest.raises(Refutation, match="a condition depends on a secret"):
        checked(KERNEL, LOOP, "seal_many", "aheada", old, new, BRANCH.format(taken, value))


@pytest.mark.parametrize("place", [2, 3, 5])
def test_a_slide_is_by_a_group(place: int) -> None:
    known = found(KERNEL, "seal_many")["hashab"]
    ways = {**known.sources["aheadaf"][0], "place": parse(str(place))}
    changes: dict[str, Any] = {
        "unknowns": {**known.unknowns, "place": (place, place)},
        "sources": {**known.sources, "aheadaf": (ways,)},
    }
    with pytest.raises(Refutation, match=f"place is 1, not {place}"):
        run(KERNEL, "seal_many", "aheadaf", "hashab", **changes)


@pytest.mark.parametrize("places", [(4, 6), (5, 7), (0, 3)])
def test_a_slide_is_shown_for_every_message_that_comes(places: tuple[int, int]) -> None:
    few = {**found(KERNEL, "seal_many")["hashae"].unknowns, "place": places}
    with pytest.raises(Refutation, match="place = place_0 is not in its range"):
        run(KERNEL, "seal_many", "aheadaa", "hashae", unknowns=few)


@pytest.mark.parametrize("name", ["aheadaa", "aheadaf"])
def test_these_runs_are_accepted_as_they_are(name: str) -> None:
    run(KERNEL, "seal_many", name, "hashab")


def test_a_message_is_not_left_behind_before_it_is_done() -> None:
    with pytest.raises(Refutation, match="the status is wrong"):
        slid("aheadaa", 0, {})


def slid(name: str, place: int, held: dict[int, Pointer]) -> dict[int, Any]:
    """Return registers behind a slide, before which they held something."""
    spec, function = stated(KERNEL, "seal_many")
    checker = Checker(load_image(assembled(source(KERNEL))), spec.meaning(function), {})
    checker.begin()
    (state,) = checker.state(found(KERNEL, "seal_many")[name]).each((Case(),))
    for k, value in held.items():
        state.machine.gpr[k] = value
    asked = [{WINDOW: (LARGEST, LARGEST)}]
    _, later = islice(checker.meaning.arrivals(state, asked), 2)
    assert later.ghosts[PLACE] == place
    return {k: later.machine.gpr[k] for k in held}


def test_addresses_of_other_messages_are_forgotten() -> None:
    own, other, array = Pointer("aad", 5), Pointer("aad_6_of", 0), Pointer(MESSAGES, 80)
    found_ = slid("aheadaf", 1, {8: own, 9: other, 10: array})
    assert (found_[8], found_[10]) == (own, array)
    assert isinstance(found_[9], Term)
    assert found_[9].deps == CALLER | OPAQUE


def test_a_number_of_another_message_is_not_taken_for_that_of_the_next_one() -> None:
    spec, function = stated(KERNEL, "seal_many")
    checker = Checker(load_image(assembled(source(KERNEL))), spec.meaning(function), {})
    checker.begin()
    (state,) = checker.state(found(KERNEL, "seal_many")["aheadaf"]).each((Case(),))
    checker.meaning.entering(state)
    first, length = times(unknown(RECORD), RECORD_BYTES), NUMBER_BYTES * WORDS.index("length")
    behind, ahead = (combined(first, RECORD_BYTES * k + length) for k in (-3, 1))
    assert state.memory.load(Pointer(MESSAGES, behind), NUMBER_BYTES) == unknown("length_2_of")
    _, later = islice(checker.meaning.arrivals(state, [{WINDOW: (LARGEST, LARGEST)}]), 2)
    with pytest.raises(Refutation, match="two other records of one place"):
        later.memory.load(Pointer(MESSAGES, ahead), NUMBER_BYTES)

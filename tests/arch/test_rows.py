"""What a row, an operand and a lowering say, and what is refused of them."""

from dataclasses import replace
from typing import Any

import pytest
from helpers.forms import each_isa

from ghashgen.arch.registry import isas
from ghashgen.arch.rows import Isa, Row, Step, lowering, row_table
from ghashgen.arch.x86_64.sets.avx import ISA as AVX
from ghashgen.ir.program import CODES, Flow, Label, Mem, RegClass, Slot, VReg

LANES = {
    *("load_spread", "high_half", "insert_lane", "spread_lane", "lanes_down", "lanes_joined"),
    "store_lane",
}
SINGLE_LANES = {"lanes_up", "take_lane"}
PARTS = {"shl64_by", "shr64_by", "store16", "bytes_above"}
MIRROR = {"mirror_bits"}
NARROW = {"store_high", "clear_upper"}
"""Wide registers beside narrow code: bytes swapped through the stack."""

MASKED = {
    *("mask", "load_mask", "load_masked", "store_masked", "masked"),
    *("shuffle_masked", "merge_words", "spread_word", "differing", "mask_bits", "gpr_low"),
    "pick_lanes",
}
"""Mask registers, and what goes with four lanes."""

LACKS = {
    "sse": {*MASKED, *MIRROR, "reverse_bits", "xor3", *NARROW, *LANES, *SINGLE_LANES},
    "avx": {*MASKED, *MIRROR, "reverse_bits", "xor3", *LANES, *SINGLE_LANES},
    "avx2": {*MASKED, *MIRROR, "xor3", *NARROW, *SINGLE_LANES},
    # Bytes in less than a block are moved by shuffles.
    "avx512vl": {*MIRROR, *NARROW, *PARTS},
    "avx512": {*MIRROR, *NARROW, *PARTS},
}
"""Abstract operations that a set knowingly cannot do."""


@each_isa
def test_every_abstract_operation_is_lowered_or_knowingly_lacking(isa: Isa) -> None:
    assert set(CODES) - isa.supported == LACKS.get(isa.name, set())


@each_isa
def test_a_lowering_uses_every_operand_of_its_operation(isa: Isa) -> None:
    letters = {"w": "d", "m": "m", "i": "i", "l": "l"}
    for code, steps in isa.lower.items():
        sources = iter("abc")
        roles = CODES[code.partition("@")[0]].roles
        bound = {next(sources) if role == "r" else letters[role] for role in roles}
        used = {token for step in steps for token in step.tokens if token.isalpha()} - {"t"}
        # With two lanes there is one way to move down, and the immediate need not say it.
        optional = {"i"} if code in ("lanes_down", "lanes_joined") and isa.lanes == 2 else set()
        assert used <= bound, code
        assert bound - used <= optional, code


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"source": ""}, "incomplete"),
        ({"signature": "r:l r:q"}, "a label stands last"),
        ({"audit_class": ""}, "incomplete"),
        ({"audit_class": "fast"}, "incomplete"),
        ({"key": ""}, "incomplete"),
        ({"signature": "w:x r:zz"}, "unknown role or kind"),
        ({"signature": "q:x"}, "unknown role or kind"),
    ],
)
def test_a_row_with_a_hole_is_refused(changes: dict[str, str], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        replace(AVX.rows["vpxor"], **changes)


@pytest.mark.parametrize(
    ("signature", "facts", "words"),
    [
        # On general registers a row says what it does with the flags.
        ("rw:q r:i", {}, "flags"),
        ("rw:q r:i", {"flags": "x"}, "flags"),
        # Without operands, or with a label, it says where control goes.
        ("", {"flags": ""}, "where control goes"),
        ("r:l", {"flags": "r"}, "where control goes"),
        ("r:l", {"flags": "r", "flow": "j"}, "where control goes"),
        ("r:l", {"flags": "r", "flow": Flow.NEXT}, "a branch or jump has a label"),
        ("rw:q r:i", {"flags": "w", "flow": Flow.BRANCH}, "a branch or jump has a label"),
        ("", {"flags": "", "flow": Flow.JUMP}, "a branch or jump has a label"),
    ],
)
def test_a_row_that_lacks_a_fact_is_refused(
    signature: str, facts: dict[str, Any], words: str
) -> None:
    with pytest.raises(ValueError, match=words):
        Row("toy", signature, (), "a manual", "other", **facts)


def test_what_a_row_need_not_say() -> None:
    vector = Row("toy", "w:x r:x", (), "a manual", "other")
    assert (vector.flags, vector.flow) == ("", Flow.NEXT)
    general = Row("toy", "rw:q r:i", (), "a manual", "other", flags="w")
    assert general.flow is Flow.NEXT


@pytest.mark.parametrize(
    ("table", "words"),
    [
        ("xor: vpxor d a", "wrong operands"),
        ("xor: vpxor d a b i", "wrong operands"),
        ("xor: vpxorq d a b", "missing row"),
        ("exor: vpxor d a b", "unknown operation"),
    ],
)
def test_a_lowering_that_does_not_fit_is_refused(table: str, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        replace(AVX, lower=lowering(table))


def test_two_rows_with_one_key_are_refused() -> None:
    row = AVX.rows["vpxor"]
    with pytest.raises(ValueError, match="one key"):
        row_table(row, row)


def test_a_lowering_table_is_read_as_written() -> None:
    assert lowering("a: r d a; s d 0x4e  # why\n\n# alone") == {
        "a": (Step("r", ("d", "a")), Step("s", ("d", "0x4e")))
    }


def test_operands_are_accepted_by_kind_and_alignment() -> None:
    aligned, unaligned = Mem(align=16), Mem()
    legacy, vex = isas()["sse"].rows["pxor"].operands[1], AVX.rows["vpxor"].operands[2]
    assert legacy.accepts(aligned)
    assert not legacy.accepts(unaligned)
    assert vex.accepts(unaligned)
    assert legacy.accepts(Slot(0))
    assert not AVX.rows["vpxor"].operands[1].accepts(aligned)
    assert not vex.accepts(VReg(RegClass.GPR, 1))
    assert not vex.accepts(1)
    assert not vex.accepts(Label("x"))

"""The parts of the prover on their own: specs, definitions, lengths, flags, memory, terms."""

import random
from dataclasses import replace
from pathlib import Path

import pytest
from helpers.verify_objects import ASM

from ghashgen.algebra.field.bitorder import (
    Order,
    element_from_block,
    register_from_block,
    register_from_element,
    twist,
)
from ghashgen.algebra.field.ghash import ghash_padded, multiply_blocks
from ghashgen.algebra.field.powers import power
from ghashgen.algebra.ops.monomials import evaluate
from ghashgen.check.attack.row_cases import Asked
from ghashgen.check.claims.hash import power_major
from ghashgen.check.statements import load_spec
from ghashgen.support.errors import GhashgenError
from ghashgen.verify.core.linear import Facts, Fork
from ghashgen.verify.core.numbers import parse, unknown
from ghashgen.verify.core.refutation import Category, Refutation
from ghashgen.verify.core.term import CALLER, MASK128, NotPolynomialError, Term
from ghashgen.verify.core.terms import Terms
from ghashgen.verify.core.values import Linear, Pointer, UndecidedError
from ghashgen.verify.machine.flags import of_difference
from ghashgen.verify.machine.image import Image
from ghashgen.verify.machine.memory import Memory
from ghashgen.verify.machine.regions import Access, Region
from ghashgen.verify.meaning.algebra import KINDS, Algebra
from ghashgen.verify.meaning.names import Names
from ghashgen.verify.statements.hash import parse_cell
from ghashgen.verify.x86_64 import dataflow
from ghashgen.verify.x86_64.conditions import CONDITIONS
from ghashgen.verify.x86_64.target import X86_64

# Definitions of table entries and states, against the slow specification.


def register_values(h: bytes, order: Order, powers: int) -> dict[str, int]:
    H = element_from_block(h)
    return {
        f"B{i}": register_from_element(twist(power(H, i), order), order)
        for i in range(1, powers + 1)
    }


@pytest.mark.parametrize("order", Order)
def test_powers_states_and_blocks(order: Order) -> None:
    rng = random.Random(order)
    algebra, h, x, c = Algebra(order), *(rng.randbytes(16) for _ in range(3))
    values = register_values(h, order, 5)
    for a, b in ((1, 1), (1, 2), (2, 2), (2, 3)):
        assert evaluate(algebra.powers_product(a, b), values) == values[f"B{a + b}"]
    values |= {"X": register_from_block(x, order), "C1": register_from_block(c, order)}
    state = algebra.state([("X", 1), ("C1", 1)])
    assert evaluate(state, values) == register_from_block(ghash_padded(h, x, c), order)
    block = evaluate(state.moves(algebra.memory, 128), values)
    assert block.to_bytes(16, "little") == ghash_padded(h, x, c)
    assert algebra.recognise(state) == {("X", 1), ("C1", 1)}
    more = algebra.state([("C2", 0), ("X", 2)])
    assert algebra.recognise(state ^ more) == {("X", 1), ("C1", 1), ("C2", 0), ("X", 2)}
    assert algebra.recognise(state.shift(1)) is None
    assert evaluate(algebra.entry("N", 2), values).to_bytes(16, "little") == multiply_blocks(h, h)
    assert evaluate(algebra.entry("H", 2), values) == register_from_block(
        multiply_blocks(h, h), order
    )


@pytest.mark.parametrize("order", Order)
def test_what_the_entries_are_for(order: Order) -> None:
    """K, C1, C2 and R serve to multiply: use them as the schemes do, compare with the product."""
    from ghashgen.algebra.field.gf2 import clmul

    rng = random.Random(order)
    algebra, h, x = Algebra(order), rng.randbytes(16), rng.randbytes(16)
    values = register_values(h, order, 1)
    A = register_from_block(x, order)
    expected = register_from_block(ghash_padded(h, x, bytes(16)), order)
    at = {kind: evaluate(algebra.entry(kind, 1), values) for kind in KINDS}
    low, m64 = (lambda v, k: v >> 64 * k & (1 << 64) - 1), (1 << 64) - 1
    B, K = at["B"], at["K"]

    def fold(y_low: int, y_high: int) -> int:
        if order is Order.REFLECTED:
            swapped = low(y_low, 0) << 64 | low(y_low, 1)
            return clmul(low(y_low, 0), 0xC200000000000000) ^ swapped ^ y_high
        return clmul(low(y_high, 1), 0x87) ^ y_low ^ low(y_high, 0) << 64

    a0, a1 = low(A, 0), low(A, 1)
    if order is Order.REFLECTED:
        y = [clmul(a0, low(K, k)) ^ clmul(a1, low(B, k)) for k in range(2)]
    else:
        y = [clmul(a0, low(B, k)) ^ clmul(a1, low(K, k)) for k in range(2)]
    assert fold(*y) == expected
    shared = clmul(a0, a1)
    sums = [clmul(low(A ^ at[c], 0), low(A ^ at[c], 1)) ^ shared for c in ("C1", "C2")]
    assert fold(*sums) ^ at["R"] == expected
    assert low(at["S"], 0) == low(at["S"], 1) == (B ^ B >> 64) & m64


# Specs.


def test_a_spec_from_a_file() -> None:
    spec = load_spec(ASM / "foreign.toml")
    assert spec.cells == power_major(("B",), 4)
    assert [f.operation for f in spec.functions] == ["init", "mul", "update"]
    texts = ("B2", "B1", "0", "R2/2", "R1", "-")
    cells = (("B", 2), ("B", 1), ("0", 0), ("R/2", 2), ("R", 1), None)
    assert tuple(map(parse_cell, texts)) == cells


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('"sysv"', '"arm"', "no ABI 'arm'"),
        ('"reflected"', '"sideways"', "order: 'sideways' is not one of"),
        ('"B4"', '"Q4"', "no table cell 'Q4'"),
        ("blocks", "block", "unknown key 'block'|lacks 'blocks'"),
        ('name = "foreign"', "", "lacks 'name'"),
        ('"input"', '"inputs"', "update has exactly"),
        ("[functions.init]", "[functions.start]", "no operation 'start'"),
        (
            "length_multiple = 16",
            "length_multiple = 8",
            "length_multiple = 1 or 16, length_unit = 1 or 16",
        ),
        ("table_align = 16", "table_align = 12", "powers of two"),
        ("table_align = 16", 'table_align = "16"', "table_align: expected int, got str"),
        ('"input"', "4", r"functions\.update\.parameters\[\d\]: expected str, got int"),
        ("table_align = 16", "table_bytes = 32", "do not fit in 32 bytes"),
    ],
)
def test_a_wrong_spec_is_refused(tmp_path: Path, old: str, new: str, message: str) -> None:
    text = (ASM / "foreign.toml").read_text()
    assert old in text
    path = tmp_path / "spec.toml"
    path.write_text(text.replace(old, new, 1))
    with pytest.raises(GhashgenError, match=message):
        load_spec(path)


def test_cells_are_a_kind_and_a_power() -> None:
    assert parse_cell("C112") == ("C1", 12)
    assert parse_cell("-") is None
    with pytest.raises(GhashgenError):
        parse_cell("B0")


# Lengths with an unknown, flags.


LENGTHS = Facts({"u": (32, 1000), "v": (32, 1000), "w": (1, 9)})


def test_lengths_with_unknowns() -> None:
    facts, u, v = LENGTHS, unknown("u"), unknown("v")
    assert facts.add(u, 16, sign=-1) == Linear(-16, (("u", 1),))
    assert facts.add(Pointer("input", 0), u) == Pointer("input", u)
    assert facts.add(Pointer("input", u), Pointer("input", parse("u-16")), sign=-1) == 16
    # Of the same range, and not the same number.
    assert facts.add(u, v) == parse("u+v")
    assert facts.add(u, u, sign=-1) == 0
    for first, second in ((u, 64), (u, v), (Pointer("input", u), Pointer("input", v))):
        with pytest.raises(Fork, match="may wrap around") as caught:
            facts.add(first, second, sign=-1)
        # It is negative, or it is not.
        assert len(caught.value.cases) == 2
    assert facts.add(Pointer("input", u), Pointer("output", u), sign=-1) is None
    assert facts.mask_number(Linear(5, (("w", 64),)), 15) == 5
    with pytest.raises(Fork, match="the low bits") as caught:
        facts.mask_number(u, 15)
    assert len(caught.value.cases) == 16


@pytest.mark.parametrize(
    ("bound", "condition", "expected"),
    [(32, "ae", True), (32, "b", False), (32, "a", None), (33, "ae", None), (1001, "b", True),
     (0, "e", False), (40, "e", None), (31, "a", True), (1000, "g", None), (16, "g", True),
     (1000, "be", True), (1000, "a", False), (999, "be", None), (31, "be", False)],
)  # fmt: skip
def test_conditions_on_a_length_are_decided_for_the_whole_range_or_not_at_all(
    bound: int, condition: str, expected: bool | None
) -> None:
    flags = of_difference(LENGTHS, unknown("u"), bound, 64, lambda pointer: False)
    asked = Asked(flags, LENGTHS)
    if expected is None:
        with pytest.raises(UndecidedError):
            CONDITIONS[condition](asked)
    else:
        assert CONDITIONS[condition](asked) is expected


# Memory.


def memory(**changes: object) -> Memory:
    region = Region("input", 0, 20, Access.READ, lambda memory, at: at // 16 + 1, 4, 0)
    terms = Terms(lambda kind, number: pytest.fail("no table"))
    return Memory(terms, Image(X86_64, (), {}), [replace(region, **changes)])  # type: ignore[arg-type]


def test_loads_stay_inside() -> None:
    m = memory()
    assert m.load(Pointer("input", 0), 16) == 1
    assert m.load(Pointer("input", 16), 4) == 2
    assert m.load(Pointer("input", 15), 2) == 2 << 8
    for offset, size in ((5, 16), (20, 1), (-1, 1), (17, 4)):
        with pytest.raises(Refutation) as caught:
            m.load(Pointer("input", offset), size)
        assert caught.value.category is Category.MEMORY


def test_stores_need_permission_and_alignment_needs_a_promise() -> None:
    with pytest.raises(Refutation, match="read-only"):
        memory().store(Pointer("input", 0), 1, 1)
    m = memory(access=Access.UPDATE)
    m.store(Pointer("input", 2), 0xABCD, 2)
    assert m.load(Pointer("input", 0), 4) == 0xABCD0001
    m.load(Pointer("input", 4), 4, align=4)
    for offset, align in ((2, 4), (0, 8)):
        with pytest.raises(Refutation, match="not assured"):
            m.load(Pointer("input", offset), 4, align=align)


def test_a_buffer_that_is_written_only_holds_nothing_before() -> None:
    for access in (Access.WRITE, Access.OUTPUT):
        m = memory(access=access, content=lambda memory, at: None)
        with pytest.raises(Refutation, match="which has no initial content"):
            m.load(Pointer("input", 0), 1)
        m.store(Pointer("input", 0), 0xAB, 1)
        assert m.load(Pointer("input", 0), 1) == 0xAB
        with pytest.raises(Refutation, match="which has no initial content"):
            m.load(Pointer("input", 0), 2)


def test_a_byte_of_an_output_gets_one_value() -> None:
    m, again = memory(access=Access.OUTPUT), memory(access=Access.WRITE)
    for output in (m, again):
        output.store(Pointer("input", 2), 0, 4)
        output.store(Pointer("input", 6), 0, 1)
    for offset, size in ((5, 1), (0, 4), (6, 8)):
        other = 1 << 8 * (size - 1) | 1
        again.store(Pointer("input", offset), other, size)
        with pytest.raises(Refutation, match="that are written already"):
            m.store(Pointer("input", offset), other, size)
        m.store(Pointer("input", offset), 0, size)


def test_an_output_is_written_again_with_the_same_bytes_only() -> None:
    m = memory(access=Access.OUTPUT)
    terms = m.terms
    a, b = terms.variable("A"), terms.variable("B")
    m.store(Pointer("input", 0), a, 16)
    behind = terms.bytes(b, (-1,) * 12 + (0, 1, 2, 3))
    right = terms.xor(terms.bytes(a, (*range(4, 16), -1, -1, -1, -1)), behind)
    wrong = terms.xor(terms.bytes(a, (4, *range(4, 15), -1, -1, -1, -1)), behind)
    lost = terms.xor(right, terms.opaque("something", a))
    for value in (wrong, lost, b, terms.caller("xmm6")):
        with pytest.raises(Refutation, match="that are written already"):
            m.store(Pointer("input", 4), value, 16)
    # The same in other words.
    m.store(Pointer("input", 4), terms.xor(terms.xor(right, b), b), 16)
    m.store(Pointer("input", 4), right, 16)
    held = m.load(Pointer("input", 0), 16)
    assert isinstance(held, Term)
    assert terms.form(held) == terms.form(a)


def test_an_address_from_a_secret_is_no_constant_time() -> None:
    m = memory()
    with pytest.raises(Refutation) as caught:
        m.load(m.terms.variable("C1"), 1)
    assert caught.value.category is Category.CONSTANT_TIME


# Terms.


def terms() -> Terms:
    return Names(Algebra(Order.REFLECTED)).terms


def test_equal_terms_are_one_object_and_opaque_ones_equal_nothing() -> None:
    t = terms()
    a, b = t.variable("C1"), t.variable("C2")
    assert t.xor(a, b) is t.xor(b, a)
    assert t.xor(a, a) == 0
    lost = t.both(a, b)
    assert t.xor(lost, lost) is lost
    with pytest.raises(NotPolynomialError, match="bitwise AND of two secrets"):
        t.form(lost)


def test_or_is_a_sum_only_where_it_is_one() -> None:
    t = terms()
    a, low, high = t.variable("C1"), (1 << 64) - 1, MASK128 ^ (1 << 64) - 1
    assert t.form(t.either(t.keep(a, low), t.keep(a, high))) == t.form(a)
    # They overlap, and agree there.
    assert t.form(t.either(t.keep(a, low), t.keep(a, 0xFF << 60 | high))) == t.form(a)
    shifted = t.moves(a, ((8, MASK128 ^ 0xFF),))
    with pytest.raises(NotPolynomialError):
        t.form(t.either(a, shifted))


def test_what_the_caller_left_is_public_and_useless() -> None:
    t = terms()
    left = t.caller("rax", 64)
    mixed = t.xor(left, 1)
    assert mixed is not left
    with pytest.raises(NotPolynomialError):
        t.form(mixed)
    assert mixed.deps & CALLER  # type: ignore[union-attr]


def test_the_list_of_instructions_names_the_usual_ones_only() -> None:
    assert {"pclmulqdq", "vpclmulqdq", "vpshufb", "vpternlogq", "pxor"} <= dataflow.listed()
    assert not {"div", "vpgatherdd", "bswap", "movaps"} & dataflow.listed()
    assert not dataflow.listed() & dataflow.no_operands()

"""Kinds of term: an opaque function, which a family adds, is followed like any other kind."""

import pytest

from ghashgen.algebra.ops.forms import Form, constant, variable
from ghashgen.verify.core.kinds import KINDS
from ghashgen.verify.core.linear import Facts
from ghashgen.verify.core.numbers import parse
from ghashgen.verify.core.opaque import Bytewise
from ghashgen.verify.core.renumbering import rebuilt
from ghashgen.verify.core.term import (
    CALLER,
    DATA,
    MASK128,
    OPAQUE,
    RAW,
    SECRET,
    TABLE,
    Kind,
    Lane,
    NotPolynomialError,
    Term,
    parts_first,
    secret,
)
from ghashgen.verify.core.terms import Terms
from ghashgen.verify.search.renaming import replaced
from ghashgen.verify.search.variables import Variables


def box(terms: Terms, lane: Lane) -> Lane:
    return terms.apply("box", lane)


@pytest.fixture
def terms() -> Terms:
    kind = Bytewise("box", "S").kind
    return Terms(lambda name, number: variable(f"{name}{number}"), kinds=(kind,))


def term(lane: Lane) -> Term:
    assert isinstance(lane, Term)
    return lane


def test_an_opaque_function_is_named_by_the_forms_of_what_goes_in(terms: Terms) -> None:
    a, b = terms.variable("C1"), terms.variable("C2")
    assert box(terms, terms.xor(a, b)) is box(terms, terms.xor(b, a))
    # Another computation of the same forms: other terms, the same atoms.
    low, high = terms.keep(a, 0xFF), terms.keep(a, MASK128 ^ 0xFF)
    again = terms.xor(terms.xor(high, b), terms.xor(low, b))
    assert again is not a
    assert terms.form(box(terms, again)) == terms.form(box(terms, a))
    assert terms.form(box(terms, a)) != terms.form(box(terms, b))
    # Byte by byte: moving bytes before and after is the same.
    swap = tuple(range(15, -1, -1))
    assert terms.form(box(terms, terms.bytes(a, swap))) == terms.form(
        terms.bytes(box(terms, a), swap)
    )
    assert terms.form(box(terms, 5)) == terms.form(box(terms, 5)) != constant(5, 128)


def test_a_function_of_what_has_no_form_has_none(terms: Terms) -> None:
    a, entry = terms.variable("C1"), terms.entry("B", 1)
    with pytest.raises(NotPolynomialError, match="box of a product"):
        terms.form(box(terms, terms.clmul(a, 0, entry, 1)))
    for lost in (terms.opaque("unknown"), terms.caller("rax"), terms.both(a, entry)):
        found = term(box(terms, lost))
        assert found.deps & OPAQUE
        with pytest.raises(NotPolynomialError):
            terms.form(found)


def test_it_is_as_secret_as_what_goes_in(terms: Terms) -> None:
    assert secret(box(terms, terms.variable("C1")))
    assert term(box(terms, terms.entry("K", 1))).deps == TABLE | SECRET
    assert not secret(box(terms, 5))
    assert term(terms.xor(box(terms, terms.variable("C1")), 5)).deps == DATA | SECRET
    assert not secret(box(terms, terms.caller("rax")))
    assert term(box(terms, terms.caller("rax"))).deps & CALLER


def test_its_variables_are_those_of_what_goes_in_and_are_renamed_in_it(terms: Terms) -> None:
    inner = box(terms, terms.xor(terms.variable("C3"), terms.entry("K", 0)))
    outer = term(terms.moves(box(terms, terms.xor(inner, 9)), ((8, MASK128 ^ 0xFF),)))
    variables = Variables(terms)
    assert variables.of(outer) == {"C3"}
    moved = replaced(terms, outer, lambda name: terms.variable(f"C{int(name[1:]) - 2}"))
    assert variables.of(term(moved)) == {"C1"}
    back = replaced(terms, term(moved), lambda name: terms.variable("C3"))
    assert back is outer
    assert terms.form(moved) != terms.form(outer)


def test_a_partial_block_is_settled_before_it_goes_in(terms: Terms) -> None:
    raw = terms.variable("P", RAW)
    terms.settle = lambda found: terms.variable("C1") if found is raw else found
    assert box(terms, raw) is box(terms, terms.variable("C1"))


@pytest.mark.parametrize("name", ["other", "xor", "opaque"])
def test_a_function_that_the_family_does_not_have_is_not_followed(terms: Terms, name: str) -> None:
    found = term(terms.apply(name, terms.variable("C1")))
    assert found.op == "opaque"
    assert secret(found)
    with pytest.raises(NotPolynomialError, match="of which the statement says nothing"):
        terms.form(found)


def test_no_family_redefines_a_kind() -> None:
    for name in ("xor", "box"):
        kind = Kind(name, lambda terms, term: Form(128))
        with pytest.raises(ValueError, match=f"two kinds of term of the name {name}"):
            Terms(lambda name, number: Form(128), kinds=(kind, kind))


def test_every_kind_that_has_parts_can_be_built_of_others(terms: Terms) -> None:
    a, b = terms.variable("C1"), terms.variable("C2")
    samples = {
        "var": a,
        "entry": terms.entry("B", 1),
        "xor": terms.xor(a, b),
        "moves": terms.keep(a, 0xFFFF),
        "clmul": terms.clmul(a, 0, b, 1),
        "linear": terms.add_words(a, 1),
        "number": terms.number(parse("8*length"), Facts({"length": (0, 99)})),
        "or": terms.either(a, b),
        "equal": terms.equal(terms.xor(a, b), 0xFFFF),
        "beside": terms.beside(terms.opaque("unknown", mask=0xFF00), 5),
        "caller": terms.caller("rax"),
        "opaque": terms.opaque("unknown"),
    }
    assert [kind.name for kind in KINDS] == list(samples)
    for kind in KINDS:
        sample = term(samples[kind.name])
        assert sample.op == kind.name
        if kind.rebuild is not None:
            assert rebuilt(terms, sample, *sample.args) is sample
        elif kind.name in ("var", "linear"):
            assert replaced(terms, sample, terms.variable) is sample
        else:
            with pytest.raises(ValueError, match=f"a term of kind {kind.name} has no parts"):
                replaced(terms, sample, terms.variable)
    linear = {kind.name for kind in KINDS if kind.linear}
    assert linear == {"xor", "moves"}


def test_terms_are_gone_over_once_and_parts_first(terms: Terms) -> None:
    a, b = terms.variable("C1"), terms.variable("C2")
    both = terms.xor(a, b)
    whole = term(terms.xor(terms.clmul(both, 0, a, 1), terms.keep(both, 0xFF)))
    seen: dict[Term, None] = {}
    for part in parts_first(whole, seen):
        assert all(p in seen for p in part.args if isinstance(p, Term))
        assert part not in seen
        seen[part] = None
    assert len(seen) == 6
    above = list(parts_first(whole, {}, lambda t: t.op == "xor" and t is whole))
    assert above[-1] is whole
    assert a not in above

"""The kinds of term that every family has: their polynomials, and how to rebuild them."""

from typing import TYPE_CHECKING

from ghashgen.algebra.ops.forms import DegreeError, Form, multiply, variable
from ghashgen.verify.core.term import Kind, Lane, NotPolynomialError, Term

if TYPE_CHECKING:
    from ghashgen.verify.core.terms import Terms


def as_lane(value: object) -> Lane:
    """Return a term's argument, which must be a lane."""
    assert isinstance(value, int | Term)
    return value


def as_number(value: object) -> int:
    """Return a term's argument, which must be a number."""
    assert isinstance(value, int)
    return value


def _in_linear(terms: "Terms", term: Term) -> Form:
    """Return the polynomials of a term of kind "linear"."""
    known, items, _ = term.args
    assert isinstance(items, tuple)
    return Form(128, as_number(known), dict(items))


def _entry_form(terms: "Terms", term: Term) -> Form:
    name, number = term.args
    return terms.entry_form(str(name), as_number(number))


NUMBER_LETTER = "#"
"""The letter of the variables that are bits of a number with unknowns."""


def _number(terms: "Terms", term: Term) -> Form:
    return variable(f"{NUMBER_LETTER}{term.serial}").mask(term.mask)


def _sum(terms: "Terms", term: Term) -> Form:
    a, b = term.args
    return terms.form(as_lane(a)) ^ terms.form(as_lane(b))


def _product(terms: "Terms", term: Term) -> Form:
    """Return the polynomials of a carry-less product."""
    a, half_a, b, half_b = term.args
    first = terms.form(as_lane(a)).slice(64 * as_number(half_a), 64)
    second = terms.form(as_lane(b)).slice(64 * as_number(half_b), 64)
    try:
        return multiply(first, second)
    except DegreeError:
        raise NotPolynomialError("a product of degree above 2", term.at) from None


def _moved(terms: "Terms", term: Term) -> Form:
    a, moves = term.args
    assert isinstance(moves, tuple)
    return terms.form(as_lane(a)).moves(moves, 128)


OR, EQUAL = "or", "equal"

UNKNOWN = {OR: "a bitwise OR of two secrets", EQUAL: "a comparison of secrets"}
"""Kinds of term of which only one thing is known: when they are 0, or all ones."""


BESIDE = "beside"
"""The kind of known bits beside unknown ones: a byte of a register."""


def reason_of(term: Term) -> str:
    """Return why a term of these kinds has no polynomials, "" for any other kind."""
    if term.op == "caller":
        return f"what the caller left in {term.args[0]}"
    first = term.args[0]
    if term.op == BESIDE and isinstance(first, Term):
        return reason_of(first)
    return str(first) if term.op == "opaque" else UNKNOWN.get(term.op, "")


def _unknown(terms: "Terms", term: Term) -> Form:
    raise NotPolynomialError(reason_of(term), term.at)


KINDS = (
    Kind("var", lambda terms, term: variable(str(term.args[0]))),
    Kind("entry", _entry_form, lambda terms, *args: terms.entry(*args)),
    Kind("xor", _sum, lambda terms, *args: terms.xor(*args), linear=True),
    Kind("moves", _moved, lambda terms, *args: terms.moves(*args), linear=True),
    Kind("clmul", _product, lambda terms, *args: terms.clmul(*args)),
    Kind("linear", _in_linear),
    Kind("number", _number),
    Kind(OR, _unknown, lambda terms, *args: terms.either(*args)),
    Kind(EQUAL, _unknown, lambda terms, *args: terms.equal(*args)),
    Kind(BESIDE, _unknown, lambda terms, *args: terms.beside(*args)),
    Kind("caller", _unknown),
    Kind("opaque", _unknown),
)
"""The kinds of term that every family has."""

SIMPLE = frozenset({"var", "entry", "xor", "moves", "linear"})
"""Kinds without a product or a function."""

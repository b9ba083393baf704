"""Terms with other values in the place of their variables."""

from collections.abc import Callable

from ghashgen.algebra.ops.forms import VAR_BITS, Form, set_bits, variable
from ghashgen.verify.core.renumbering import rebuilt
from ghashgen.verify.core.term import Lane, Term, parts_first
from ghashgen.verify.core.terms import Terms
from ghashgen.verify.core.words import LETTER, WORD_BITS, Words
from ghashgen.verify.search.variables import is_variable, used


def replaced(terms: Terms, term: Term, lane_of: Callable[[str], Lane]) -> Lane:
    """Return a term with `lane_of(name)` in the place of every variable.

    Raises:
        ValueError: a part is not a function of variables and table entries.
    """
    done: dict[Term, Lane] = {}
    for part in parts_first(term, done):
        if part.op == "var":
            done[part] = lane_of(str(part.args[0]))
        elif part.op == "linear":
            done[part] = _in_linear(terms, part, lane_of)
        else:
            arguments = [done[a] if isinstance(a, Term) else a for a in part.args]
            done[part] = rebuilt(terms, part, *arguments)
    return done[term]


def _in_linear(terms: Terms, term: Term, lane_of: Callable[[str], Lane]) -> Lane:
    def form_of(name: str) -> Form:
        return terms.form(lane_of(name)) if is_variable(terms, name) else variable(name)

    return terms.linear(_exchanged(terms.words, terms.form(term), form_of), term.deps)


def _exchanged(words: Words, form: Form, variable_of: Callable[[str], Form]) -> Form:
    """Return a form of degree 1 with 128 polynomials in the place of each variable."""
    out = Form(form.width, form.constant)
    for name, packed in form.linear.items():
        if not name.startswith(LETTER):
            out ^= _composed(form.width, packed, variable_of(name))
    for base, amount, rows in used(words, form.linear):
        word = Form(WORD_BITS, base[0], dict(base[1]))
        word = words.plus(_exchanged(words, word, variable_of), amount)
        out ^= _composed(form.width, rows, word.resize(VAR_BITS))
    return out


def _composed(width: int, packed: int, inner: Form) -> Form:
    """Return the linear map of packed rows, applied to 128 polynomials instead of a variable."""
    keeps: dict[int, int] = {}
    for place in set_bits(packed):
        k, u = divmod(place, VAR_BITS)
        keeps[k - u] = keeps.get(k - u, 0) | 1 << k
    return inner.moves(tuple(sorted(keeps.items())), width)

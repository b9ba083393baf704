"""Terms with other parts, and with other numbers in their public bits."""

from collections.abc import Mapping

from ghashgen.verify.core.linear import Facts
from ghashgen.verify.core.numbers import Number, replaced
from ghashgen.verify.core.term import Lane, Term, parts_first, parts_of
from ghashgen.verify.core.terms import Terms
from ghashgen.verify.core.values import Linear


def rebuilt(terms: Terms, term: Term, *arguments: object) -> Lane:
    """Return the operation that made a term, applied to other arguments.

    Raises:
        ValueError: there is none.
    """
    rebuild = terms.kinds[term.op].rebuild
    if rebuild is None:
        raise ValueError(f"a term of kind {term.op} has no parts to exchange")
    return rebuild(terms, *arguments)


def renumbered(
    terms: Terms, term: Term, values: Mapping[str, Number], facts: Facts, done: dict[Term, Lane]
) -> Lane:
    """Return a sum of linear functions with numbers in the place of unknowns, in its public bits.

    Any other part stays: it is the same value. `done` keeps what has been found.
    """

    def changes(one: Term) -> bool:
        return not unknowns_of(terms, one).isdisjoint(values)

    if not changes(term):
        return term
    for part in parts_first(term, done, changes):
        if not changes(part):
            done[part] = part
        elif part.op == "number":
            value = part.args[0]
            assert isinstance(value, Linear)
            new = replaced(value, values)
            done[part] = terms.number(new, facts) if isinstance(new, Linear) else new
        else:
            arguments = [done[a] if isinstance(a, Term) else a for a in part.args]
            done[part] = rebuilt(terms, part, *arguments)
    return done[term]


def unknowns_of(terms: Terms, term: Term) -> frozenset[str]:
    """Return the unknowns whose numbers a term has, as a sum of linear functions of their bits."""
    known = terms.unknowns_of
    if (found := known.get(term)) is not None:
        return found
    for part in parts_first(term, known, lambda one: terms.kinds[one.op].linear):
        value = part.args[0]
        if part.op == "number" and isinstance(value, Linear):
            known[part] = frozenset(u for u, _ in value.k)
        else:
            inner = parts_of(part) if terms.kinds[part.op].linear else []
            known[part] = frozenset().union(*(known[p] for p in inner))
    return known[term]

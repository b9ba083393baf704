"""Which variables a term contains.

By definition, not by value: a variable counts even if it cancels.
"""

from collections.abc import Iterator

from ghashgen.algebra.ops.forms import VAR_BITS, Linear
from ghashgen.verify.core.term import Term, parts_first, parts_of
from ghashgen.verify.core.terms import Terms
from ghashgen.verify.core.words import LETTER, M32, PLACES, WORD_BITS, Base, Words

_COLUMNS = [
    sum(M32 << WORD_BITS * place + VAR_BITS * k for k in range(VAR_BITS)) for place in range(PLACES)
]


class Variables:
    """Which variables a term contains, table entries aside."""

    def __init__(self, terms: Terms) -> None:
        self._terms = terms
        self._known: dict[Term, frozenset[str]] = {}

    def of(self, term: Term) -> frozenset[str]:
        """Return the names of the term's variables, even if its form does not depend on them."""
        known = self._known
        for part in parts_first(term, known):
            known[part] = self._own(part).union(*(known[p] for p in parts_of(part)))
        return known[term]

    def _own(self, part: Term) -> frozenset[str]:
        terms = self._terms
        if part.op not in ("var", "number", "linear"):
            return frozenset()
        names = _names(terms.words, terms.form(part).linear)
        return frozenset(n for n in names if part.op == "number" or is_variable(terms, n))


def is_variable(terms: Terms, name: str) -> bool:
    """Return whether a name in a form is that of a variable, not of an entry's bits."""
    return ("var", name) in terms._pool


def used(words: Words, linear: Linear) -> Iterator[tuple[Base, int, int]]:
    """Yield the sums of words in linear parts: base, constant, and the packed rows of its bits.

    The rows are those of a variable whose lowest word is the sum.
    """
    for name, packed in linear.items():
        for place in range(PLACES) if name.startswith(LETTER) else ():
            rows = (packed & _COLUMNS[place]) >> WORD_BITS * place
            if rows:
                yield *words.sums[PLACES * int(name[1:]) + place], rows


def _names(words: Words, linear: Linear) -> frozenset[str]:
    """Return the variables in linear parts, including those in the bases of sums."""
    own = frozenset(name for name in linear if not name.startswith(LETTER))
    bases = (_names(words, dict(base[1])) for base, _, _ in used(words, linear))
    return own.union(*bases)

"""Values of the sums modulo 2^32 in forms, given values of their variables."""

from collections.abc import Mapping

from ghashgen.algebra.ops.forms import Form
from ghashgen.algebra.ops.monomials import evaluate
from ghashgen.verify.core.words import LETTER, M32, PLACES, WORD_BITS, Words


def with_sums(words: Words, values: Mapping[str, int]) -> dict[str, int]:
    """Return the values of variables, and of the sums made from them."""
    known = dict(values)
    # A base may contain earlier sums.
    for number, (base, amount) in enumerate(words.sums):
        word = Form(WORD_BITS, base[0], dict(base[1]))
        group, place = divmod(number, PLACES)
        total = evaluate(word, known) + amount & M32
        name = f"{LETTER}{group}"
        known[name] = known.get(name, 0) | total << WORD_BITS * place
    return known

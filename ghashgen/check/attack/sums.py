"""The values of the sums modulo 2^32 that forms are made of, where their variables have values."""

from collections.abc import Mapping

from ghashgen.algebra.ops.forms import Form
from ghashgen.algebra.ops.monomials import evaluate
from ghashgen.verify.core.words import LETTER, M32, PLACES, WORD_BITS, Words


def with_sums(words: Words, values: Mapping[str, int]) -> dict[str, int]:
    """Return the values of variables, with those of the sums that are made of them."""
    known = dict(values)
    # A base is made of earlier sums.
    for number, (base, amount) in enumerate(words.sums):
        word = Form(WORD_BITS, base[0], dict(base[1]))
        group, place = divmod(number, PLACES)
        total = evaluate(word, known) + amount & M32
        name = f"{LETTER}{group}"
        known[name] = known.get(name, 0) | total << WORD_BITS * place
    return known

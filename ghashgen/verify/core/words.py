"""32-bit words with constants added modulo 2^32: base + c is 32 fresh bits, named by (base, c).

A base is 32 polynomials of degree 1. Sums can be followed while constants are added: (base + c) + d
is base + (c + d), and base + 0 is the base, so equal sums have equal names. Nothing else is known
of a sum's bits: sums of different bases differ.
"""

from ghashgen.algebra.ops.forms import VAR_BITS, Form, constant, variable

WORD_BITS = 32
PLACES = VAR_BITS // WORD_BITS
"""Words of a lane, and of a variable."""

M32 = (1 << WORD_BITS) - 1

LETTER = "+"
"""Sum number n is word n mod 4 of the variable LETTER(n div 4). No other variable starts so."""

_IDENTITY = variable("v", WORD_BITS).linear["v"]

Base = tuple[int, tuple[tuple[str, int], ...]]
"""A word of polynomials of degree 1: its constant, and the packed rows of each variable."""


def base_of(form: Form) -> Base:
    """Return a name for a word of degree 1."""
    return form.constant, tuple(sorted(form.linear.items()))


class Words:
    """The sums found so far, for one pool of terms."""

    def __init__(self) -> None:
        self._numbers: dict[tuple[Base, int], int] = {}
        self.sums: list[tuple[Base, int]] = []
        """The base and the constant of each sum, by its number."""

    def clear(self) -> None:
        """Forget all sums."""
        self._numbers.clear()
        self.sums.clear()

    def lanes(self, a: Form, b: Form, sign: int) -> Form | None:
        """Return a + sign·b, word by word; None if neither of two words is a constant.

        Both are lanes of degree 1. A subtracted word has to be constant.
        """
        out = Form(VAR_BITS)
        for place in range(PLACES):
            at = WORD_BITS * place
            first, second = a.slice(at, WORD_BITS), b.slice(at, WORD_BITS)
            if second.linear:
                if first.linear or sign < 0:
                    return None
                first, second = second, first
            word = self.plus(first, sign * second.constant & M32)
            out ^= word.resize(VAR_BITS).shift(at)
        return out

    def plus(self, word: Form, amount: int) -> Form:
        """Return a word of degree 1 plus a constant."""
        if not amount:
            return word
        if not word.linear:
            return constant(word.constant + amount & M32, WORD_BITS)
        base, before = self._parts(base_of(word))
        amount = before + amount & M32
        if not amount:
            return Form(WORD_BITS, base[0], dict(base[1]))
        number = self._numbers.setdefault((base, amount), len(self.sums))
        if number == len(self.sums):
            self.sums.append((base, amount))
        group, place = divmod(number, PLACES)
        return Form(WORD_BITS, 0, {f"{LETTER}{group}": _IDENTITY << WORD_BITS * place})

    def _parts(self, word: Base) -> tuple[Base, int]:
        """Return the base and the constant of a word, which may be a sum."""
        known, rows = word
        if not known and len(rows) == 1 and rows[0][0].startswith(LETTER):
            name, packed = rows[0]
            for place in range(PLACES):
                if packed == _IDENTITY << WORD_BITS * place:
                    return self.sums[PLACES * int(name[1:]) + place]
        return word, 0

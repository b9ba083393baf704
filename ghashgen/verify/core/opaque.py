"""A function of a byte that nobody looks into: its values are fresh bits, named by what goes in.

Whatever is proved over it holds for every function of a byte. Two values of it are equal exactly if
what goes in is: same polynomials, same bits. A constant is no exception, so the value at a constant
is a constant that is not known.
"""

from ghashgen.algebra.ops.forms import VAR_BITS, Form, variable
from ghashgen.verify.core.term import Kind, NotPolynomialError, Term
from ghashgen.verify.core.terms import Terms

SBOX = "sbox"
"""The kind by which rows apply the S-box of AES."""

BYTES = 16
"""Bytes of a lane, and of a variable."""

_BYTE = (1 << 8 * VAR_BITS) - 1
_IDENTITY = variable("v", 8).linear["v"]

Argument = tuple[int, tuple[tuple[str, int], ...]]
"""A byte of polynomials of degree 1: its constant, and of each variable its packed rows."""


class Bytewise:
    """One such function, applied to each of the 16 bytes of a lane; a pool of terms has its own.

    The value number n is byte n mod 16 of the variable `letter`(n div 16).
    """

    def __init__(self, name: str, letter: str) -> None:
        self.letter = letter
        self.numbers: dict[Argument, int] = {}
        """What has gone in -> the number of its value, in the order in which it came."""
        self.kind = Kind(name, self._form, lambda terms, part: terms.apply(name, part))
        """The kind of term."""

    def _form(self, terms: Terms, term: Term) -> Form:
        (part,) = term.args
        assert isinstance(part, int | Term)
        whole = terms.form(part)
        if whole.quadratic:
            raise NotPolynomialError(f"{term.op} of a product", term.at)
        linear: dict[str, int] = {}
        items = sorted(whole.linear.items())
        for k in range(BYTES):
            rows = ((name, packed >> 8 * k * VAR_BITS & _BYTE) for name, packed in items)
            key = (whole.constant >> 8 * k & 0xFF, tuple((v, p) for v, p in rows if p))
            number, place = divmod(self.numbers.setdefault(key, len(self.numbers)), BYTES)
            value = _IDENTITY << 8 * k * VAR_BITS + 8 * place
            name = f"{self.letter}{number}"
            linear[name] = linear.get(name, 0) | value
        return Form(8 * BYTES, 0, linear)

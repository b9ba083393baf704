"""An uninterpreted function of a byte: its values are fresh bits, named by the argument.

A proof over it holds for every function of a byte. Two of its values are equal exactly if the
arguments are equal: same polynomials, same bits. The value at a constant is a constant too, but an
unknown one.
"""

from ghashgen.algebra.ops.forms import VAR_BITS, Form, variable
from ghashgen.verify.core.term import Kind, NotPolynomialError, Term
from ghashgen.verify.core.terms import Terms

SBOX = "sbox"
"""The kind under which rows apply the S-box of AES."""

BYTES = 16
"""Bytes of a lane, and of a variable."""

_BYTE = (1 << 8 * VAR_BITS) - 1
_IDENTITY = variable("v", 8).linear["v"]

Argument = tuple[int, tuple[tuple[str, int], ...]]
"""A byte of polynomials of degree 1: its constant, and the packed rows of each variable."""


class Bytewise:
    """An uninterpreted function, applied to each of the 16 bytes of a lane, for one pool of terms.

    Value number n is byte n mod 16 of the variable `letter`(n div 16).
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

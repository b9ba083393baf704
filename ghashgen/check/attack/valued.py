"""A pool of terms whose opaque functions have values, so that rows can be compared with a CPU."""

from collections.abc import Mapping

from ghashgen.algebra.field.aes import s_box
from ghashgen.algebra.ops.forms import Form
from ghashgen.algebra.ops.monomials import evaluate
from ghashgen.check.attack.sums import with_sums
from ghashgen.verify.core.opaque import BYTES, SBOX, Bytewise
from ghashgen.verify.core.term import Lane
from ghashgen.verify.core.terms import Terms

LETTER = "S"


class ValuedTerms(Terms):
    """A pool for rows: table entries are zero, and the S-box is FIPS 197's when a form is
    evaluated.

    No other variable's name may begin with `LETTER`.
    """

    def __init__(self) -> None:
        self.boxes = Bytewise(SBOX, LETTER)
        super().__init__(lambda name, number: Form(8 * BYTES), kinds=(self.boxes.kind,))

    def value(self, lane: Lane, values: Mapping[str, int]) -> int:
        """Return the value of a lane whose variables all have one.

        Raises:
            NotPolynomialError: it is opaque, or of degree above 2.
        """
        form = self.form(lane)
        return evaluate(form, box_values(self.boxes, with_sums(self.words, values)))


def box_values(boxes: Bytewise, values: Mapping[str, int]) -> dict[str, int]:
    """Return the values of variables, including the S-box's results."""
    known = dict(values)
    # Inputs come from earlier ones.
    for (constant, rows), number in boxes.numbers.items():
        name = f"{boxes.letter}{number // BYTES}"
        byte = evaluate(Form(8, constant, dict(rows)), known)
        known[name] = known.get(name, 0) | s_box()[byte] << 8 * (number % BYTES)
    return known

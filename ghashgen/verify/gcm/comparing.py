"""Received tags: their lengths, and the one condition that a secret may decide.

A value is 0 exactly if the first bytes of the tag are those received, if the polynomials of its
bits are exactly those of the differences: of one value, or of several combined by OR.
"""

from collections.abc import Callable

from ghashgen.algebra.ops.forms import Form, variable
from ghashgen.verify.core.limits import TAGS
from ghashgen.verify.core.refutation import Category, Refutation
from ghashgen.verify.core.term import Lane, Term
from ghashgen.verify.core.terms import Terms
from ghashgen.verify.core.values import Number
from ghashgen.verify.core.zeros import all_of, bits_of
from ghashgen.verify.engine.cut import least
from ghashgen.verify.engine.family import Buffer, Cell, Count, Parameter
from ghashgen.verify.gcm.named import greatest
from ghashgen.verify.gcm.table import GIVEN
from ghashgen.verify.hash.entry import HashEntry
from ghashgen.verify.machine.regions import Access

LONGEST = max(TAGS)

TAG = "tag_length"

PARAMETERS: dict[str, Parameter] = {"tag": Buffer(Access.READ, TAG), TAG: Count()}
"""A received tag, and its number of bytes."""


def given(terms: Terms) -> Cell[HashEntry]:
    """Return the received tag's buffer content."""

    def cell(entry: HashEntry, index: int) -> Lane:
        del entry, index
        return terms.variable(GIVEN)

    return cell


def may_be(size: Number) -> bool:
    """Return whether a tag may have this many bytes."""
    low, high = least(size), greatest(size)
    return high <= LONGEST and all(k in TAGS for k in range(low, high + 1))


def tells_apart(terms: Terms, value: Term, size: int, right: Callable[[Form], Form]) -> bool:
    """Return whether a value is 0 if and only if a tag is the one given, in its first `size` bytes.

    `right` maps a form to the correct tag, in the form's variables.

    Raises:
        Refutation: it depends on the tag, but in another way.
    """
    leaves = all_of(value)
    forms = [form for leaf in leaves if (form := terms.try_form(leaf)) is not None]
    if len(forms) < len(leaves):
        return False
    found = set().union(*map(bits_of, forms))
    largest = max(forms, key=lambda form: len(form.quadratic))
    difference = right(largest) ^ variable(GIVEN)
    wanted = bits_of(difference.mask((1 << 8 * size) - 1))
    if found == wanted:
        return True
    about = ""
    if found & wanted:
        about = "a condition on some bits of the tag, or on others too"
    elif any(GIVEN in form.linear for form in forms):
        about = "a condition on the tag that is given, and on another than is right"
    if about:
        raise Refutation(
            Category.FUNCTION,
            f"{about}: not on whether the first {size} bytes are right",
            at=terms.at,
        )
    return False

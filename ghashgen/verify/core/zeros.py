"""When a value is 0: what else is 0 then, and which polynomials that are."""

from ghashgen.algebra.ops.forms import QUAD_BITS, VAR_BITS, Form
from ghashgen.verify.core.kinds import OR
from ghashgen.verify.core.term import Term, parts_of


def all_of(value: Term) -> list[Term]:
    """Return the values that are 0, all of them, if and only if a value is."""
    return (
        [leaf for part in parts_of(value) for leaf in all_of(part)] if value.op == OR else [value]
    )


def bits_of(form: Form) -> set[object]:
    """Return the polynomials of a form that are not 0."""
    rows: list[list[object]] = [[] for _ in range(form.width)]
    for stride, part in ((VAR_BITS, form.linear), (QUAD_BITS, form.quadratic)):
        size, none = stride // 8, bytes(stride // 8)
        for names, packed in sorted(part.items()):
            data = packed.to_bytes(form.width * size, "little")
            for k, monomials in enumerate(rows):
                row = data[k * size : (k + 1) * size]
                if row != none:
                    monomials.append((names, row))
    bits = ((form.constant >> k & 1, tuple(monomials)) for k, monomials in enumerate(rows))
    return {bit for bit in bits if bit != (0, ())}

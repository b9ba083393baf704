"""A function of lanes, applied to each lane of some registers: worked out once for equal terms.

Equal terms are one object, so what is made of them is one too. Only what is said of something that
may be another at another place is made each time anew: of bytes of a partial block
(`Terms.settle`), and what is opaque or the caller's.
"""

from collections.abc import Callable

from ghashgen.verify.core.term import CALLER, OPAQUE, RAW, Lane, deps_of
from ghashgen.verify.core.terms import Terms


def lanewise(
    terms: Terms, function: Callable[..., Lane], imm: int, *sources: tuple[Lane, ...]
) -> tuple[Lane, ...]:
    """Return function(terms, a, b, …, imm) of the first lanes of the sources, of the second, …."""
    key = (function, imm, *sources)
    known = terms.lanewise.get(key)
    if known is None:
        known = tuple([function(terms, *lanes, imm) for lanes in zip(*sources, strict=True)])
        deps = deps_of(*known)
        for lanes in sources:
            deps |= deps_of(*lanes)
        if not deps & (RAW | OPAQUE | CALLER):
            terms.lanewise[key] = known
    return known

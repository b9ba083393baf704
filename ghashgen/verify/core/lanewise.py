"""Apply a function to each lane of some registers, once for equal terms.

Equal terms are one object, and so are their results. Results that can differ by place are computed
anew each time: bytes of a partial block (`Terms.settle`), opaque values and the caller's. Call
`Terms.forget` where the pool's hooks may answer otherwise from there on.
"""

from collections.abc import Callable

from ghashgen.verify.core.term import CALLER, OPAQUE, RAW, Lane, deps_of
from ghashgen.verify.core.terms import Terms


def lanewise(
    terms: Terms, function: Callable[..., Lane], imm: int, *sources: tuple[Lane, ...]
) -> tuple[Lane, ...]:
    """Return function(terms, a, b, …, imm) for the sources' first lanes, then their second, …."""
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

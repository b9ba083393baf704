"""Wrong objects that the rules accepted by a certificate that was made for them.

Each is refused, and its twin, which is right, is accepted by a certificate of the same kind.
"""

import pytest
from helpers.handmade import BUFFERS, MUL, assertion, check

from ghashgen.verify.core.refutation import Refutation

CLEARED = """
    pxor xmm0, xmm0
    movdqu [rdi], xmm0
.cut:
    LOAD_CONSTANTS
    PRODUCT rdi, rsi
    ret
"""
MULTIPLIED = ".cut:\n LOAD_CONSTANTS\n PRODUCT rdi, rsi\n ret\n"


@pytest.mark.parametrize("most", [0, 5])
def test_bytes_at_an_unknown_place_hide_no_store(most: int) -> None:
    """The state is written as far as 16*t, t being 0. Read at 0, it seemed not to be written."""
    unknowns, ways = {"t": [0, most]}, {"entry": [{"t": "0"}]}
    check(MULTIPLIED, MUL, cut=assertion("cut", BUFFERS, unknowns=unknowns, ways=ways))
    lie = assertion("cut", {**BUFFERS, "state+16*t:16": "?"}, unknowns=unknowns, ways=ways)
    with pytest.raises(Refutation, match="in a buffer of known size"):
        check(CLEARED, MUL, cut=lie)


def test_a_truth_value_is_no_number_of_a_term() -> None:
    cut = assertion("cut", {**BUFFERS, "v5.0": ["t", "entry", "C1", True]})
    with pytest.raises(Refutation, match="no part of a term: True"):
        check(MULTIPLIED, MUL, cut=cut)

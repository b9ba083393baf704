"""What survives a cut, by kind of value and by place: an object of each.

Each object breaks its sentence and is wrong when it is run; it is refused, and its repaired twin is
proved. What of them lies in a caller's buffer, or among arguments on the stack, is in
asm_attack/parked.
"""

import pytest
from helpers.attacking import expected, hashed, proof, source
from helpers.parked import STATEMENTS, assembled, stated

from ghashgen.verify.core.refutation import Category
from ghashgen.verify.prove import prove_object

FUNCTION, UNSUPPORTED, MEMORY, ABI = (
    Category.FUNCTION, Category.UNSUPPORTED, Category.MEMORY, Category.ABI,
)  # fmt: skip

DATA = bytes((29 * k + 3) & 0xFF for k in range(1024))

# kind -> (object, lengths at which it is wrong, category, words of the refutation)
BROKEN = {
    "constant": ("place_constant", (256, 512), FUNCTION, "(length 256)"),
    "length": ("place_length", (256, 512), FUNCTION, "(length 256)"),
    "address": ("place_address", (192, 256), FUNCTION, "(length 256)"),
    "return": ("place_return", (), ABI, "a return address is read"),
    "caller": ("place_caller", (), FUNCTION, "with what the caller left"),
    "table": ("place_table", (80,), FUNCTION, "(length 80)"),
    "other": ("place_other", (128, 192), FUNCTION, "the state is wrong"),
}


@pytest.mark.parametrize("kind", BROKEN)
def test_a_value_that_does_not_survive(kind: str) -> None:
    name, wrong, category, words = BROKEN[kind]
    for length in range(0, 600, 16):
        assert hashed(source(name, False), DATA, length) == expected(DATA[:length]), length
    for length in wrong:
        assert hashed(source(name, True), DATA, length) != expected(DATA[:length]), length
    assert proof(name, False, "update").refutation is None
    refutation = proof(name, True, "update").refutation
    assert refutation is not None
    assert refutation.category is category, str(refutation)
    assert words in str(refutation)


ELSEWHERE = {
    "seal": (UNSUPPORTED, "input read where output has been written"),
    "aad": (FUNCTION, "the state is wrong"),
    "over_read": (MEMORY, "of input that end 1 beyond it"),
    "reloaded": (MEMORY, "written already, and not as they are"),
}
"""An address in a buffer that the caller passed, and one among the arguments on the stack."""


@pytest.mark.parametrize("name", sorted(STATEMENTS))
def test_an_address_where_no_cut_moves_it(name: str) -> None:
    category, words = ELSEWHERE[name]
    # The repaired twin is right, but no certificate is found: each turn looks at what it keeps.
    found = prove_object(assembled(name, False), stated(name)).refutation
    assert found is not None
    assert found.category is UNSUPPORTED, str(found)
    refutation = prove_object(assembled(name, True), stated(name)).refutation
    assert refutation is not None
    assert refutation.category is category, str(refutation)
    assert words in str(refutation)

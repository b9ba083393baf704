"""Names that hold in one state are not taken for another: what is cached is forgotten between them.

In a fork where the IV has 16 bytes, a value is J_0; where it has 32, the same value is none. An
instruction that meets it names it in the first fork, and must not find that name in the second.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from helpers.gcm_faults import AVX

from ghashgen.algebra.field.bitorder import BLOCK_BYTES
from ghashgen.check.proofs import statement
from ghashgen.verify.core.kinds import as_lane
from ghashgen.verify.core.linear import Case, Facts
from ghashgen.verify.core.term import DATA, SECRET, Kind, Lane, Term
from ghashgen.verify.core.terms import Terms
from ghashgen.verify.machine.image import Image
from ghashgen.verify.meaning.counters import BASE
from ghashgen.verify.meaning.function import Function
from ghashgen.verify.meaning.letters import COUNTER
from ghashgen.verify.meaning.names import Names
from ghashgen.verify.rules.entry import entered
from ghashgen.verify.rules.state import State, own
from ghashgen.verify.search.variables import Variables
from ghashgen.verify.x86_64.rows.aes import aesenc
from ghashgen.verify.x86_64.target import X86_64

MADE = "made"
"""The kind of a value whose polynomials are given."""


def seal_meaning() -> Function:
    """Return what seal means, for a small kernel."""
    kernel = replace(AVX, messages=True)
    spec = statement(kernel, kernel.name, "sysv")
    return spec.meaning(next(f for f in spec.functions if f.operation == "seal"))


def begun(meaning: Function, iv_length: int) -> State:
    """Return the state at the entry with an IV of a known length."""
    facts = Facts({**meaning.numbers})
    state = entered(Image(X86_64, (), {}), meaning.terms, meaning.call(own(facts), (16, 8)), facts)
    state.ghosts = meaning.begin() | own(facts)
    found = state.within(Case(values=(("iv_length", iv_length),)))
    assert found is not None
    return found


def first_counter(meaning: Function) -> Term:
    """Return (V·H + L)·H, V being the only block of an IV and L the block of its length in bits."""
    terms, algebra = meaning.terms, meaning.names.algebra
    bits = (8 * BLOCK_BYTES).to_bytes(BLOCK_BYTES, "big")
    length = terms.moves(int.from_bytes(bits, "little"), algebra.register)
    assert isinstance(length, int)
    wanted = algebra.state([("V0", 2)]) ^ algebra.multiple(length, 1)
    terms.kinds[MADE] = Kind(MADE, lambda terms, term: wanted)
    # No hook looks for J_0 in a value without a product.
    product = as_lane(terms.clmul(terms.variable("V0"), 0, terms.entry("B", 1), 0))
    return terms._make(MADE, (product,), (1 << 128) - 1, DATA | SECRET)


USES: dict[str, Callable[[Terms, Lane, Lane], Any]] = {
    "a round": lambda t, lane, key: aesenc(t, lane, key, 0),
    "a sum of words": lambda t, lane, key: t.add_words(lane, 1 << 96),
    "a name": lambda t, lane, key: t.name(lane),
}
"""What may name a value, by the way in which it comes to do so."""


def named(use: str, lengths: tuple[int, ...]) -> list[tuple[bool, bool]]:
    """Return, fork after fork, whether J_0 is found, and whether the state knows of it."""
    meaning = seal_meaning()
    terms, variables = meaning.terms, Variables(meaning.terms)
    lane, key = first_counter(meaning), terms.entry("key", 1)
    memory = terms.moves(lane, meaning.names.algebra.memory)
    out = []
    for iv_length in lengths:
        state = begun(meaning, iv_length)
        meaning.entering(state)
        found = USES[use](terms, memory, key)
        counted = isinstance(found, Term) and COUNTER in variables.of(found)
        out.append((counted, BASE in state.ghosts))
    return out


@pytest.mark.parametrize("use", sorted(USES))
def test_a_name_of_one_fork_is_none_in_another(use: str) -> None:
    assert named(use, (16, 32)) == [(True, True), (False, False)]
    assert named(use, (32, 16)) == [(False, False), (True, True)]
    assert named(use, (16, 16)) == [(True, True), (True, True)]


def test_without_forgetting_it_is_taken_for_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Names, "forget", lambda self: None)
    wrong = [use for use in sorted(USES) if named(use, (16, 32))[1] != (False, False)]
    assert wrong == sorted(USES)

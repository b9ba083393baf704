"""init of AES-GCM: the round keys (FIPS 197, 5.2), and the table of the subkey H = E_K(0)."""

from typing import TYPE_CHECKING

from ghashgen.algebra.field.bitorder import BLOCK_BYTES
from ghashgen.verify.core.refutation import Category, Refutation
from ghashgen.verify.core.term import Lane, Term
from ghashgen.verify.machine.regions import Access
from ghashgen.verify.meaning.cipher import encrypted, expanded
from ghashgen.verify.meaning.ctr import check_keys
from ghashgen.verify.meaning.function import Buffer, Function, claim, holding
from ghashgen.verify.meaning.gcm import shared
from ghashgen.verify.meaning.hash import check_table, table_of
from ghashgen.verify.meaning.letters import KEY_LETTER
from ghashgen.verify.rules.state import State

if TYPE_CHECKING:
    from ghashgen.verify.statements.gcm import GcmFunction, GcmSpec


def init_of(spec: "GcmSpec", function: "GcmFunction") -> Function:
    """Return what init means: the table of a key of 16, 24 or 32 bytes."""
    names = shared(spec)[0]
    terms = names.terms
    lanes = [terms.variable(f"{KEY_LETTER}{k + 1}") for k in range(-(-spec.key_bytes // 16))]
    keys = expanded(terms, lanes, spec.key_bytes)
    subkey = terms.form(encrypted(terms, 0, keys))
    found: dict[Term, bool] = {}

    def named(lane: Term) -> Lane:
        """Return the subkey by its name, whose powers are then known by theirs."""
        # A product is not E_K(0), and may have a large form.
        if names.has_product(lane):
            return lane
        if lane not in found:
            found[lane] = terms.try_form(lane) == subkey
        return terms.entry("subkey", 1) if found[lane] else lane

    def finish(f: Function, state: State) -> None:
        check_keys(f, state, spec.round_keys, keys)
        for index, number in spec.numbers.items():
            lane = f.cell(state, "table", what := "the last key's place", BLOCK_BYTES * index)
            f.compare(lane, terms.form(number), what)
        if any(spec.hash.cells) and not any(found.values()):
            said = f"no value is E_K(0), {spec.rounds} rounds of AES of a block of zeros"
            raise Refutation(Category.FUNCTION, f"the hash subkey is wrong: {said}")
        check_table(f, state, spec.hash.cells)

    names.special = named
    # Every value is named when it is written, and a product of any other has no name.
    terms.factors = lambda a, b: (a, b)
    return Function(
        *claim(spec, function),
        names,
        {
            "table": table_of(names, spec, making=True),
            "key": Buffer(Access.READ, spec.key_bytes, holding(lanes)),
        },
        {"key_length": (spec.key_bytes, spec.key_bytes)} if spec.sized else {},
        (),
        (),
        finish,
        vectors_named=True,
    )

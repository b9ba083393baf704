"""The functions of an AES-GCM kernel (SP 800-38D): encrypt and decrypt."""

from typing import TYPE_CHECKING

from ghashgen.algebra.field.bitorder import BLOCK_BYTES
from ghashgen.verify.core.limits import GREATEST_TEXT
from ghashgen.verify.core.refutation import unsupported
from ghashgen.verify.core.term import Lane
from ghashgen.verify.machine.regions import Access
from ghashgen.verify.meaning.cipher import boxes
from ghashgen.verify.meaning.counters import Counters
from ghashgen.verify.meaning.ctr import check_counter, counter_of
from ghashgen.verify.meaning.function import Buffer, Function, claim, holding
from ghashgen.verify.meaning.hash import check_hashed, of_names, table_of
from ghashgen.verify.meaning.hashing import STATE, Blocks, Hashing
from ghashgen.verify.meaning.letters import ROUND_KEY, GcmAlgebra
from ghashgen.verify.meaning.names import Names
from ghashgen.verify.meaning.text import Text
from ghashgen.verify.rules.state import State

if TYPE_CHECKING:
    from ghashgen.verify.statements.gcm import GcmFunction, GcmSpec

CIPHERTEXT, PLAINTEXT = "C", "T"
"""The letters of the variables of blocks."""


def shared(spec: "GcmSpec") -> tuple[Names, Buffer, list[Lane]]:
    """Return what all functions of a kernel share: names, the table, and its round keys."""
    names = Names(GcmAlgebra(spec.order), (boxes().kind,))
    keys: list[Lane] = [names.terms.entry(ROUND_KEY, k) for k in range(spec.rounds + 1)]
    return names, table_of(names, spec, making=False), keys


def hash_of(spec: "GcmSpec", function: "GcmFunction") -> Function:
    """Return what update, power or combine means: as of a hash, under the subkey E_K(0)."""
    return of_names(spec, function, shared(spec)[0])


def meaning_of(spec: "GcmSpec", function: "GcmFunction") -> Function:
    """Return what a function of a kernel means.

    Raises:
        Refutation: it has no meaning here.
    """
    names, table, keys = shared(spec)
    terms, moves = names.terms, names.algebra.memory
    first = terms.moves(terms.variable(STATE), moves)
    operation = function.operation
    if operation not in ("encrypt", "decrypt"):
        raise unsupported(f"no meaning of {operation}")
    hashed = Blocks(CIPHERTEXT, "input")
    read = Blocks(PLAINTEXT, "input") if operation == "encrypt" else hashed
    counters = Counters(names, keys)
    text = Text(names, counters, read, hashed)
    if text.encrypting:
        names.special = text.block
    hashing = Hashing(names, (hashed,), ends={"input": "length"})

    buffers = {
        "table": table,
        "counter": counter_of(counters),
        "state": Buffer(Access.UPDATE, BLOCK_BYTES, holding([first])),
        "input": Buffer(Access.READ, "length", text.input, over="output"),
        "output": Buffer(Access.OUTPUT, "length", text.output),
    }

    def finish(f: Function, state: State) -> None:
        text.check_end(state)
        check_hashed(f, state, hashing)
        check_counter(f, state, text)

    return Function(
        *claim(spec, function),
        names,
        buffers,
        {"length": (0, GREATEST_TEXT)},
        (hashing, counters, text),
        tuple(dict.fromkeys((read, hashed))),
        finish,
        outputs={text.out: text},
        values=counters.value,
    )

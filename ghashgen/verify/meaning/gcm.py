"""The functions of an AES-GCM kernel (SP 800-38D): encrypt and decrypt."""

from ghashgen.algebra.field.bitorder import BLOCK_BYTES
from ghashgen.algebra.ops.forms import Form
from ghashgen.verify.core.limits import GREATEST_TEXT
from ghashgen.verify.core.numbers import Number, combined
from ghashgen.verify.core.refutation import unsupported
from ghashgen.verify.core.term import Lane
from ghashgen.verify.gcm.cipher import boxes
from ghashgen.verify.gcm.spec import GcmFunction, GcmSpec
from ghashgen.verify.gcm.table import ROUND_KEY, GcmAlgebra
from ghashgen.verify.meaning.counters import Counters
from ghashgen.verify.meaning.function import Buffer, Function
from ghashgen.verify.meaning.hash import cell_of, check_hashed
from ghashgen.verify.meaning.hashing import STATE, Blocks, Hashing, size_of
from ghashgen.verify.meaning.names import Names
from ghashgen.verify.meaning.text import Text
from ghashgen.verify.rules.state import State
from ghashgen.verify.x86_64.memory import Memory
from ghashgen.verify.x86_64.regions import Access

CIPHERTEXT, PLAINTEXT = "C", "T"
"""The letters of the variables of blocks."""


def shared(spec: GcmSpec) -> tuple[Names, Buffer, list[Lane]]:
    """Return what all functions of a kernel share: names, the table, and its round keys."""
    names = Names(GcmAlgebra(spec.order), (boxes().kind,))
    entry = names.terms.entry
    cells = tuple(
        None if c is None else entry(*c) if c[1] or c[0] == ROUND_KEY else 0 for c in spec.cells
    )
    table = Buffer(
        Access.READ, spec.table_bytes, lambda memory, at: cell_of(cells, at), spec.table_align
    )
    return names, table, [entry(ROUND_KEY, k) for k in range(spec.rounds + 1)]


def meaning_of(spec: GcmSpec, function: GcmFunction, in_place: bool = False) -> Function:
    """Return what a function of a kernel means, input and output being one buffer or two.

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
    text = Text(names, counters, read, hashed, "input" if in_place else "output")
    if text.encrypting:
        names.special = text.block
    hashing = Hashing(names, (hashed,))

    def counter(memory: Memory, at: Number) -> Lane:
        # Behind a cut N may be another number: what memory holds is still that of the entry.
        return counters.block(0)

    buffers = {
        "table": table,
        "counter": Buffer(Access.UPDATE, BLOCK_BYTES, counter),
        "state": Buffer(Access.UPDATE, BLOCK_BYTES, lambda memory, at: first),
        "input": Buffer(Access.REPLACE if in_place else Access.READ, "length", text.input),
        "output": Buffer(Access.OUTPUT, "length", text.output),
    }

    def finish(f: Function, state: State) -> None:
        text.check_end(state)
        check_hashed(f, state, hashing)
        blocks = combined(size_of(state.memory, "input"), 0)
        if blocks == 0 and not state.memory.written["counter"]:
            return
        at = text.done(state.ghosts)
        left = combined(blocks, at, -1)
        assert isinstance(left, int)
        last = combined(at, -(-left // BLOCK_BYTES) * BLOCK_BYTES)
        wanted: Form = terms.form(counters.block(last))
        f.compare(f.cell(state, "counter", "the counter block"), wanted, "the counter block")

    return Function(
        function.symbol,
        spec.abi,
        spec.wipe,
        function.parameters,
        names,
        buffers,
        {"length": (0, GREATEST_TEXT)},
        (hashing, counters, text),
        tuple(dict.fromkeys((read, hashed))),
        finish,
        aliases={"output": "input"} if in_place else {},
        outputs={text.out: text},
        values=counters.value,
    )

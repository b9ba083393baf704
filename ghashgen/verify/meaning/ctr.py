"""The functions of an AES-CTR kernel (SP 800-38A, 6.5; inc32 of SP 800-38D): init and crypt."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from ghashgen.algebra.field.bitorder import BLOCK_BYTES, Order
from ghashgen.verify.core.limits import GREATEST_LENGTH
from ghashgen.verify.core.numbers import Number
from ghashgen.verify.core.refutation import unsupported
from ghashgen.verify.core.term import Lane
from ghashgen.verify.machine.memory import Memory
from ghashgen.verify.machine.regions import Access
from ghashgen.verify.meaning.cipher import boxes, expanded
from ghashgen.verify.meaning.counters import Counters
from ghashgen.verify.meaning.function import Buffer, Function, claim, holding
from ghashgen.verify.meaning.hashing import Blocks, size_of
from ghashgen.verify.meaning.letters import KEY_LETTER, ROUND_KEY, TEXT, GcmAlgebra
from ghashgen.verify.meaning.names import Names
from ghashgen.verify.meaning.text import Text
from ghashgen.verify.rules.state import State

if TYPE_CHECKING:
    from ghashgen.verify.statements.ctr import CtrFunction, CtrSpec


def counter_of(counters: Counters) -> Buffer:
    """Return the buffer of the counter block, which is advanced."""

    def content(memory: Memory, at: Number) -> Lane:
        # Behind a cut N may be another number: what memory holds is still that of the entry.
        return counters.block(0)

    return Buffer(Access.UPDATE, BLOCK_BYTES, content)


def check_counter(f: Function, state: State, text: Text) -> None:
    """Compare the counter block with that of the block after the text, whose end is checked.

    Raises:
        Refutation: they differ.
    """
    size = size_of(state.memory, text.read.buffer)
    if size == 0 and not state.memory.written["counter"]:
        return
    wanted, what = f.terms.form(text.counters.behind(size)), "the counter block"
    f.compare(f.cell(state, "counter", what), wanted, what)


def check_keys(f: Function, state: State, cells: Mapping[int, int], keys: Sequence[Lane]) -> None:
    """Compare the cells of the table that hold round keys with these keys.

    Raises:
        Refutation: they differ.
    """
    for index, number in cells.items():
        what = f"round key {number}"
        lane = f.cell(state, "table", what, BLOCK_BYTES * index)
        f.compare(lane, f.terms.form(keys[number]), what)


def meaning_of(spec: "CtrSpec", function: "CtrFunction") -> Function:
    """Return what a function of a kernel means.

    Raises:
        Refutation: it has no meaning here.
    """
    # A block is read in one order of its bits or the other: nothing here depends on it.
    names = Names(GcmAlgebra(Order.REFLECTED), (boxes().kind,))
    make = {"init": _init, "crypt": _crypt}.get(function.operation)
    if make is None:
        raise unsupported(f"no meaning of {function.operation}")
    if (function.length_multiple, function.length_unit) != (1, 1):
        raise unsupported(f"the checker knows {function.operation} of any number of bytes only")
    return make(spec, function, names)


def _init(spec: "CtrSpec", function: "CtrFunction", names: Names) -> Function:
    terms = names.terms
    lanes = [terms.variable(f"{KEY_LETTER}{k + 1}") for k in range(-(-spec.key_bytes // 16))]
    keys = expanded(terms, lanes, spec.key_bytes)
    return Function(
        *claim(spec, function),
        names,
        {
            "table": Buffer(Access.WRITE, spec.table_bytes, holding([]), spec.table_align),
            "key": Buffer(Access.READ, spec.key_bytes, holding(lanes)),
        },
        {},
        (),
        (),
        lambda f, state: check_keys(f, state, spec.round_keys, keys),
    )


def _crypt(spec: "CtrSpec", function: "CtrFunction", names: Names) -> Function:
    keys: list[Lane] = [names.terms.entry(ROUND_KEY, k) for k in range(spec.rounds + 1)]
    held = spec.round_keys
    cells = [keys[held[k]] if k in held else None for k in range(len(spec.cells))]
    counters, read = Counters(names, keys), Blocks(TEXT, "input")
    # What is read has names, and what is written needs none: nothing reads it again.
    text = Text(names, counters, read, read)

    def finish(f: Function, state: State) -> None:
        text.check_end(state)
        check_counter(f, state, text)

    return Function(
        *claim(spec, function),
        names,
        {
            "table": Buffer(Access.READ, spec.table_bytes, holding(cells), spec.table_align),
            "counter": counter_of(counters),
            "input": Buffer(Access.READ, "length", text.input, over="output"),
            "output": Buffer(Access.OUTPUT, "length", text.output),
        },
        {"length": (0, GREATEST_LENGTH)},
        (counters, text),
        (read,),
        finish,
        outputs={text.out: text},
        values=counters.value,
    )

"""aad, encrypt_more and decrypt_more: a message goes on, by any number of bytes.

X has the bytes of a block that has begun, and is multiplied when it is full (`Hashing.start`); its
keystream is kept (`Counters.begun`). The first text after AAD pads a block of AAD that has begun.
"""

from typing import TYPE_CHECKING

from ghashgen.algebra.field.bitorder import BLOCK_BYTES
from ghashgen.algebra.ops.forms import variable
from ghashgen.verify.core.limits import (
    DONE,
    EVERY,
    GREATEST_OTHER,
    GREATEST_TEXT,
    MISPLACED,
    REFUSED,
)
from ghashgen.verify.core.linear import Fork, equal_or_not
from ghashgen.verify.core.numbers import combined, unknown
from ghashgen.verify.core.refutation import Category, Refutation
from ghashgen.verify.core.values import Linear
from ghashgen.verify.machine.regions import Access
from ghashgen.verify.meaning.counters import KEPT, Counters
from ghashgen.verify.meaning.function import Buffer, Function, claim
from ghashgen.verify.meaning.gcm import CIPHERTEXT, PLAINTEXT, shared
from ghashgen.verify.meaning.hash import check_hashed
from ghashgen.verify.meaning.hashing import STATE, Blocks, Hashing, Sums, content, size_of
from ghashgen.verify.meaning.status import STATUS_BITS, check_status, number_of, outside
from ghashgen.verify.meaning.stream import (
    AAD_DONE,
    COUNTER_AT,
    HELD,
    KEPT_AT,
    NUMBERS,
    PHASE,
    PROMISED,
    STREAM,
    TEXT,
    TEXT_DONE,
    Stream,
    begun,
    is_associated,
    is_message,
)
from ghashgen.verify.meaning.text import Text
from ghashgen.verify.rules.state import State

if TYPE_CHECKING:
    from ghashgen.verify.statements.gcm import GcmFunction, GcmSpec


def aad_of(spec: "GcmSpec", function: "GcmFunction") -> Function:
    """Return what aad means: X absorbs the bytes."""
    names, table, _ = shared(spec)
    stream, aad = Stream(names), Blocks("D", "aad")
    hashing = Hashing(names, (aad,), start=AAD_DONE)

    def finish(f: Function, state: State) -> None:
        if not is_associated(state):
            stream.check_refused(state, MISPLACED)
            return
        total = size_of(state.memory, "aad")
        if outside(state, (total, 0, GREATEST_OTHER)):
            stream.check_refused(state, REFUSED)
            return
        check_status(state, DONE)
        check_hashed(f, state, hashing, STREAM)
        stream.check(f, state, {}, {AAD_DONE: total})

    return Function(
        *claim(spec, function),
        names,
        {
            "table": table,
            "stream": stream.buffer,
            "aad": Buffer(
                Access.READ,
                "aad_length",
                lambda memory, at: content(names, aad, memory, at),
                begins=AAD_DONE,
            ),
        },
        NUMBERS | {"aad_length": (0, EVERY)},
        (hashing,),
        (aad,),
        finish,
        result_bits=STATUS_BITS,
        held=HELD,
        promised=PROMISED,
    )


def more_of(spec: "GcmSpec", function: "GcmFunction") -> Function:
    """Return what encrypt_more or decrypt_more means."""
    names, table, keys = shared(spec)
    hashed = Blocks(CIPHERTEXT, "input")
    read = Blocks(PLAINTEXT, "input") if function.operation == "encrypt_more" else hashed
    counters = Counters(names, keys, unknown(TEXT_DONE), TEXT_DONE)
    text = Text(names, counters, read, hashed)
    if text.encrypting:
        names.special = text.block
    stream = Stream(names, counters)

    def first(state: State) -> Sums:
        return ((STATE, int(is_associated(state) and begun(state, AAD_DONE))),)

    hashing = Hashing(names, (hashed,), first=first, start=TEXT_DONE)

    def finish(f: Function, state: State) -> None:
        length, total = number_of(state, "length"), size_of(state.memory, "input")
        misplaced = not is_message(state)
        if misplaced or outside(state, (total, 0, GREATEST_TEXT)):
            stream.check_refused(state, MISPLACED if misplaced else REFUSED)
            check_unbegun(state)
            return
        if isinstance(length, Linear) and state.facts.equals(length, 0) is None:
            raise Fork("a piece of no bytes, or of some", equal_or_not(length))
        if state.facts.equals(length, 0):
            stream.check_refused(state, DONE)
            check_unbegun(state)
            return
        check_status(state, DONE)
        text.check_end(state)
        check_hashed(f, state, hashing, STREAM)
        inside = state.facts.low_bits(total, 4) if isinstance(total, Linear) else total % 16
        last = combined(total, inside, -1)
        after = combined(last, BLOCK_BYTES if inside else 0)
        cells = {
            COUNTER_AT: f.terms.form(counters.block(after)),
            KEPT_AT: counters.stream(last) if inside else variable(KEPT),
        }
        stream.check(f, state, cells, {TEXT_DONE: total, PHASE: TEXT})

    def check_unbegun(state: State) -> None:
        if text.begun(state):
            raise Refutation(Category.FUNCTION, "text is written, though none is to be")

    return Function(
        *claim(spec, function),
        names,
        {
            "table": table,
            "stream": stream.buffer,
            "input": Buffer(Access.READ, "length", text.input, begins=TEXT_DONE, over="output"),
            "output": Buffer(Access.OUTPUT, "length", text.output, begins=TEXT_DONE),
        },
        NUMBERS | {"length": (0, EVERY)},
        (hashing, counters, text),
        tuple(dict.fromkeys((read, hashed))),
        finish,
        result_bits=STATUS_BITS,
        outputs={text.out: text},
        values=counters.value,
        held=HELD,
        promised=PROMISED,
    )

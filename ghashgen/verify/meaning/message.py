"""Whole messages of AES-GCM: seal and open (SP 800-38D, 7.1 and 7.2)."""

from typing import TYPE_CHECKING

from ghashgen.verify.core.limits import (
    DONE,
    EVERY,
    GREATEST_OTHER,
    GREATEST_TEXT,
    REFUSED,
    TAGS,
)
from ghashgen.verify.core.refutation import Category, Refutation
from ghashgen.verify.core.term import Lane
from ghashgen.verify.machine.regions import Access
from ghashgen.verify.meaning.answer import Answer
from ghashgen.verify.meaning.function import Buffer, Function, claim
from ghashgen.verify.meaning.gcm import shared
from ghashgen.verify.meaning.hashing import Blocks, Hashing, content
from ghashgen.verify.meaning.initial import Initial
from ghashgen.verify.meaning.lengths import Lengths
from ghashgen.verify.meaning.names import in_turn
from ghashgen.verify.meaning.status import (
    STATUS_BITS,
    check_status,
    number_of,
    one_of,
    outside,
)
from ghashgen.verify.meaning.tag import TAG_LENGTH, Tag
from ghashgen.verify.meaning.text import Text
from ghashgen.verify.rules.state import State

if TYPE_CHECKING:
    from ghashgen.verify.statements.gcm import GcmFunction, GcmSpec

LIMITS = {
    "iv_length": (1, GREATEST_OTHER),
    "aad_length": (0, GREATEST_OTHER),
    "length": (0, GREATEST_TEXT),
}
"""The lengths in bytes that SP 800-38D has a meaning for."""


def refused(state: State) -> bool:
    """Return whether a length is none that there may be."""
    return outside(state, *((number_of(state, n), *ends) for n, ends in LIMITS.items()))


def check_nothing(state: State, text: Text, *buffers: str) -> None:
    """Require that nothing was written, now or before."""
    if text.begun(state) or any(state.memory.written[name] for name in buffers):
        raise Refutation(Category.FUNCTION, "something is written, though a length is refused")


def message_of(spec: "GcmSpec", function: "GcmFunction") -> Function:
    """Return what seal or open means."""
    sealing = function.operation == "seal"
    names, table, keys = shared(spec)
    aad, hashed = Blocks("D", "aad"), Blocks("C", "input")
    read = Blocks("T", "input") if sealing else hashed
    initial = Initial.of(names, keys)
    iv, of_iv, counters = initial.iv, initial.hashing, initial.counters
    text = Text(names, counters, read, hashed)
    hashing = Hashing(names, (aad, hashed), "x", (), {"input": "length"})
    lengths = Lengths(names, ("aad_length", "length"), "x")
    hooks = initial.lengths.named, lengths.named, *((text.block,) if sealing else ())
    names.special = in_turn(*hooks)
    tag = Tag(lengths, hashing, initial.mask)
    answer = Answer(tag, text)

    def read_of(blocks: Blocks) -> Buffer:
        size = "length" if blocks.buffer == "input" else f"{blocks.buffer}_length"
        return Buffer(Access.READ, size, lambda memory, at: content(names, blocks, memory, at))

    def value(data: list[object]) -> Lane | None:
        found = lengths.value(data)
        return initial.value(data) if found is None else found

    buffers = {
        "table": table,
        "iv": read_of(iv),
        "aad": read_of(aad),
        "input": Buffer(Access.READ, "length", text.input, over="output"),
        "output": Buffer(Access.OUTPUT, "length", text.output),
        "tag": tag.buffer(given=not sealing),
    }

    def sealed(f: Function, state: State) -> None:
        if refused(state):
            check_status(state, REFUSED)
            check_nothing(state, text, "tag")
            return
        check_status(state, DONE)
        text.check_end(state)
        tag.check(f, state)

    def opened(f: Function, state: State) -> None:
        if refused(state) or not one_of(state, TAG_LENGTH, frozenset(TAGS)):
            check_status(state, REFUSED)
            check_nothing(state, text)
            answer.check_unasked(state)
            return
        check_status(state, answer.status(state))
        text.check_end(state)

    numbers = [*LIMITS, *([] if sealing else [TAG_LENGTH])]
    return Function(
        *claim(spec, function),
        names,
        buffers,
        dict.fromkeys(numbers, (0, EVERY)),
        (of_iv, hashing, counters, text, initial, *(() if sealing else (answer,))),
        tuple(dict.fromkeys((iv, aad, read, hashed))),
        sealed if sealing else opened,
        result_bits=STATUS_BITS,
        outputs={text.out: text},
        values=value,
        question=None if sealing else answer,
    )

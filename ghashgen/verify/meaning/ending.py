"""finish and verify: the tag of a message in pieces, written or compared; its state is erased."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ghashgen.algebra.field.bitorder import BLOCK_BYTES
from ghashgen.algebra.ops.forms import variable
from ghashgen.verify.core.limits import DONE, EVERY, MISPLACED, REFUSED, TAGS
from ghashgen.verify.meaning.answer import Answer
from ghashgen.verify.meaning.function import Function, claim
from ghashgen.verify.meaning.gcm import shared
from ghashgen.verify.meaning.hashing import STATE
from ghashgen.verify.meaning.lengths import Lengths
from ghashgen.verify.meaning.letters import MASK
from ghashgen.verify.meaning.names import Sum
from ghashgen.verify.meaning.status import STATUS_BITS, check_status, one_of
from ghashgen.verify.meaning.stream import (
    AAD_DONE,
    HELD,
    NUMBERS,
    PROMISED,
    STREAM_BYTES,
    TEXT_DONE,
    Stream,
    begun,
    check_cells,
    is_associated,
    is_message,
)
from ghashgen.verify.meaning.tag import TAG_LENGTH, Tag
from ghashgen.verify.rules.state import State

if TYPE_CHECKING:
    from ghashgen.verify.statements.gcm import GcmFunction, GcmSpec


@dataclass
class Padded:
    """X after all that has come: a block that has begun is full now, with zeros."""

    def at_end(self, state: State) -> Sum:
        """Return X, or X·H."""
        last = AAD_DONE if is_associated(state) else TEXT_DONE
        return {(STATE, int(begun(state, last))): 1}


def ending_of(spec: "GcmSpec", function: "GcmFunction") -> Function:
    """Return what finish or verify means."""
    verifying = function.operation == "verify"
    names, table, _ = shared(spec)
    stream, lengths = Stream(names), Lengths(names, (AAD_DONE, TEXT_DONE), "x")
    names.special = lengths.named
    tag = Tag(lengths, Padded(), lambda state: variable(MASK))
    answer = Answer(tag)

    def finish(f: Function, state: State) -> None:
        written = () if verifying else ("tag",)
        no_length = verifying and not one_of(state, TAG_LENGTH, frozenset(TAGS))
        if no_length or not is_message(state):
            stream.check_refused(state, REFUSED if no_length else MISPLACED, *written)
            answer.check_unasked(state)
            return
        check_status(state, answer.status(state) if verifying else DONE)
        if not verifying:
            tag.check(f, state)
        check_cells(f, state, [f.terms.form(0)] * (STREAM_BYTES // BLOCK_BYTES))

    return Function(
        *claim(spec, function),
        names,
        {"table": table, "stream": stream.buffer, "tag": tag.buffer(given=verifying)},
        NUMBERS | ({TAG_LENGTH: (0, EVERY)} if verifying else {}),
        (answer,) if verifying else (),
        (),
        finish,
        result_bits=STATUS_BITS,
        question=answer if verifying else None,
        held=HELD,
        promised=PROMISED,
    )

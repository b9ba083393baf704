"""start: the state of a message under an IV, of which nothing has come yet."""

from typing import TYPE_CHECKING

from ghashgen.verify.core.limits import DONE, EVERY, REFUSED
from ghashgen.verify.core.refutation import Category, Refutation
from ghashgen.verify.machine.regions import Access
from ghashgen.verify.meaning.function import Buffer, Function, claim
from ghashgen.verify.meaning.gcm import shared
from ghashgen.verify.meaning.hashing import content
from ghashgen.verify.meaning.initial import Initial
from ghashgen.verify.meaning.message import LIMITS
from ghashgen.verify.meaning.status import STATUS_BITS, check_status, number_of, outside
from ghashgen.verify.meaning.stream import ASSOCIATED, STREAM, STREAM_BYTES, check_cells
from ghashgen.verify.rules.state import State

if TYPE_CHECKING:
    from ghashgen.verify.statements.gcm import GcmFunction, GcmSpec

LENGTH = "iv_length"


def start_of(spec: "GcmSpec", function: "GcmFunction") -> Function:
    """Return what start means."""
    names, table, keys = shared(spec)
    initial = Initial.of(names, keys)
    names.special = initial.lengths.named

    def finish(f: Function, state: State) -> None:
        if outside(state, (number_of(state, LENGTH), *LIMITS[LENGTH])):
            check_status(state, REFUSED)
            if state.memory.written[STREAM]:
                raise Refutation(Category.FUNCTION, "a state is written, though an IV is refused")
            return
        check_status(state, DONE)
        zeros, phase = f.terms.form(0), f.terms.form(ASSOCIATED)
        counter = f.terms.form(initial.counters.block(0))
        check_cells(f, state, (zeros, counter, initial.mask(state), zeros, zeros, phase))

    return Function(
        *claim(spec, function),
        names,
        {
            "table": table,
            "stream": Buffer(Access.WRITE, STREAM_BYTES, lambda memory, at: None),
            "iv": Buffer(
                Access.READ, LENGTH, lambda memory, at: content(names, initial.iv, memory, at)
            ),
        },
        {LENGTH: (0, EVERY)},
        (initial.hashing, initial.counters, initial),
        (initial.iv,),
        finish,
        result_bits=STATUS_BITS,
        values=initial.value,
    )

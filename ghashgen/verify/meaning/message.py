"""Whole messages of AES-GCM: seal and open (SP 800-38D, 7.1 and 7.2)."""

from collections.abc import Callable, Mapping

from ghashgen.algebra.field.bitorder import BLOCK_BYTES
from ghashgen.algebra.ops.forms import Form
from ghashgen.verify.core.limits import (
    DIFFERS,
    DONE,
    EVERY,
    GREATEST_OTHER,
    GREATEST_TEXT,
    REFUSED,
    TAGS,
)
from ghashgen.verify.core.linear import Fork, compared
from ghashgen.verify.core.numbers import Number, combined
from ghashgen.verify.core.refutation import Category, Refutation, unsupported
from ghashgen.verify.core.term import Lane, Term
from ghashgen.verify.core.values import Linear
from ghashgen.verify.gcm.spec import GcmFunction, GcmSpec
from ghashgen.verify.gcm.table import GIVEN
from ghashgen.verify.meaning.answer import Answer
from ghashgen.verify.meaning.counters import Counters
from ghashgen.verify.meaning.function import Buffer, Function
from ghashgen.verify.meaning.gcm import shared
from ghashgen.verify.meaning.hashing import Blocks, Hashing, content
from ghashgen.verify.meaning.initial import Initial
from ghashgen.verify.meaning.lengths import Lengths
from ghashgen.verify.meaning.text import ANSWER, RIGHT, Text
from ghashgen.verify.rules.state import State
from ghashgen.verify.x86_64.abi import RESULT
from ghashgen.verify.x86_64.memory import Memory
from ghashgen.verify.x86_64.regions import Access

LIMITS = {
    "iv_length": (1, GREATEST_OTHER),
    "aad_length": (0, GREATEST_OTHER),
    "length": (0, GREATEST_TEXT),
}
"""The lengths in bytes that SP 800-38D has a meaning for."""

STATUS_BITS = 32
"""Bits of what is returned."""


def refused(state: State, limits: Mapping[str, tuple[int, int]]) -> bool:
    """Return whether a length is none that there may be.

    Raises:
        Fork: that depends on the unknowns.
    """
    open_: object = None
    for name, (low, high) in limits.items():
        n = state.ghosts[name]
        assert isinstance(n, int | Linear)
        for wrong in (combined(low - 1, n, -1), combined(n, high + 1, -1)):
            answer = state.facts.below(wrong, 0)
            if answer is False:
                return True
            if answer is None:
                open_ = wrong
    if open_ is not None:
        assert isinstance(open_, Linear)
        raise Fork("a length, refused or not", compared(open_))
    return False


def check_status(state: State, wanted: int) -> None:
    """Compare the number that is returned."""
    value = state.machine.gpr[RESULT]
    if not isinstance(value, int) or value & (1 << STATUS_BITS) - 1 != wanted:
        raise Refutation(Category.FUNCTION, f"the status is wrong, not {wanted}")


def check_nothing(state: State, text: Text, *buffers: str) -> None:
    """Require that nothing was written, now or before."""
    if text.begun(state) or any(state.memory.written[name] for name in buffers):
        raise Refutation(Category.FUNCTION, "something is written, though a length is refused")


def message_of(spec: GcmSpec, function: GcmFunction, in_place: bool = False) -> Function:
    """Return what seal or open means, input and output being one buffer or two."""
    sealing = function.operation == "seal"
    names, table, keys = shared(spec)
    terms = names.terms
    iv, aad, hashed = Blocks("V", "iv"), Blocks("D", "aad"), Blocks("C", "input")
    read = Blocks("T", "input") if sealing else hashed
    counters = Counters(names, keys, start=None)
    text = Text(names, counters, read, hashed, "input" if in_place else "output")
    of_iv = Hashing(names, (iv,), "iv", ())
    hashing = Hashing(names, (aad, hashed), "x", (), {"input": "length"})
    iv_lengths = Lengths(names, ("", "iv_length"), "iv")
    lengths = Lengths(names, ("aad_length", "length"), "x")
    initial = Initial(counters, iv, of_iv, iv_lengths)
    counters.explicit = initial.explicit
    hooks = iv_lengths.named, lengths.named, *((text.block,) if sealing else ())
    names.special = lambda lane: _named(lane, hooks)
    terms.name = initial.named

    def tag_of(state: State, form: Form) -> Form | None:
        register = lengths.sum_in(form, hashing, state)
        return (
            None
            if register is None
            else register.moves(names.algebra.memory, 128) ^ initial.mask(state)
        )

    answer = Answer(text, tag_of)

    def read_of(blocks: Blocks) -> Buffer:
        size = "length" if blocks.buffer == "input" else f"{blocks.buffer}_length"
        return Buffer(Access.READ, size, lambda memory, at: content(names, blocks, memory, at))

    def tag(memory: Memory, at: Number) -> Lane | None:
        return None if sealing or at != 0 else terms.variable(GIVEN)

    buffers = {
        "table": table,
        "iv": read_of(iv),
        "aad": read_of(aad),
        "input": Buffer(Access.REPLACE if in_place else Access.READ, "length", text.input),
        "output": Buffer(Access.OUTPUT, "length", text.output),
        "tag": Buffer(
            Access.WRITE if sealing else Access.READ, BLOCK_BYTES if sealing else "tag_length", tag
        ),
    }

    def sealed(f: Function, state: State) -> None:
        if refused(state, LIMITS):
            check_status(state, REFUSED)
            check_nothing(state, text, "tag")
            return
        check_status(state, DONE)
        text.check_end(state)
        found = f.form(f.cell(state, "tag", "the tag"), "the tag") ^ initial.mask(state)
        if not lengths.ends_form(found.moves(names.algebra.register, 128), hashing, state):
            raise Refutation(Category.FUNCTION, "the tag is wrong")

    def opened(f: Function, state: State) -> None:
        size = state.ghosts["tag_length"]
        wrong = refused(state, LIMITS)
        if not wrong and not state.facts.one_of(size, frozenset(TAGS)):  # type: ignore[arg-type]
            if isinstance(size, Linear):
                wrong = not any(state.facts.equals(size, n) is not False for n in TAGS)
                if not wrong:
                    state.facts.near(size)
                    raise unsupported("a tag_length that is refused for some values only")
            wrong = True
        if wrong:
            check_status(state, REFUSED)
            check_nothing(state, text)
            if ANSWER in state.ghosts:
                raise Refutation(Category.FUNCTION, "an answer of what is refused")
            return
        known = state.ghosts.get(ANSWER)
        if known is None:
            raise Refutation(Category.FUNCTION, "nothing depends on whether the tag is right")
        check_status(state, DONE if known == RIGHT else DIFFERS)
        text.check_end(state)

    numbers = [*LIMITS, *([] if sealing else ["tag_length"])]
    return Function(
        function.symbol,
        spec.abi,
        spec.wipe,
        function.parameters,
        names,
        buffers,
        dict.fromkeys(numbers, (0, EVERY)),
        (of_iv, hashing, counters, text, initial, *(() if sealing else (answer,))),
        tuple(dict.fromkeys((iv, aad, read, hashed))),
        sealed if sealing else opened,
        result_bits=STATUS_BITS,
        aliases={"output": "input"} if in_place else {},
        outputs={text.out: text},
        values=initial.value,
        question=None if sealing else answer,
    )


def _named(lane: Term, hooks: tuple[Callable[[Term], Lane], ...]) -> Lane:
    out: Lane = lane
    for one in hooks:
        if isinstance(out, Term):
            out = one(out)
    return out

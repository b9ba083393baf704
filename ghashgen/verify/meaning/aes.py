"""The functions of AES-CTR and AES-GCM: init, and all that works on a message or on a piece of it.

What a function means follows from what it is passed. With an IV, J_0 begins the counters and masks
the tag. A text is encrypted into the output; AAD and ciphertext are hashed. A tag is written, or is
compared with the one that is given. With the state of a message in pieces the function goes on from
there (docs/gcm-streams.md).
"""

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import Any

from ghashgen.algebra.field.bitorder import BLOCK_BYTES
from ghashgen.algebra.ops.forms import Form, variable
from ghashgen.verify.core import limits
from ghashgen.verify.core.linear import Case
from ghashgen.verify.core.numbers import unknown
from ghashgen.verify.core.refutation import Category, Refutation, unsupported
from ghashgen.verify.core.term import Lane, Term
from ghashgen.verify.machine.regions import Access
from ghashgen.verify.meaning import stream
from ghashgen.verify.meaning.algebra import ROUND_KEY, Algebra
from ghashgen.verify.meaning.answer import Answer
from ghashgen.verify.meaning.buffers import Buffer, End, Left, holding, reading, turned
from ghashgen.verify.meaning.cipher import boxes, encrypted, expanded
from ghashgen.verify.meaning.counters import Counters
from ghashgen.verify.meaning.function import Function, Part, claim
from ghashgen.verify.meaning.hash import callers_keys, of_names, table_left, table_of
from ghashgen.verify.meaning.hashing import Blocks, Hashing, size_of
from ghashgen.verify.meaning.initial import Initial
from ghashgen.verify.meaning.lengths import Lengths
from ghashgen.verify.meaning.letters import AAD, CIPHERTEXT, GIVEN, KEY_LETTER, MASK, STATE, TEXT
from ghashgen.verify.meaning.names import Names
from ghashgen.verify.meaning.records import WORDS, records_of
from ghashgen.verify.meaning.status import one_of, outside
from ghashgen.verify.meaning.stream import AAD_DONE, STREAM, STREAM_BYTES, TEXT_DONE
from ghashgen.verify.meaning.tag import TAG_LENGTH, Tag
from ghashgen.verify.meaning.text import ANSWER, Text
from ghashgen.verify.rules.state import State

LIMITS = {
    "iv_length": (1, limits.GREATEST_OTHER),
    "aad_length": (0, limits.GREATEST_OTHER),
    "length": (0, limits.GREATEST_TEXT),
}
"""The lengths in bytes that SP 800-38D has a meaning for."""

ROUNDS_BYTES = 4
"""Bytes of the number of rounds in a key schedule."""

ENCRYPTING = ("encrypt", "seal", "encrypt_more")
"""The operations that hash what they write."""

MANY = {"seal_many": "seal", "open_many": "open"}
"""The operations on many messages, each with that on one of them."""

OF_A_HASH = ("update", "power", "combine")
"""The operations that mean what they mean of a hash, under the subkey E_K(0)."""


def meaning_of(spec: Any, function: Any) -> Function:
    """Return what a function means, whether its input and output are two buffers or one.

    Raises:
        Refutation: the rules do not cover the function.
    """
    names = Names(Algebra(spec.order, rounds=spec.rounds), (boxes().kind,))
    if function.operation in OF_A_HASH:
        return of_names(spec, function, names)
    if (function.length_multiple, function.length_unit) != (1, 1):
        raise unsupported(f"the checker knows {function.operation} of any number of bytes only")
    if function.operation in ("init", "init_any"):
        return _init(spec, function, names)
    if (alone := MANY.get(function.operation)) is not None:
        parameters = tuple(p for p in ("table", *WORDS[:-1]) if alone == "open" or p != TAG_LENGTH)
        one = replace(function, operation=alone, parameters=parameters)
        return records_of(Message(spec, one, names).meaning())
    return Message(spec, function, names).meaning()


def _init(spec: Any, function: Any, names: Names) -> Function:
    """Return what init means: round keys (FIPS 197, 5.2), and the table of the subkey E_K(0).

    If no key is given, the round keys are the caller's, and stay.
    """
    terms, expands = names.terms, "key" in function.parameters
    lanes = [terms.variable(f"{KEY_LETTER}{k + 1}") for k in range(-(-spec.key_bytes // 16))]
    keys = expanded(terms, lanes, spec.key_bytes) if expands else callers_keys(names, spec)
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

    def left(state: State) -> Iterator[Left]:
        """Yield what the cells of the table are: the round keys, then what comes of the subkey."""
        for index, number in spec.round_keys.items() if expands else ():
            form = terms.form(keys[number])
            yield Left("table", BLOCK_BYTES * index, f"round key {number}", form)
        for index, number in spec.numbers.items():
            yield Left("table", BLOCK_BYTES * index, "the last key's place", terms.form(number))
        known = {*spec.round_keys, *spec.numbers}
        powers = [None if k in known else cell for k, cell in enumerate(spec.cells)]
        if any(powers) and not any(found.values()):
            said = f"no value is E_K(0), {spec.rounds} rounds of AES of a block of zeros"
            raise Refutation(Category.FUNCTION, f"the hash subkey is wrong: {said}")
        yield from table_left(names, powers)

    names.special = (named,)
    # Every value is named when it is written, and a product of any other has no name.
    terms.factors = lambda a, b: (a, b)
    buffers = {
        "table": table_of(names, spec, making=True),
        "key": Buffer(Access.READ, spec.key_bytes, holding(lanes)),
    }
    return Function(
        *claim(spec, function),
        names,
        buffers,
        dict.fromkeys({"key_length"} & {*function.parameters}, (spec.key_bytes, spec.key_bytes)),
        (),
        (),
        lambda state: End(left=left(state), only="" if expands else "table"),
        vectors_named=True,
    )


class Message:
    """A function of a message, of its text or of a piece of it: what is followed through it."""

    def __init__(self, spec: Any, function: Any, names: Names) -> None:
        self.given, operation = frozenset(function.parameters), function.operation
        self.spec, self.function, self.names = spec, function, names
        keys: list[Lane] = [names.terms.entry(ROUND_KEY, k) for k in range(spec.rounds + 1)]
        self.reverses = getattr(spec, "reverses", False)
        self.initial = Initial(names, keys)
        self.counters = Counters(names, keys)
        if self.begins:
            self.counters, names.terms.name = self.initial.counters, self.initial.named
        elif self.goes_on:
            self.counters = Counters(names, keys, unknown(TEXT_DONE), TEXT_DONE)

        # What AES-CTR reads has names. What it writes needs none: nothing hashes it.
        hashed = Blocks(TEXT if operation == "crypt" else CIPHERTEXT, "input")
        read = Blocks(TEXT, "input") if operation in ENCRYPTING else hashed
        self.text = Text(names, self.counters, read, hashed)

        self.aad = Blocks(AAD, "aad")
        order = tuple(blocks for blocks in (self.aad, hashed) if blocks.buffer in self.given)
        self.hashing = Hashing(names, order if operation != "crypt" else ())
        if not self.goes_on:
            self.hashing.ends = {"input": "length"}
        elif "aad" in self.given:
            self.hashing.start = AAD_DONE
        else:
            self.hashing.start = TEXT_DONE
            self.hashing.first = partial(stream.padded, ended=not order)
        if self.begins:
            self.hashing.first = ()

        numbers = (AAD_DONE, TEXT_DONE) if self.goes_on else ("aad_length", "length")
        lengths = Lengths(names, numbers, "x")
        mask = self.initial.mask if self.begins else self.mask
        self.tag = Tag(lengths, self.hashing, mask)
        keeps, sizes = (
            self.begins and spec.untouched,
            limits.ANY_TAG if self.asks and spec.any_tag else limits.TAGS,
        )
        self.answer = Answer(self.tag, self.text if self.begins else None, sizes, keeps)
        hooks = (
            (self.initial.lengths.named, self.begins),
            (lengths.named, "tag" in self.given or self.ends),
            (self.text.block, self.text.encrypting),
        )
        names.special = tuple(hook for hook, used in hooks if used)

    @property
    def begins(self) -> bool:
        """Whether the message begins: its IV is given."""
        return "iv" in self.given

    @property
    def goes_on(self) -> bool:
        """Whether the message began in an earlier call."""
        return STREAM in self.given and not self.begins

    @property
    def ends(self) -> bool:
        """Whether the state becomes the tag, under a counter block of the message."""
        return bool(self.function.operation == "final")

    def mask(self, state: State) -> Form:
        """Return E_K(J_0) where the message began in an earlier call."""
        if not self.ends:
            return variable(MASK)
        terms = self.names.terms
        return terms.form(encrypted(terms, self.counters.first(), self.counters.keys))

    @property
    def asks(self) -> bool:
        """Whether the tag is given, and the status says if it is right."""
        return TAG_LENGTH in self.given

    def meaning(self) -> Function:
        """Return what the function means."""
        given, initial, answers = self.given, self.initial, self.begins or self.goes_on
        most = limits.GREATEST_TEXT if self.hashing.order else limits.GREATEST_LENGTH
        most = limits.EVERY if answers else most
        terms_named = {"mask": initial.value} if self.begins else {}
        if self.begins and "tag" in given:
            terms_named["lengths"] = self.tag.lengths.value
        every = (initial.iv, self.aad, self.text.read, self.text.hashed)
        parts: tuple[tuple[Part, bool], ...] = (
            (initial.hashing, self.begins),
            (self.hashing, self.hashing.order != ()),
            (self.counters, self.begins or "output" in given or self.ends),
            (self.text, "output" in given),
            (initial, self.begins),
            (self.answer, self.asks),
        )
        return Function(
            *claim(self.spec, self.function),
            self.names,
            self.buffers(),
            (stream.NUMBERS if self.goes_on else {})
            | {
                n: (0, LIMITS[n][1] if self.ends else most)
                for n in (*LIMITS, TAG_LENGTH)
                if n in given
            },
            tuple(part for part, used in parts if used),
            tuple(dict.fromkeys(blocks for blocks in every if blocks.buffer in given)),
            self.end,
            result_bits=32 if answers else 0,
            terms_named=terms_named,
            held=stream.HELD if self.goes_on else {},
            promised=stream.PROMISED if self.goes_on else (Case(),),
            refused=self.refused,
        )

    def buffers(self) -> dict[str, Buffer]:
        """Return the buffers that may be given, and what they hold at the entry."""
        names, begun = self.names, self.hashing.start
        X = names.terms.moves(names.terms.variable(STATE), names.algebra.memory)
        X, tag = self.turned(X), holding([names.terms.variable(GIVEN)])
        return {
            "table": table_of(names, self.spec, making=False),
            "counter": Buffer(Access.UPDATE, BLOCK_BYTES, self.counters.at_entry),
            "first_counter": Buffer(
                Access.READ,
                BLOCK_BYTES,
                lambda memory, at: self.turned(self.counters.at_entry(memory, at)),
            ),
            "state": Buffer(Access.UPDATE, BLOCK_BYTES, holding([X])),
            "iv": reading(names, self.initial.iv, "iv_length"),
            "aad": reading(names, self.aad, "aad_length", begun),
            "input": Buffer(Access.READ, "length", self.text.input, begins=begun, over="output"),
            "output": Buffer(Access.OUTPUT, "length", self.text.output, begins=begun),
            "tag": Buffer(Access.READ, TAG_LENGTH, tag)
            if self.asks
            else Buffer(Access.WRITE, BLOCK_BYTES, holding([])),
            STREAM: stream.buffer(names, self.counters if "output" in self.given else None)
            if self.goes_on
            else Buffer(Access.WRITE, STREAM_BYTES, holding([])),
            **({"schedule": self.schedule()} if "schedule" in self.given else {}),
        }

    def turned(self, lane: Lane) -> Lane:
        """Return a state or a counter block as it is in memory."""
        return turned(self.names.terms, lane, self.reverses)

    def schedule(self) -> Buffer:
        """Return the key schedule of a caller: round keys, and the number of rounds."""
        spec, keys = self.spec, list[Lane | None](self.counters.keys)
        between = [None] * (spec.rounds_at // BLOCK_BYTES - len(keys))
        number = spec.rounds_times * spec.rounds - spec.rounds_less
        lanes = [*keys, *between, number]
        return Buffer(Access.READ, spec.rounds_at + ROUNDS_BYTES, holding(lanes))

    def refused(self, state: State) -> int | None:
        """Return the status of a call that writes nothing, None for any other."""
        if self.begins:
            known = ((state.ghosts[n], *ends) for n, ends in LIMITS.items() if n in self.given)
            if outside(state, *known):
                return limits.REFUSED
        if self.asks and not one_of(state, TAG_LENGTH, frozenset(self.answer.sizes)):
            return limits.REFUSED
        return stream.refused(state, self.hashing) if self.goes_on else None

    def end(self, state: State) -> End:
        """Return what is left at the return: a status, and what is in each buffer."""
        refused = self.refused(state)
        if refused is not None:
            if ANSWER in state.ghosts:
                raise Refutation(Category.FUNCTION, "an answer of what is refused")
            return End(refused, untouched=True)
        status = limits.DONE if self.begins or self.goes_on else None
        only = STREAM if self.goes_on else ""
        status = self.answer.status(state) if self.asks else status
        if status == limits.DIFFERS and self.answer.keeps:
            return End(status, untouched=True)
        return End(status, self.left(state), only)

    def left(self, state: State) -> Iterator[Left]:
        """Yield what is in each buffer at the return, beside the output."""
        given = self.given
        if self.ends:
            yield replace(self.tag.left(state), buffer="state")
        elif "state" in given:
            sum_ = self.hashing.at_end(state)
            yield Left("state", 0, "the state", sum_, reverses=self.reverses)
        if "counter" in given:
            end = self.counters.behind(size_of(state.memory, "input"))
            yield Left("counter", 0, "the counter block", self.names.terms.form(end))
        if "tag" in given and not self.asks:
            yield self.tag.left(state)
        if STREAM in given and self.begins:
            yield from stream.at_start(state, self.initial)
        elif STREAM in given:
            yield from (
                stream.at_end() if "tag" in given
                else stream.after(state, self.hashing, self.counters)
            )  # fmt: skip

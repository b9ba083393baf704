"""What seal means: a whole message, and its tag (SP 800-38D, section 7.1).

    J_0 = IV ‖ 00000001                              an IV of 96 bits
    J_0 = GHASH(IV, zero-padded ‖ 0^64 ‖ [8·iv_len]_64)            any other
    X   = GHASH(AAD, zero-padded ‖ C, zero-padded ‖ [8·aad_len]_64 ‖ [8·len]_64)
    tag = X + E_K(J_0)

C is as in `crypt`, the first counter being inc32(J_0). The AAD's blocks are A_1, A_2, …, as the
text's are C_1, C_2, …; both are absorbed by one state. What is proved equal to its definition
goes on under a name that stands for any value:

    I, N    the IV, and the number of the first block of text, as soon as IV ‖ c is there
    M       E_K(J_0), as soon as it is computed; before there is text
    L1      the block of lengths, in a register (L0: that of an IV which is hashed)

The total lengths that it is made of become any numbers where a loop over their bytes is cut
(`ghashgen.verify.engine.cut`), and are compared as numbers where L gets its name.
"""

import random
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, ClassVar

from ghashgen.algebra.field.bitorder import BLOCK_BYTES
from ghashgen.algebra.ops.forms import Form, variable
from ghashgen.verify.core.lengths import Claim
from ghashgen.verify.core.refutation import Category, Refutation, unsupported
from ghashgen.verify.core.term import OPAQUE, RAW, Lane, Term
from ghashgen.verify.core.terms import NUMBER_LETTER
from ghashgen.verify.core.values import (
    Affine,
    Number,
    Pointer,
    UndecidedError,
    Value,
    equals,
    shift_left,
)
from ghashgen.verify.engine.behind import Behind, run_numbers
from ghashgen.verify.engine.cut import least, stored
from ghashgen.verify.engine.family import Buffer, Cell, Count, Kept, Numbers, Parameter, Result
from ghashgen.verify.engine.induction import Course, join, prove_longer
from ghashgen.verify.engine.plans import Shown
from ghashgen.verify.engine.prover import Prover
from ghashgen.verify.gcm.counter import IV_BYTES, counter_block
from ghashgen.verify.gcm.crypt import GREATEST_TEXT, Crypt, Encrypt, together
from ghashgen.verify.gcm.table import AAD, COUNTER, IV, LENGTHS, MASK, NONCE, TEXT
from ghashgen.verify.hash.absorbing import absorbed
from ghashgen.verify.hash.entry import HashEntry, data_cell
from ghashgen.verify.hash.naming import BLOCK, PARTIAL, block_name
from ghashgen.verify.x86_64.abi import Abi
from ghashgen.verify.x86_64.flow import VECTOR
from ghashgen.verify.x86_64.machine import Machine
from ghashgen.verify.x86_64.memory import STACK, Access

if TYPE_CHECKING:
    from ghashgen.verify.gcm.spec import GcmFunction, GcmSpec

GREATEST_OTHER = (1 << 61) - 1
"""The greatest length in bytes of AAD and of an IV: 2^64 - 1 bits (SP 800-38D, 5.2.1.1)."""

GREATEST = {"iv_length": GREATEST_OTHER, "aad_length": GREATEST_OTHER, "length": GREATEST_TEXT}

LEAST = {"iv_length": 1, "aad_length": 0, "length": 0}

EVERY = (1 << 64) - 1
"""The greatest number that a parameter may be."""

DONE, DIFFERS, REFUSED = range(3)
"""What is returned: all is well; the tag differs; a length is none that the standard allows."""

PARTIALS = {"iv_length": "R", "aad_length": "Q", "length": PARTIAL}
"""The variables of last blocks of which only some bytes may be read, by the length."""

LETTERS = {"iv_length": NONCE, "aad_length": AAD, "length": BLOCK}
"""The letters of whole blocks."""

BEFORE = (BLOCK_BYTES, 2 * BLOCK_BYTES)
"""Bytes of AAD where the text is proved: the first that is not the text's length too, since equal
totals cannot be told apart."""

SAMPLE = 24
"""Messages that the second line runs, each way."""

FIRST = 2
"""The number of the first block of text, where the IV has 96 bits: inc32(1)."""


@dataclass
class MessageEntry(HashEntry):
    """An entry, and the lengths that it has been called with."""

    weights: dict[str, int] = field(default_factory=dict)
    totals: dict[str, Number] = field(default_factory=dict)
    begun: bool = False
    """Whether J_0 is known: from there on its blocks are of no account."""
    hashed: bool = False
    """Whether J_0 is a hash, of an IV that has not 96 bits."""
    moved: bool = False
    """Whether some text lies behind a cut, so that N is not the number of the first block."""
    answer: bool | None = None
    """Whether the tag is right, once that is known."""
    either: bool = False
    """Whether that is so for some IVs only: then nothing is said of what is not refused."""


class TextCourse(Course):
    """An induction over the text, behind some AAD."""

    def numbers(self, value: Number) -> Numbers:
        """Return all numbers where the text has a length."""
        before = next(length for length in BEFORE if length != value)
        return {**super().numbers(value), "aad_length": before}


class Message(Crypt):
    """What seal and open have in common."""

    returns = Result(32)
    repeats = False

    def __init__(self, spec: "GcmSpec", function: "GcmFunction", cutting: bool) -> None:
        super().__init__(spec, function, cutting)
        self.naming.blocks = "".join(LETTERS.values())
        self._named_masks: dict[Term, Lane] = {}
        self.any_length = {
            number: Affine(1, 0, LEAST[number], most, f"{number} in all")
            for number, most in GREATEST.items()
        }

    def every_parameter(self) -> dict[str, Parameter]:
        """Return what the parameters of functions are, by name."""
        return {
            **super().every_parameter(),
            "iv": Buffer(Access.READ, "iv_length"),
            "iv_length": Count(),
            "aad": Buffer(Access.READ, "aad_length"),
            "aad_length": Count(),
        }

    def every_cell(self) -> dict[str, Cell[HashEntry]]:
        """Return what each buffer holds on entry."""
        return {
            **super().every_cell(),
            "iv": self._nonce_cell,
            "aad": lambda entry, index: self._cell(entry, index, "aad_length"),
        }

    def _nonce_cell(self, entry: HashEntry, index: int) -> Lane | None:
        assert isinstance(entry, MessageEntry)
        if entry.hashed:
            return self._cell(entry, index, "iv_length")
        return self.terms.variable(f"{NONCE}{index + 1}")

    def _cell(self, entry: HashEntry, index: int, number: str) -> Lane | None:
        return data_cell(entry, self.naming, index, number, LETTERS[number], PARTIALS[number])

    def entry(self, machine: Machine, abi: Abi, numbers: dict[str, Number]) -> MessageEntry:
        """Return the entry: nothing has been absorbed, and the state is 0."""
        entry = MessageEntry(machine, abi, numbers, totals=dict(numbers))
        known = equals(numbers["iv_length"], IV_BYTES)
        entry.hashed, entry.either = known is not True, known is None
        if not self.cutting:
            entry.weights = self._positions(entry)
        return entry

    def work(self, entry: HashEntry) -> int:
        """Return the blocks of a group, or of the message if no loop is cut."""
        if self.cutting:
            return self.spec.blocks
        return self.spec.blocks + sum(_blocks(n) for n in entry.numbers.values())

    def _positions(self, entry: HashEntry) -> dict[str, int]:
        """Return how much has been absorbed before each block that is left."""
        aad, text = (_blocks(entry.numbers[name]) for name in ("aad_length", "length"))
        names = [block_name(k + 1, AAD) for k in range(aad)]
        names += [block_name(k + 1) for k in range(text)]
        assert isinstance(entry, MessageEntry)
        if entry.hashed and not entry.begun:
            return {}
        return {name: at for at, name in enumerate(names)}

    def _nonce(self, entry: HashEntry) -> dict[str, int]:
        """Likewise of an IV that is hashed."""
        blocks = _blocks(entry.numbers["iv_length"])
        return {block_name(k + 1, NONCE): k for k in range(blocks)}

    # Names.

    def written(self, entry: HashEntry, vectors: tuple[int, ...]) -> None:
        """Name counters, E_K(J_0) and the block of lengths, and what a text has names for."""
        m = entry.machine
        for k in vectors:
            lanes = m.vec[k]
            named = tuple(
                self._known(entry, lane) if isinstance(lane, Term) else lane for lane in lanes
            )
            if named != lanes:
                m.vec[k] = named
        super().written(entry, vectors)

    def _known(self, entry: HashEntry, lane: Term) -> Lane:
        assert isinstance(entry, MessageEntry)
        if lane.deps & (RAW | OPAQUE) or lane.op == "var":
            return lane
        names = self.naming.variables.of(lane)
        if names == {IV, COUNTER}:
            # Behind a cut in the text N is another number.
            early = not entry.moved and "length" not in entry.held
            return self._mask(lane) if early else lane
        if names and all(name[0] == NUMBER_LETTER for name in names):
            wanted = self._lengths(entry)
            if isinstance(wanted, Term) and self.terms.try_form(lane) == self.terms.form(wanted):
                return self.terms.variable(self._block_of_lengths(entry))
        if entry.begun:
            return lane
        if not entry.hashed:
            return self._counter(lane) if names == {f"{NONCE}1"} else lane
        # From a register to memory is a linear map: no other value can be J_0 there.
        return self._hashed(entry, lane, names) if lane.op == "moves" else lane

    def _hashed(self, entry: MessageEntry, lane: Term, names: frozenset[str]) -> Lane:
        """Return I ‖ N - 1 if the lane is J_0, the hash of an IV and of its length."""
        known = isinstance(self._lengths(entry), int)
        if not known and self._block_of_lengths(entry) not in names:
            return lane
        if not isinstance(entry.numbers["iv_length"], int):
            return lane
        form = self.terms.try_form(lane)
        if form is None or form != self._hash(entry, form, self._nonce(entry)):
            return lane
        # From here on it is the state of the message, that of the IV is no more.
        entry.begun, entry.weights = True, {}
        if not self.cutting:
            entry.weights = self._positions(entry)
        return counter_block(self.terms, -1)

    def _mask(self, lane: Term) -> Lane:
        """Return M if the lane is E_K(J_0)."""
        if lane not in self._named_masks:
            right = self.terms.try_form(lane) == self.keystream.form(0)
            self._named_masks[lane] = self.terms.variable(MASK) if right else lane
        return self._named_masks[lane]

    def _counter(self, lane: Term) -> Lane:
        """Return I ‖ N + c - 2 if the lane is IV ‖ c, c being a number from 1 on.

        IV ‖ 0 is an IV that is not followed by its number yet.
        """
        form, low = self.terms.try_form(lane), (1 << 8 * IV_BYTES) - 1
        if form is None or form.quadratic or not form.constant or form.constant & low:
            return lane
        if form.linear != variable(f"{NONCE}1").mask(low).linear:
            return lane
        last = (form.constant >> 8 * IV_BYTES).to_bytes(BLOCK_BYTES - IV_BYTES, "little")
        return counter_block(self.terms, int.from_bytes(last, "big") - FIRST)

    def _block_of_lengths(self, entry: MessageEntry) -> str:
        """Return the variable of the block of lengths: of a message, or of an IV that is hashed."""
        return f"{LENGTHS}{0 if entry.hashed and not entry.begun else 1}"

    def _lengths(self, entry: HashEntry) -> Lane:
        """Return [8·aad_len]_64 ‖ [8·len]_64, in a register; for an IV, 0^64 ‖ [8·iv_len]_64."""
        assert isinstance(entry, MessageEntry)
        of_iv = entry.hashed and not entry.begun
        terms, out = self.terms, 0
        lane: Lane = out
        numbers = ((1, "iv_length"),) if of_iv else ((0, "aad_length"), (1, "length"))
        for place, number in numbers:
            bits = shift_number_left(self._total(entry, number))
            half = terms.number(bits) if isinstance(bits, Affine) else bits
            swapped = terms.bytes(half, tuple(range(7, -1, -1)) + (-1,) * 8)
            sources = (-1,) * 8 * place + tuple(range(8)) + (-1,) * 8 * (1 - place)
            lane = terms.xor(lane, terms.bytes(swapped, sources))
        return terms.moves(lane, self.naming.algebra.register)

    def _total(self, entry: MessageEntry, number: str) -> Number:
        return self.any_length[number] if number in entry.held else entry.totals[number]

    def _padded(self, entry: HashEntry, term: Term, forms: tuple[str, ...]) -> Lane:
        names = self.naming.variables.of(term)
        for number in ("iv_length", "aad_length"):
            length = entry.numbers[number]
            if PARTIALS[number] in names and isinstance(length, int):
                whole, present = divmod(length, BLOCK_BYTES)
                block = block_name(whole + 1, LETTERS[number])
                return self.naming.padded(term, present, block, forms, PARTIALS[number])
        return super()._padded(entry, term, forms) if PARTIAL in names else term

    # Cuts.

    def carried(self, entry: HashEntry, lanes: list[Term]) -> Kept | None:
        """Return the state, and functions of counters, of E_K(J_0) and of text ahead of the hash.

        AAD is absorbed to its end before any text is. What has been hashed of a text has to be
        written, and right.
        """
        assert isinstance(entry, MessageEntry)
        streams = [lane for lane in lanes if self._of_text(lane)]
        if entry.either or self.refused(entry) or any(lane.deps & RAW for lane in streams):
            return None
        weights = entry.weights
        if not entry.hashed:
            entry.begun = entry.begun or bool(streams)
        kept = self._absorbed(entry, [lane for lane in lanes if lane not in streams])
        if kept is None:
            return None
        length = entry.numbers["length"]
        done = kept.done.get("length", 0)
        blocks = -(-done // BLOCK_BYTES)
        whole = length if isinstance(length, int) else length.least
        if not all(
            self._written_to(entry, j, min(BLOCK_BYTES, done - BLOCK_BYTES * (j - 1)))
            for j in range(1, blocks + 1)
        ):
            entry.weights = weights
            return None
        entry.moved = entry.moved or blocks > 0
        found: dict[Term, Lane] = {}
        for value in (*streams, *stored(entry)):
            lane = self._after(value, blocks, whole)
            if lane is not None:
                found[value] = lane
        return replace(
            kept,
            vectors={**found, **kept.vectors},
            memory={**found, **kept.memory},
            steady=self.steady(entry),
        )

    def _after(self, value: Term, blocks: int, length: int) -> Lane | None:
        if value.deps & (RAW | OPAQUE):
            return None
        if self.naming.variables.of(value) == {MASK}:
            return value
        return self.position.after(value, blocks, length)

    def _absorbed(self, entry: MessageEntry, lanes: list[Term]) -> Kept | None:
        letters = {name[0] for lane in lanes for name in self.naming.variables.of(lane)}
        letters &= set(LETTERS.values())
        if entry.begun and entry.numbers["iv_length"] != 0:
            left = entry.numbers["iv_length"]
            kept = None if lanes or not isinstance(left, int) else self._begun(entry)
            if kept is None:
                return None
            assert isinstance(left, int)
            return replace(kept, done={"iv_length": left})
        if not lanes:
            return self._begun(entry)
        if not entry.begun:
            if not entry.hashed or letters - {NONCE}:
                return None
            return absorbed(entry, self.naming, lanes, "iv_length", NONCE, to_the_end=True)
        if len(letters) > 1:
            return None
        if letters == {BLOCK} or (not letters and entry.numbers["aad_length"] == 0):
            if entry.numbers["aad_length"] != 0:
                return None
            return absorbed(entry, self.naming, lanes, to_the_end=True)
        return absorbed(entry, self.naming, lanes, "aad_length", AAD, to_the_end=True)

    def _begun(self, entry: MessageEntry) -> Kept | None:
        """Cut before anything is absorbed: if one live register alone is 0, that is the state."""
        if entry.weights:
            return None
        m = entry.machine
        zeros = [
            k
            for k, lanes in enumerate(m.vec)
            if VECTOR + k in entry.live
            and lanes[0] == 0
            and not any(isinstance(lane, int) and lane for lane in lanes)
        ]
        if len(zeros) == 1:
            state = self.terms.variable("Y0")
            m.vec[zeros[0]] = (state, *m.vec[zeros[0]][1:])
            entry.weights = {"Y0": 0}
            return Kept({state: state})
        return Kept({})

    def steady(self, entry: MessageEntry) -> dict[str, Mapping[Value, Value]]:
        """Return totals, and the numbers that stand for them."""
        out: dict[str, Mapping[Value, Value]] = {}
        for number in GREATEST:
            total = entry.totals[number]
            # What stands for a total is a number that may be one.
            inside = LEAST[number] <= least(total) and greatest(total) <= GREATEST[number]
            if number not in entry.held and inside:
                others = [n for k, n in entry.totals.items() if k not in {number, *entry.held}]
                # Where another is equal, it is not known which one a register holds.
                out[number] = {} if total in others else {total: self.any_length[number]}
        return out

    def _of_text(self, lane: Term) -> bool:
        names = self.naming.variables.of(lane)
        return any(name[0] in (IV, COUNTER, TEXT, MASK) for name in names)

    def _written_to(self, entry: HashEntry, j: int, present: int) -> bool:
        lane = self._block(entry, j, present)
        return lane is not None and self._is_right(entry, lane, j, present)

    def key(self, entry: HashEntry) -> object:
        """Return what has been absorbed before each state, and totals that are known."""
        assert isinstance(entry, MessageEntry)
        known = ((name, n) for name, n in entry.totals.items() if name not in entry.held)
        # Which IVs have 96 bits is of no account once J_0 is known.
        return (
            tuple(entry.weights.items()),
            tuple(known),
            entry.begun or entry.hashed,
            entry.begun,
            entry.moved and "length" not in entry.held,
            entry.answer,
        )

    # The return.

    def check(self, prover: Prover[HashEntry], entry: HashEntry) -> None:
        """Compare the status, and what is written.

        Raises:
            Refutation: it differs.
        """
        assert isinstance(entry, MessageEntry)
        if self.refused(entry):
            prover.check_result(entry, REFUSED, "the status of lengths that there are none of")
            for name, content in entry.machine.memory.written.items():
                if name != STACK and content:
                    raise Refutation(
                        Category.FUNCTION, f"{name} is written, though a length is refused"
                    )
            return
        if entry.either:
            raise UndecidedError("an IV of which some have 96 bits")
        self.check_message(prover, entry)

    def refused(self, entry: MessageEntry) -> bool:
        """Return whether a length is none that there may be."""
        for number, most in GREATEST.items():
            total = self._total(entry, number)
            if least(total) > most or greatest(total) < LEAST[number]:
                return True
            if greatest(total) > most or least(total) < LEAST[number]:
                raise UndecidedError(f"a {number} that is refused for some values only")
        return False

    def check_message(self, prover: Prover[HashEntry], entry: MessageEntry) -> None:
        """Compare what comes of a message that may be."""
        raise NotImplementedError

    def check_text(self, prover: Prover[HashEntry], entry: MessageEntry) -> None:
        """Compare what is left of the output."""
        length = entry.numbers["length"]
        if not isinstance(length, int):
            raise unsupported("what is left of a text is not known")
        for j in range(1, _blocks(length) + 1):
            self._check_block(prover, entry, j, min(BLOCK_BYTES, length - BLOCK_BYTES * (j - 1)))

    def _hash(self, entry: MessageEntry, form: Form, left: Mapping[str, int]) -> Form:
        """Return GHASH over what is left and the block of lengths, in the variables of a form."""
        algebra, naming = self.naming.algebra, self.naming
        lengths, blocks = self._lengths(entry), len(left) + 1
        last = self._block_of_lengths(entry)
        known: dict[str, int] = {**left, **entry.weights, last: len(left)}
        weights: dict[str, int] = {**left, **entry.weights}
        constant = None
        if isinstance(lengths, Term):
            weights[last] = len(left)
        elif lengths:
            constant = algebra.multiple(lengths, 1)
        grouped = naming.grouped(form.moves(algebra.register, 128), weights, known)
        wanted = algebra.state({v: blocks - at for v, at in grouped.items()})
        if constant is not None:
            wanted ^= constant
        return wanted.moves(algebra.memory, 128)

    def tag_form(self, entry: MessageEntry, form: Form) -> Form:
        """Return the tag, in the variables that a form has."""
        mask = variable(MASK)
        return self._hash(entry, form ^ mask, self._positions(entry)) ^ mask

    def check_tag(self, prover: Prover[HashEntry], entry: MessageEntry) -> None:
        """Compare the tag.

        Raises:
            Refutation: it differs.
        """
        memory = entry.machine.memory
        if any(k not in memory.written["tag"] for k in range(BLOCK_BYTES)):
            raise Refutation(Category.FUNCTION, "the tag is not written")
        self.terms.at = 0
        lane = memory.load(Pointer("tag", 0), BLOCK_BYTES)
        assert isinstance(lane, int | Term)
        form = prover.form(lane, "the tag")
        names = self.naming.made_of(form)
        if MASK not in names:
            raise Refutation(Category.FUNCTION, "E_K(J_0) is not added to the tag")
        if names & set(PARTIALS.values()):
            raise Refutation(
                Category.FUNCTION, "a last partial block is not the padded input bytes"
            )
        if any(name[0] == NUMBER_LETTER for name in names):
            raise Refutation(
                Category.FUNCTION, "the block of lengths is not [8·aad_len]_64 ‖ [8·len]_64"
            )
        prover.compare(lane, self.tag_form(entry, form), "the tag")

    # Plans.

    def tags(self) -> Sequence[Numbers]:
        """Return the lengths of tags that are proved one after another, or several at once."""
        return ({},)

    def tag_of(self, k: int) -> Numbers:
        """Return the length of a tag for message k of the second line."""
        return {}

    def tags_refused(self) -> Sequence[Numbers]:
        """Return those that are refused."""
        return ()

    def prove(self, prover: Prover[HashEntry], lengths: Iterable[int] | None) -> Shown:
        """Prove it for every IV, AAD and text, for two buffers, and for one that is both.

        Raises:
            Refutation: it does not hold.
        """
        apart = self._every_message(prover)
        function = replace(self.gcm_function, in_place=True)
        both: Prover[HashEntry] = Prover(prover.image, prover.statement, function)
        meaning = both.meaning
        assert isinstance(meaning, Message)
        try:
            one = meaning._every_message(both)
        except Refutation as refutation:
            refutation.message += ", in place"
            raise
        finally:
            meaning.terms.clear()
        prover.executed += both.executed
        words = "IV, AAD and text, every length of each"
        parts = ((words, "induction, apart"), (words, "induction, in place"))
        return Shown(parts, together(apart, one))

    def _every_message(self, prover: Prover[HashEntry]) -> Behind:
        """Prove it phase by phase, the last one first: what is before may then be any."""
        first, *more = self.tags()
        self._refusals(prover, first)
        group = BLOCK_BYTES * self.gcm.blocks
        executed = [*range(group + 2 * BLOCK_BYTES), 2 * group, 3 * group]
        text = TextCourse(
            Claim(1, GREATEST_TEXT, "length"), group, {**first, "iv_length": IV_BYTES}
        )
        any_text = self._course(prover, text, executed)
        others = {**first, "iv_length": IV_BYTES, "length": any_text}
        aad = Course(Claim(1, GREATEST_OTHER, "aad_length"), group, others)
        any_aad = self._course(prover, aad, executed)
        for tag in (first, *more):
            others = {**tag, "aad_length": any_aad, "length": any_text}
            iv = Course(Claim(1, GREATEST_OTHER, "iv_length"), BLOCK_BYTES, others)
            for length in range(3 * BLOCK_BYTES):
                prover.prove(iv.numbers(length))
            prove_longer(prover, iv)
        return run_numbers(prover, "message", self._sample(prover, group))

    def _course(self, prover: Prover[HashEntry], course: Course, executed: Iterable[int]) -> Affine:
        for length in executed:
            prover.prove(course.numbers(length))
        return join(prover, course, prove_longer(prover, course))

    def _sample(self, prover: Prover[HashEntry], group: int) -> list[Numbers]:
        """Return the messages of the second line: IVs of both kinds, AAD and text at random."""
        drawn = random.Random(prover.function.symbol)
        most = 2 * group + 2 * BLOCK_BYTES
        out: list[Numbers] = []
        for k in range(SAMPLE):
            iv = IV_BYTES if k % 2 else drawn.randrange(1, 5 * BLOCK_BYTES)
            lengths = {"aad_length": drawn.randrange(most), "length": drawn.randrange(most)}
            out.append({**self.tag_of(k), "iv_length": iv, **lengths})
        return out

    def _refusals(self, prover: Prover[HashEntry], tag: Numbers) -> None:
        """Prove that lengths are refused which the standard has no meaning for."""
        anything: dict[str, Number] = {n: Affine(1, 0, 0, EVERY, n) for n in (*GREATEST, *tag)}
        right: dict[str, Number] = {
            number: Affine(1, 0, LEAST[number], most, number) for number, most in GREATEST.items()
        }
        prover.prove({**anything, "iv_length": 0})
        for k, (number, most) in enumerate(GREATEST.items()):
            before = dict(list(right.items())[:k])
            prover.prove({**anything, **before, number: Affine(1, 0, most + 1, EVERY, number)})
        for wrong in self.tags_refused():
            prover.prove({**right, **wrong})


def _blocks(number: Number) -> int:
    if not isinstance(number, int):
        raise unsupported("what is left of a message is not known")
    return -(-number // BLOCK_BYTES)


def greatest(number: Number) -> int:
    """Return the greatest value of a number."""
    return number if isinstance(number, int) else number.greatest


def shift_number_left(number: Number) -> Number:
    """Return 8·number."""
    return 8 * number if isinstance(number, int) else shift_left(number, 3)


class Seal(Message, Encrypt):
    """seal: the text encrypted, and the tag."""

    takes: ClassVar[tuple[str, ...]] = (
        "table", "iv", "iv_length", "aad", "aad_length", "input", "length", "output", "tag",
    )  # fmt: skip

    def every_parameter(self) -> dict[str, Parameter]:
        """Return what the parameters of functions are, by name."""
        return {**super().every_parameter(), "tag": Buffer(Access.WRITE, BLOCK_BYTES)}

    def every_cell(self) -> dict[str, Cell[HashEntry]]:
        """Return what each buffer holds on entry."""
        return {**super().every_cell(), "tag": lambda entry, index: None}

    def _named(self, entry: HashEntry, lane: Term) -> Lane:
        if lane.deps & RAW and PARTIAL not in self.naming.variables.of(lane):
            # In memory it may still be made of overlapping loads.
            return self._padded(entry, lane, ("register",))
        return super()._named(entry, lane)

    def check_message(self, prover: Prover[HashEntry], entry: MessageEntry) -> None:
        """Compare the status, the text and the tag."""
        prover.check_result(entry, DONE, "the status")
        self.check_text(prover, entry)
        self.check_tag(prover, entry)

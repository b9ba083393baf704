"""A whole message, its tag, and names for values equal to parts of it (SP 800-38D, 7.1).

    J_0 = IV ‖ 00000001                              an IV of 96 bits
    J_0 = GHASH(IV, zero-padded ‖ 0^64 ‖ [8·iv_len]_64)            any other
    X   = GHASH(AAD, zero-padded ‖ C, zero-padded ‖ [8·aad_len]_64 ‖ [8·len]_64)
    tag = X + E_K(J_0)

C is as in `crypt`, the first counter being inc32(J_0). The AAD's blocks are A_1, A_2, …, and the
text's are C_1, C_2, …; one state absorbs both. A value that is proved equal to its definition gets
a name that stands for any value:

    I, N    the IV, and the number of the first block of text, as soon as IV ‖ c is there
    M       E_K(J_0), as soon as it is computed; before there is text
    L1      the length block, in a register (L0: that of an IV which is hashed)

The total lengths in the length block become arbitrary where a loop over their bytes is cut
(`ghashgen.verify.engine.cut`). They are compared as numbers where L gets its name.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ghashgen.algebra.field.bitorder import BLOCK_BYTES
from ghashgen.algebra.ops.forms import Form, variable
from ghashgen.verify.core.kinds import NUMBER_LETTER
from ghashgen.verify.core.limits import GREATEST_OTHER, GREATEST_TEXT
from ghashgen.verify.core.refutation import unsupported
from ghashgen.verify.core.term import OPAQUE, RAW, Lane, Term
from ghashgen.verify.core.values import (
    Affine,
    Number,
    equals,
    shift_left,
)
from ghashgen.verify.engine.family import Buffer, Cell, Count, Parameter, Result
from ghashgen.verify.gcm.counter import IV_BYTES, counter_block
from ghashgen.verify.gcm.crypt import Crypt
from ghashgen.verify.gcm.table import AAD, COUNTER, IV, LENGTHS, MASK, NONCE, ROUND_KEY
from ghashgen.verify.hash.entry import HashEntry, data_cell
from ghashgen.verify.hash.naming import BLOCK, PARTIAL, block_name
from ghashgen.verify.machine.machine import Machine
from ghashgen.verify.machine.regions import Access
from ghashgen.verify.machine.target import Abi

if TYPE_CHECKING:
    from ghashgen.verify.gcm.spec import GcmFunction, GcmSpec

GREATEST = {"iv_length": GREATEST_OTHER, "aad_length": GREATEST_OTHER, "length": GREATEST_TEXT}

LEAST = {"iv_length": 1, "aad_length": 0, "length": 0}


PARTIALS = {"iv_length": "R", "aad_length": "Q", "length": PARTIAL}
"""The variables of last blocks that may be partly readable, by the length."""

LETTERS = {"iv_length": NONCE, "aad_length": AAD, "length": BLOCK}
"""The letters of whole blocks."""

BEFORE = (BLOCK_BYTES, 2 * BLOCK_BYTES)
"""Bytes of AAD before the proof of the text. The first differs from the text's length too, since
equal totals cannot be told apart.
"""

SAMPLE = 24
"""Messages that the second line runs, in each direction."""

IV_ALONE = frozenset({f"{NONCE}1"})
"""The variable of a 96-bit IV, which is not hashed."""

FIRST = 2
"""The number of the first block of text with a 96-bit IV: inc32(1)."""


TAG_FIRST = (
    "the text is decrypted after the tag was found right, and is right for this message: the proof "
    "follows only code that decrypts first, and clears the output if the tag differs"
)
"""Why a two-pass open is not proved."""


@dataclass
class MessageEntry(HashEntry):
    """An entry, and the lengths of its call."""

    weights: dict[str, int] = field(default_factory=dict)
    totals: dict[str, Number] = field(default_factory=dict)
    begun: bool = False
    """Whether J_0 is known: the IV's blocks no longer matter."""
    hashed: bool = False
    """Whether J_0 is a hash, of an IV that does not have 96 bits."""
    moved: bool = False
    """Whether some text is before a cut, so that N is not the number of the first block."""
    answer: bool | None = None
    """Whether the tag is right, once that is known."""
    unwritten: bool = False
    """Whether it is right, and no text had been written by then."""
    tagged: bool = False
    """Whether the tag has its name, and only it is left of the message."""
    either: bool = False
    """Whether that holds for some IVs only: then only refusals can be compared."""


class Named(Crypt):
    """What a message is made of, and the names of values equal to it."""

    returns = Result(32)
    meetings = True
    repeats = False

    def __init__(self, spec: "GcmSpec", function: "GcmFunction", cutting: bool) -> None:
        super().__init__(spec, function, cutting)
        self.naming.blocks = "".join(LETTERS.values())
        self._named_masks: dict[Term, Lane] = {}
        self._nameless: dict[tuple[bool, ...], set[Lane]] = {}
        """What has no name here whatever the numbers are, by what else decides that."""
        self._counters: dict[Term, Lane] = {}
        self.behind: dict[frozenset[int], int] = {}
        """Where AAD has been absorbed, by what is live there: blocks less than all its products."""
        self.any_length = {
            number: Affine(1, 0, LEAST[number], most, f"{number} in all")
            for number, most in GREATEST.items()
        }

    def every_parameter(self) -> dict[str, Parameter]:
        """Return all parameters by name."""
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
        """Return the entry: nothing is absorbed, and the state is 0."""
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
        return self.spec.blocks + sum(blocks_of(n) for n in entry.numbers.values())

    def _positions(self, entry: HashEntry) -> dict[str, int]:
        """Return how much was absorbed before each remaining block."""
        aad, text = (blocks_of(entry.numbers[name]) for name in ("aad_length", "length"))
        names = [block_name(k + 1, AAD) for k in range(aad)]
        names += [block_name(k + 1) for k in range(text)]
        assert isinstance(entry, MessageEntry)
        if entry.hashed and not entry.begun:
            return {}
        return {name: at for at, name in enumerate(names)}

    def _nonce(self, entry: HashEntry) -> dict[str, int]:
        """The same for an IV that is hashed."""
        blocks = blocks_of(entry.numbers["iv_length"])
        return {block_name(k + 1, NONCE): k for k in range(blocks)}

    # Names.

    def written(self, entry: HashEntry, vectors: tuple[int, ...]) -> None:
        """Name counters, E_K(J_0), the length block, and what a text has names for."""
        assert isinstance(entry, MessageEntry)
        m = entry.machine
        # After a cut in the text N is another number.
        early = not entry.moved and "length" not in entry.held
        stage = (early, entry.begun, entry.hashed)
        nameless = self._nameless.setdefault(stage, set())
        for k in vectors:
            lanes = m.vec[k]
            if nameless.issuperset(lanes):
                continue
            named: list[Lane] = []
            for lane in lanes:
                if isinstance(lane, int) or self._has_none(lane, *stage):
                    nameless.add(lane)
                    named.append(lane)
                else:
                    named.append(self._known(entry, lane, early))
            if tuple(named) != lanes:
                m.vec[k] = tuple(named)
        super().written(entry, vectors)

    def _has_none(self, lane: Term, early: bool, begun: bool, hashed: bool) -> bool:
        """Return whether a value has no name here, for any numbers of its entry."""
        if lane.deps & (RAW | OPAQUE) or lane.op == "var":
            return True
        names = self.naming.variables.of(lane)
        if names == {IV, COUNTER}:
            return not early or self._mask(lane) is lane
        if names and all(name[0] == NUMBER_LETTER for name in names):
            return False
        if not hashed:
            return not early or names != IV_ALONE or self._counter(lane) is lane
        # Register to memory is a linear map: no other value can be J_0 there.
        return begun or lane.op != "moves"

    def _known(self, entry: MessageEntry, lane: Term, early: bool) -> Lane:
        names = self.naming.variables.of(lane)
        if names == {IV, COUNTER}:
            return self._mask(lane) if early else lane
        if names and all(name[0] == NUMBER_LETTER for name in names):
            wanted = self._lengths(entry)
            if isinstance(wanted, Term) and self.terms.try_form(lane) == self.terms.form(wanted):
                return self.terms.variable(self._block_of_lengths(entry))
        if not entry.hashed:
            return self._counter(lane) if early and names == IV_ALONE else lane
        if entry.begun:
            return lane
        return self._hashed(entry, lane, names) if lane.op == "moves" else lane

    def _hashed(self, entry: MessageEntry, lane: Term, names: frozenset[str]) -> Lane:
        """Return I ‖ N - 1 if the lane is J_0 as the hash of an IV and its length."""
        known = isinstance(self._lengths(entry), int)
        if not known and self._block_of_lengths(entry) not in names:
            return lane
        if not isinstance(entry.numbers["iv_length"], int):
            return lane
        form = self.terms.try_form(lane)
        if form is None or form != self._hash(entry, form, self._nonce(entry)):
            return lane
        # From here on the state is the message's, and no longer the IV's.
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
        """Return I ‖ N + c - 2 if the lane is IV ‖ c for a number c from 1 on. k_0 may be added.

        IV ‖ 0 is an IV whose number has not joined yet.
        """
        if lane not in self._counters:
            k_0 = self.terms.entry(ROUND_KEY, 0)
            number, keyed = self._number_of(lane), self._number_of(self.terms.xor(lane, k_0))
            named: Lane = lane
            if number:
                named = counter_block(self.terms, number - FIRST)
            elif keyed:
                named = self.terms.xor(counter_block(self.terms, keyed - FIRST), k_0)
            self._counters[lane] = named
        return self._counters[lane]

    def _number_of(self, lane: Lane) -> int:
        """Return c if a lane is IV ‖ c, and otherwise 0."""
        form, low = self.terms.try_form(lane), (1 << 8 * IV_BYTES) - 1
        if form is None or form.quadratic or form.constant & low:
            return 0
        if form.linear != variable(f"{NONCE}1").mask(low).linear:
            return 0
        last = (form.constant >> 8 * IV_BYTES).to_bytes(BLOCK_BYTES - IV_BYTES, "little")
        return int.from_bytes(last, "big")

    def _block_of_lengths(self, entry: MessageEntry) -> str:
        """Return the variable of the length block: of a message, or of an IV that is hashed."""
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

    def _hash(self, entry: MessageEntry, form: Form, left: Mapping[str, int]) -> Form:
        """Return GHASH over the rest and the length block, in the variables of a form."""
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
        """Return the tag, in the variables of a form."""
        mask = variable(MASK)
        return self._hash(entry, form ^ mask, self._positions(entry)) ^ mask


def blocks_of(number: Number) -> int:
    """Return the number of blocks that hold this many bytes."""
    if not isinstance(number, int):
        raise unsupported("how much of a message is left is not known")
    return -(-number // BLOCK_BYTES)


def greatest(number: Number) -> int:
    """Return the greatest value of a number."""
    return number if isinstance(number, int) else number.greatest


def shift_number_left(number: Number) -> Number:
    """Return 8·number."""
    return 8 * number if isinstance(number, int) else shift_left(number, 3)

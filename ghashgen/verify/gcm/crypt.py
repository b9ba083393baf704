"""The meaning of encrypt and decrypt: counter mode, and GHASH continued over the ciphertext.

    C_j = P_j + E_K(IV ‖ N + j - 1)          j = 1 … n, the last block cut to its bytes
    X   = X·H^n + C_1·H^n + … + C_n·H        C_n padded with zeros
    N   = N + n modulo 2^32                  (SP 800-38D, sections 6.2, 6.4, 6.5)

GHASH is the meaning of a hash's update, whose blocks are the ciphertext. In decryption they are the
input. In encryption the function computes them: a register equal to P_j + E_j becomes 128 fresh
bits C_j, whatever instruction wrote it. So does the last block once it is zero-padded. From there
on the hash is that of any message.

The output is compared with its definition block by block, where a loop is cut and at the return;
each byte is written once. Output that is written but not yet hashed stays readable after a cut, as
a function of the blocks after it. In place, the output is the input: a block can be read as it was
until its bytes are written.
"""

from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar

from ghashgen.algebra.field.bitorder import BLOCK_BYTES
from ghashgen.algebra.ops.forms import Form, variable
from ghashgen.verify.core.lengths import Claim
from ghashgen.verify.core.limits import GREATEST_TEXT
from ghashgen.verify.core.refutation import Category, Refutation
from ghashgen.verify.core.term import RAW, Lane, Term
from ghashgen.verify.core.values import Affine, Pointer, UndecidedError
from ghashgen.verify.engine.behind import Behind
from ghashgen.verify.engine.cut import least, stored
from ghashgen.verify.engine.family import Buffer, Cell, Kept, Parameter
from ghashgen.verify.engine.induction import Course
from ghashgen.verify.engine.plans import Shown, every_length
from ghashgen.verify.engine.prover import Prover
from ghashgen.verify.gcm.counter import COUNTER_BYTES, Keystream, Position, counter_block
from ghashgen.verify.gcm.meaning import GcmMeaning
from ghashgen.verify.gcm.table import COUNTER, IV, ROUND_KEY, TEXT
from ghashgen.verify.hash.absorbing import absorbed
from ghashgen.verify.hash.entry import HashEntry, data_cell
from ghashgen.verify.hash.naming import PARTIAL, block_name
from ghashgen.verify.hash.operations import Update
from ghashgen.verify.machine.regions import Access

if TYPE_CHECKING:
    from ghashgen.verify.gcm.spec import GcmFunction, GcmSpec

APART, IN_PLACE = "apart", "in place"
"""Whether input and output are separate or one buffer."""

IN_PLACE_PARTS = 64
"""Parts of a turn. In place, the second line runs one residue from each; apart, every one."""


class Crypt(GcmMeaning, Update):
    """What encrypt and decrypt share."""

    takes: ClassVar[tuple[str, ...]] = (
        "table", "counter", "state", "input", "output", "length",
    )  # fmt: skip

    def __init__(self, spec: "GcmSpec", function: "GcmFunction", cutting: bool) -> None:
        self.out = "input" if function.in_place else "output"
        """The buffer that is written."""
        self.gcm_function = function
        super().__init__(spec, function, cutting)
        terms = self.terms
        self.ciphertext = self.naming.algebra.memory
        """What brings the register C_j to memory."""
        keys = [terms.entry(ROUND_KEY, i) for i in range(spec.rounds + 1)]
        self.keystream = Keystream(terms, keys)
        self.position = Position(terms, self.naming.variables)
        self._right: set[tuple[Lane, int, int]] = set()
        """Lanes found equal to this many bytes of a block of the output."""

    def every_parameter(self) -> dict[str, Parameter]:
        """Return all parameters by name."""
        text = Buffer(Access.READ, "length")
        out = Buffer(Access.OUTPUT, "length")
        if self.gcm_function.in_place:
            text, out = replace(text, access=Access.REPLACE), replace(out, at=self.out)
        counter = Buffer(Access.UPDATE, BLOCK_BYTES)
        return {**super().every_parameter(), "counter": counter, "input": text, "output": out}

    def every_cell(self) -> dict[str, Cell[HashEntry]]:
        """Return what each buffer holds on entry."""
        return {
            **super().every_cell(),
            "counter": lambda entry, index: counter_block(self.terms, 0),
            "input": self.input_cell,
            "output": lambda entry, index: None,
        }

    def input_cell(self, entry: HashEntry, index: int) -> Lane | None:
        """Return block `index` + 1 of the input in memory order."""
        raise NotImplementedError

    def plain(self, entry: HashEntry, j: int, present: int) -> list[Form]:
        """Return the possible definitions of the first bytes of block j of the output, in memory
        order.

        They use different variables for the same bits.
        """
        raise NotImplementedError

    def check(self, prover: Prover[HashEntry], entry: HashEntry) -> None:
        """Compare the output, the counter block and the state.

        Raises:
            Refutation: one of them differs.
        """
        length = entry.numbers["length"]
        assert isinstance(length, int)
        for j in range(1, -(-length // BLOCK_BYTES) + 1):
            self._check_block(prover, entry, j, min(BLOCK_BYTES, length - BLOCK_BYTES * (j - 1)))
        self.terms.at = 0
        counter = entry.machine.memory.load(Pointer("counter", 0), BLOCK_BYTES)
        wanted = self.terms.form(counter_block(self.terms, -(-length // BLOCK_BYTES)))
        prover.compare(counter, wanted, "the counter block")
        super().check(prover, entry)

    def _check_block(
        self, prover: Prover[HashEntry], entry: HashEntry, j: int, present: int
    ) -> None:
        lane = self._block(entry, j, present)
        if lane is None:
            raise Refutation(Category.FUNCTION, f"block {j} of the output is not written")
        if not self._is_right(entry, lane, j, present):
            wanted = self.plain(entry, j, present)[0]
            prover.compare(lane, wanted, f"block {j} of the output")
            raise AssertionError("a block that is both right and wrong")

    def _block(self, entry: HashEntry, j: int, present: int) -> Lane | None:
        """Return the first bytes of block j of the output, or None if they are not all written."""
        memory, first = entry.machine.memory, BLOCK_BYTES * (j - 1)
        written = memory.written[self.out]
        if any(first + k not in written for k in range(present)):
            return None
        self.terms.at = 0
        lane = memory.load(Pointer(self.out, first), present)
        assert isinstance(lane, int | Term)
        return lane

    def _is_right(self, entry: HashEntry, lane: Lane, j: int, present: int) -> bool:
        key = (lane, j, present)
        if key not in self._right:
            form = self.terms.try_form(lane)
            if form not in self.plain(entry, j, present):
                return False
            self._right.add(key)
        return True

    def carried(self, entry: HashEntry, lanes: list[Term]) -> Kept | None:
        """Return the accumulators, and functions of counters and of blocks ahead of the hash.

        Hashed text must have been written, and be right.
        """
        streams = [lane for lane in lanes if self._of_text(lane)]
        if any(lane.deps & RAW for lane in streams):
            return None
        weights = entry.weights
        kept = absorbed(entry, self.naming, [lane for lane in lanes if lane not in streams])
        if kept is None:
            return None
        blocks, length = kept.done["length"] // BLOCK_BYTES, least(entry.numbers["length"])
        found = {
            value: lane
            for value in (*streams, *stored(entry))
            if (lane := self.position.after(value, blocks, length)) is not None
        }
        if not all(self._written(entry, j) for j in range(1, blocks + 1)):
            entry.weights = weights
            return None
        # The counter block in memory counts from the old position. Where a register has the new
        # one, a run that arrives without a block forgets it too, so that states are equal.
        counted = any(COUNTER in self.naming.variables.of(lane) for lane in streams)
        lost = {"counter": COUNTER_BYTES} if blocks or counted else {}
        return replace(
            kept, vectors={**found, **kept.vectors}, memory={**found, **kept.memory}, lost=lost
        )

    def _of_text(self, lane: Term) -> bool:
        """Return whether a value depends on counters, keystream or text, so is not of the hash."""
        return any(name[0] in (IV, COUNTER, TEXT) for name in self.naming.variables.of(lane))

    def _written(self, entry: HashEntry, j: int) -> bool:
        lane = self._block(entry, j, BLOCK_BYTES)
        return lane is not None and self._is_right(entry, lane, j, BLOCK_BYTES)

    def prove(self, prover: Prover[HashEntry], lengths: Iterable[int] | None) -> Shown:
        """Prove it for every length, for two buffers, and for one that is both.

        A statement about one buffer alone says nothing about two.

        Raises:
            Refutation: it does not hold.
        """
        if self.gcm_function.in_place:
            one = self._in_place(prover, lengths)
            return Shown(_said(one, IN_PLACE), one.behind)
        apart = self._every_length(prover, lengths, BLOCK_BYTES * self.gcm.blocks)
        function = replace(self.gcm_function, in_place=True)
        both: Prover[HashEntry] = Prover(prover.image, prover.statement, function)
        try:
            one = self._in_place(both, lengths)
        finally:
            both.meaning.terms.clear()
        prover.executed += both.executed
        parts = (*_said(apart, APART), *_said(one, IN_PLACE))
        return Shown(parts, together(apart.behind, one.behind))

    def _in_place(self, prover: Prover[HashEntry], lengths: Iterable[int] | None) -> Shown:
        try:
            return self._every_length(prover, lengths, IN_PLACE_PARTS)
        except Refutation as refutation:
            refutation.message += f", {IN_PLACE}"
            raise

    def _every_length(
        self, prover: Prover[HashEntry], lengths: Iterable[int] | None, parts: int
    ) -> Shown:
        group = BLOCK_BYTES * self.gcm.blocks
        step = self.function.length_multiple
        # Longer ones come to a state that one of these has left after its first group.
        executed = range(0, group + 2 * BLOCK_BYTES, step)
        course = Course(Claim(step, GREATEST_TEXT, "length"), group)
        return every_length(prover, course, executed, lengths, parts, (2 * group, 3 * group))


class Decrypt(Crypt):
    """decrypt: GHASH over the input, and the input plus the keystream."""

    def input_cell(self, entry: HashEntry, index: int) -> Lane | None:
        """Return block `index` + 1 of the ciphertext, as the hash sees it."""
        return data_cell(entry, self.naming, index)

    def plain(self, entry: HashEntry, j: int, present: int) -> list[Form]:
        """Return C_j + E_j. A partial C_j may have its own name or that of its bytes."""
        names = [block_name(j)] if present == BLOCK_BYTES else [block_name(j), PARTIAL]
        blocks = [variable(name).moves(self.ciphertext, 8 * BLOCK_BYTES) for name in names]
        return [_first(self.keystream.form(j) ^ block, present) for block in blocks]


class Encrypt(Crypt):
    """encrypt: the input plus the keystream, and GHASH over that."""

    def __init__(self, spec: "GcmSpec", function: "GcmFunction", cutting: bool) -> None:
        super().__init__(spec, function, cutting)
        self._ciphers: dict[Lane, Lane] = {}
        self._no_ciphers: set[Lane] = set()
        self._partial: dict[tuple[Term, int, int], str | None] = {}

    def input_cell(self, entry: HashEntry, index: int) -> Lane | None:
        """Return block `index` + 1 of the text.

        Raises:
            UndecidedError: the block is whole for some of the lengths and partial for others.
        """
        length = entry.numbers["length"]
        if BLOCK_BYTES * (index + 1) <= least(length):
            return self.terms.variable(f"{TEXT}{index + 1}")
        if isinstance(length, Affine):
            raise UndecidedError("bytes of a block that is the last one for some lengths only")
        entry.raw = True
        return self.terms.variable(PARTIAL, RAW)

    def plain(self, entry: HashEntry, j: int, present: int) -> list[Form]:
        """Return P_j + E_j, or its name."""
        text = variable(f"{TEXT}{j}" if present == BLOCK_BYTES else PARTIAL)
        named = variable(block_name(j)).moves(self.ciphertext, 8 * BLOCK_BYTES)
        return [_first(block, present) for block in (self.keystream.form(j) ^ text, named)]

    def written(self, entry: HashEntry, vectors: tuple[int, ...]) -> None:
        """Name ciphertext as soon as it is computed."""
        m = entry.machine
        for k in vectors:
            lanes = m.vec[k]
            if not self._no_ciphers.issuperset(lanes):
                m.vec[k] = tuple([self._named(entry, lane) for lane in lanes])

    def _named(self, entry: HashEntry, lane: Lane) -> Lane:
        if isinstance(lane, Term) and lane.deps & RAW:
            return self._padded(entry, lane, ("memory", "register"))
        found = self._ciphers.get(lane)
        if found is None:
            found = self._ciphers[lane] = self._cipher(lane) if isinstance(lane, Term) else lane
            if found is lane:
                self._no_ciphers.add(lane)
        return found

    def _cipher(self, lane: Term) -> Lane:
        """Return C_j if the lane is P_j + E_j, and otherwise the lane itself."""
        names = self.naming.variables.of(lane)
        if COUNTER not in names or len(names) != 3:
            return lane
        texts = [name for name in names if name[0] == TEXT]
        if len(texts) != 1 or IV not in names:
            return lane
        j = int(texts[0][1:])
        if self.terms.try_form(lane) != self.keystream.form(j) ^ variable(texts[0]):
            return lane
        return self.terms.moves(self.terms.variable(block_name(j)), self.ciphertext)

    def padded(self, term: Term, present: int, number: int, forms: tuple[str, ...]) -> Lane:
        """Replace the first bytes of P_n + E_n, zeros after them, by C_n."""
        key = (term, present, number)
        if key not in self._partial:
            self._partial[key] = self._which(*key)
        found = self._partial[key]
        if found not in forms:
            return term
        block = self.terms.variable(block_name(number))
        return block if found == "register" else self.terms.moves(block, self.ciphertext)

    def _which(self, term: Term, present: int, number: int) -> str | None:
        if self.naming.variables.of(term) != {IV, COUNTER, PARTIAL}:
            return None
        form = self.terms.try_form(term)
        in_memory = _first(self.keystream.form(number) ^ variable(PARTIAL), present)
        if form == in_memory:
            return "memory"
        in_register = in_memory.moves(self.naming.algebra.register, 8 * BLOCK_BYTES)
        return "register" if form == in_register else None


def _first(form: Form, present: int) -> Form:
    return form.mask((1 << 8 * present) - 1)


def _said(shown: Shown, how: str) -> tuple[tuple[str, str], ...]:
    return tuple((words, f"{method}, {how}") for words, method in shown.parts)


def together(a: Behind | None, b: Behind | None) -> Behind | None:
    """Return the sum of two second lines."""
    if a is None or b is None:
        return a or b
    return replace(
        a,
        numbers=a.numbers + b.numbers,
        greatest=max(a.greatest, b.greatest),
        instructions=a.instructions + b.instructions,
        repeated=a.repeated + b.repeated,
        seconds=a.seconds + b.seconds,
    )

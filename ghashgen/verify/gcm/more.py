"""The meaning of encrypt_more and decrypt_more: a message's next piece of text (`pieces`).

The begun block meets the last k bytes of the keystream in the state. The blocks after it meet
E_K(N), E_K(N + 1), … as in `crypt`. The call leaves in the state the counter, advanced by the
blocks begun, and the keystream of the last one if it is not full. The first text after AAD that
ends inside a block pads that block: X·H, and p = 0.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import ClassVar

from ghashgen.algebra.field.bitorder import BLOCK_BYTES
from ghashgen.algebra.ops.forms import Form, variable
from ghashgen.verify.core.limits import GREATEST_OTHER, GREATEST_TEXT
from ghashgen.verify.core.refutation import Category, Refutation
from ghashgen.verify.core.term import Lane, Term
from ghashgen.verify.core.values import Affine, Pointer
from ghashgen.verify.engine.family import Cell, Kept, Numbers
from ghashgen.verify.engine.plans import Shown
from ghashgen.verify.engine.prover import Prover
from ghashgen.verify.gcm.begun import (
    HELD,
    INPUT,
    NO_MESSAGE,
    PieceCourse,
    PieceEntry,
    misplaced,
    place_of,
    too_long,
)
from ghashgen.verify.gcm.counter import COUNTER_BYTES, counter_block
from ghashgen.verify.gcm.crypt import Crypt, Decrypt, Encrypt
from ghashgen.verify.gcm.pieces import Piece
from ghashgen.verify.gcm.stream import (
    ASSOCIATED,
    MASK_CELL,
    NUMBER_BYTES,
    OTHER,
    PLACES,
    STREAM_BYTES,
    TEXT_BEGUN,
    residues,
)
from ghashgen.verify.gcm.table import MASK
from ghashgen.verify.hash.entry import HashEntry

COUNTER_CELL, KEPT_CELL = 1, 3
"""Which 16 bytes of a state hold the counter block, and the kept keystream."""

KEPT = f"{OTHER}{KEPT_CELL}"
"""The variable of that keystream."""


class More(Piece, Crypt):
    """What encrypt_more and decrypt_more share."""

    takes: ClassVar[tuple[str, ...]] = ("table", "stream", "input", "output", "length")
    phases = (ASSOCIATED, TEXT_BEGUN)
    steps = True

    def every_cell(self) -> dict[str, Cell[HashEntry]]:
        """Return what each buffer holds on entry."""
        known = super().every_cell()
        stream = known["stream"]

        def state(entry: HashEntry, index: int) -> Lane | None:
            if index == COUNTER_CELL:
                return counter_block(self.terms, 0)
            return stream(entry, index)

        return {**known, "stream": state, "input": self.input_cell}

    def closes(self, entry: PieceEntry) -> bool:
        """Return whether text has to pad a begun block of AAD."""
        aad, phase = entry.before["aad_length"], entry.before["phase"]
        return phase == ASSOCIATED and place_of(aad) != 0

    # The begun block.

    def begun_written(self, entry: PieceEntry) -> bool:
        """Return whether the output for the begun block is complete."""
        if not entry.taken:
            return True
        lane = self._begun_output(entry)
        return lane is not None and self.terms.try_form(lane) == self._begun_text(entry)

    def _begun_output(self, entry: PieceEntry) -> Lane | None:
        memory, first = entry.machine.memory, -entry.room
        if any(first + k not in memory.written[self.out] for k in range(entry.taken)):
            return None
        self.terms.at = 0
        lane = memory.load(Pointer(self.out, first), entry.taken)
        assert isinstance(lane, int | Term)
        return lane

    def _begun_text(self, entry: PieceEntry) -> Form:
        """Return the piece's bytes in the begun block plus the kept keystream."""
        both = variable(INPUT) ^ variable(KEPT)
        return both.moves(((-8 * entry.place, (1 << 8 * entry.taken) - 1),), 8 * BLOCK_BYTES)

    # Cuts.

    def behind_begun(self, entry: PieceEntry, lanes: list[Term]) -> Kept | None:
        """Return what is kept for the blocks after the begun one."""
        kept = Crypt.carried(self, entry, lanes)
        if kept is None or not kept.lost:
            return kept
        first = BLOCK_BYTES * COUNTER_CELL
        places = range(first + COUNTER_BYTES.start, first + COUNTER_BYTES.stop)
        return replace(kept, lost={"stream": places})

    # The return.

    def check_rest(self, prover: Prover[HashEntry], entry: PieceEntry) -> None:
        """Compare the output, the counter block and the kept keystream.

        Raises:
            Refutation: one of them differs.
        """
        left = entry.numbers[self.number]
        assert isinstance(left, int)
        if entry.first and entry.taken:
            lane = self._begun_output(entry)
            if lane is None:
                raise Refutation(
                    Category.FUNCTION, "the begun block's bytes of the output are not written"
                )
            wanted = self._begun_text(entry)
            prover.compare(lane, wanted, "the begun block's part of the output")
        for j in range(1, -(-left // BLOCK_BYTES) + 1):
            self._check_block(prover, entry, j, min(BLOCK_BYTES, left - BLOCK_BYTES * (j - 1)))
        blocks = max(0, -(-left // BLOCK_BYTES))
        after = self.terms.form(counter_block(self.terms, blocks))
        self._cell(prover, entry, COUNTER_CELL, after, "the counter block")
        last = self.keystream.form(blocks) if blocks and left % BLOCK_BYTES else variable(KEPT)
        self._cell(prover, entry, KEPT_CELL, last, "the keystream that is kept")
        self._cell(prover, entry, MASK_CELL, variable(MASK), "E_K(J_0), in the state")
        self.kept(entry, range(PLACES["phase"] + NUMBER_BYTES, STREAM_BYTES))

    def _cell(
        self, prover: Prover[HashEntry], entry: PieceEntry, cell: int, wanted: Form, name: str
    ) -> None:
        self.terms.at = 0
        lane = entry.machine.memory.load(Pointer("stream", BLOCK_BYTES * cell), BLOCK_BYTES)
        prover.compare(lane, wanted, name)

    # Plans.

    def prove(self, prover: Prover[HashEntry], lengths: Iterable[int] | None) -> Shown:
        """Prove it for every piece, from every state, for two buffers and for one that is both.

        Raises:
            Refutation: it does not hold.
        """
        return Crypt.prove(self, prover, lengths)

    def courses(self) -> Sequence[PieceCourse]:
        """Return the states that a piece may come to: after text, then after AAD."""
        held = HELD["length"]
        any_aad = Affine(1, 0, 0, GREATEST_OTHER, HELD["aad_length"])
        text = [
            self.course({HELD["aad_length"]: any_aad, held: begun, HELD["phase"]: TEXT_BEGUN})
            for _, begun in residues(held, 1, GREATEST_TEXT)
        ]
        first = [
            self.course({HELD["aad_length"]: aad, held: 0, HELD["phase"]: ASSOCIATED})
            for _, aad in residues(HELD["aad_length"], 0, GREATEST_OTHER)
        ]
        return [*text, *first]

    def refusals(self) -> Iterator[Numbers]:
        """Yield the numbers of calls that are refused."""
        aad = Affine(1, 0, 0, GREATEST_OTHER, HELD["aad_length"])
        begun: Numbers = {HELD["aad_length"]: aad, HELD["phase"]: TEXT_BEGUN}
        yield too_long(begun, self.number, Affine(1, 0, 1, GREATEST_TEXT, HELD["length"]))
        yield too_long({**begun, HELD["phase"]: ASSOCIATED}, self.number, 0)
        yield from misplaced(self.number, NO_MESSAGE)


class EncryptMore(More, Encrypt):
    """encrypt_more: the ciphertext written is absorbed."""

    def next_cell(self, entry: HashEntry, index: int) -> Lane | None:
        """Return a block after the begun one."""
        return Encrypt.input_cell(self, entry, index)

    def named(self, entry: HashEntry, vectors: tuple[int, ...]) -> None:
        """Name the ciphertext after the begun block."""
        Encrypt.written(self, entry, vectors)

    def begun_block(self) -> Form:
        """Return the begun block as it is hashed, in memory order."""
        return variable(INPUT) ^ variable(KEPT)


class DecryptMore(More, Decrypt):
    """decrypt_more: the ciphertext read is absorbed."""

    def next_cell(self, entry: HashEntry, index: int) -> Lane | None:
        """Return a block after the begun one."""
        return Decrypt.input_cell(self, entry, index)

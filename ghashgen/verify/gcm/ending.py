"""What ends a message in pieces: `finish` writes its tag.

finish    X·H, if a block has begun; the tag (X + L)·H + E_K(J_0); 96 zeros
"""

from typing import ClassVar

from ghashgen.algebra.field.bitorder import BLOCK_BYTES
from ghashgen.algebra.ops.forms import variable
from ghashgen.verify.core.refutation import Category, Refutation
from ghashgen.verify.core.term import Term
from ghashgen.verify.core.values import Affine, Pointer
from ghashgen.verify.engine.prover import Prover
from ghashgen.verify.gcm.named import DONE
from ghashgen.verify.gcm.stream import (
    ASSOCIATED,
    MISPLACED,
    STREAM_BYTES,
    TEXT_BEGUN,
    Streamed,
)
from ghashgen.verify.gcm.table import LENGTHS, MASK
from ghashgen.verify.hash.entry import STATE, HashEntry


class Finish(Streamed):
    """finish: the tag of what has come, and a state of zeros."""

    takes: ClassVar[tuple[str, ...]] = ("table", "stream", "tag")

    def check(self, prover: Prover[HashEntry], entry: HashEntry) -> None:
        """Compare the status, the tag and the state.

        Raises:
            Refutation: one of them differs.
        """
        if self.held["phase"] not in (ASSOCIATED, TEXT_BEGUN):
            prover.check_result(entry, MISPLACED, "the status of what is no message")
            self.untouched(entry)
            return
        prover.check_result(entry, DONE, "the status")
        self.check_tag(prover, entry)
        if any(isinstance(v, Affine) for v, _ in entry.machine.memory.written["stream"].values()):
            raise Refutation(Category.FUNCTION, "the numbers of the state are not erased")
        for index in range(STREAM_BYTES // BLOCK_BYTES):
            zeros = self.terms.form(0)
            prover.check_cell(entry, "stream", zeros, f"byte {16 * index} of the state", index)

    def check_tag(self, prover: Prover[HashEntry], entry: HashEntry) -> None:
        """Compare the tag.

        Raises:
            Refutation: it differs.
        """
        memory, terms, algebra = entry.machine.memory, self.terms, self.naming.algebra
        if any(k not in memory.written["tag"] for k in range(BLOCK_BYTES)):
            raise Refutation(Category.FUNCTION, "the tag is not written")
        terms.at = 0
        lane = memory.load(Pointer("tag", 0), BLOCK_BYTES)
        assert isinstance(lane, int | Term)
        form = prover.form(lane, "the tag")
        last = self.held["length" if self.held["phase"] == TEXT_BEGUN else "aad_length"]
        begun = (last if isinstance(last, int) else last.offset) % BLOCK_BYTES
        blocks = 2 if begun else 1
        lengths, weights = self.lengths(), {STATE: 0}
        if isinstance(lengths, Term):
            weights[f"{LENGTHS}1"] = blocks - 1
        hashed = (form ^ variable(MASK)).moves(algebra.register, 8 * BLOCK_BYTES)
        grouped = self.naming.grouped(hashed, weights, weights)
        wanted = algebra.state({v: blocks - at for v, at in grouped.items()})
        if isinstance(lengths, int):
            wanted ^= algebra.multiple(lengths, 1)
        wanted = wanted.moves(algebra.memory, 8 * BLOCK_BYTES) ^ variable(MASK)
        prover.compare(lane, wanted, "the tag")

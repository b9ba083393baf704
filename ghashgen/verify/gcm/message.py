"""What seal and open share: what is kept between phases, and what is compared.

`named` defines a message and the names of its values. `phases` gives the order of proof.
"""

from collections.abc import Mapping
from dataclasses import replace

from ghashgen.algebra.field.bitorder import BLOCK_BYTES
from ghashgen.verify.core.kinds import NUMBER_LETTER
from ghashgen.verify.core.limits import REFUSED
from ghashgen.verify.core.refutation import Category, Refutation, unsupported
from ghashgen.verify.core.term import OPAQUE, RAW, Lane, Term
from ghashgen.verify.core.values import UndecidedError, Value
from ghashgen.verify.engine.cut import least, stored
from ghashgen.verify.engine.family import Kept
from ghashgen.verify.engine.prover import Prover
from ghashgen.verify.gcm.named import (
    GREATEST,
    IV_ALONE,
    LEAST,
    LETTERS,
    PARTIALS,
    MessageEntry,
    Named,
    blocks_of,
    greatest,
)
from ghashgen.verify.gcm.table import AAD, COUNTER, IV, MASK, NONCE, TEXT
from ghashgen.verify.hash.absorbing import absorbed
from ghashgen.verify.hash.entry import HashEntry
from ghashgen.verify.hash.naming import BLOCK
from ghashgen.verify.machine.memory import STACK
from ghashgen.verify.machine.target import VECTOR


class Message(Named):
    """What seal and open share."""

    # Cuts.

    def carried(self, entry: HashEntry, lanes: list[Term]) -> Kept | None:
        """Return the state, and functions of counters, of E_K(J_0) and of text ahead of the hash.

        All AAD is absorbed before any text. Hashed text must have been written, and be right.
        """
        assert isinstance(entry, MessageEntry)
        streams = [lane for lane in lanes if self._of_text(lane) or self._is_iv(entry, lane)]
        if entry.either or self.refused(entry) or any(lane.deps & RAW for lane in streams):
            return None
        if any(self._of_tag(lane) for lane in streams):
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
        if any(self._is_iv(entry, lane) for lane in streams):
            # No other IV comes here: no register need hold a length that stands for theirs.
            entry.held |= {"iv_length"}
        found: dict[Term, Lane] = {}
        for value in (*streams, *stored(entry)):
            lane = value if self._is_iv(entry, value) else self._after(value, blocks, whole)
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
        left = entry.numbers["iv_length"]
        if not entry.begun or left == 0:
            return self._absorbed_of_it(entry, lanes)
        # J_0 is known, so nothing of the IV is needed; some AAD may have been absorbed since.
        kept = self._absorbed_of_it(entry, lanes) if isinstance(left, int) else None
        if kept is None:
            return None
        assert isinstance(left, int)
        return replace(kept, done={**kept.done, "iv_length": left})

    def _absorbed_of_it(self, entry: MessageEntry, lanes: list[Term]) -> Kept | None:
        """Return what is kept where lanes depend on the IV, on AAD or on the text."""
        letters = {name[0] for lane in lanes for name in self.naming.variables.of(lane)}
        letters &= set(LETTERS.values())
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
        kept = absorbed(entry, self.naming, lanes, "aad_length", AAD, to_the_end=True)
        if kept is not None and len(entry.weights) == 1:
            (self.behind[entry.live],) = entry.weights.values()
        return kept

    def _begun(self, entry: MessageEntry) -> Kept | None:
        """Cut before anything is absorbed: if exactly one live register is 0, that is the state."""
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
            # It lacks as many products as the state that other runs bring here; for 0 any number is
            # right.
            entry.weights = {"Y0": self.behind.get(entry.live, 0)}
            return Kept({state: state})
        return Kept({})

    def steady(self, entry: MessageEntry) -> dict[str, Mapping[Value, Value]]:
        """Return totals, and the numbers that replace them."""
        out: dict[str, Mapping[Value, Value]] = {}
        for number in GREATEST:
            total = entry.totals[number]
            # A total is replaced by a number that may be one.
            inside = LEAST[number] <= least(total) and greatest(total) <= GREATEST[number]
            if number not in entry.held and inside:
                others = [n for k, n in entry.totals.items() if k not in {number, *entry.held}]
                # If another is equal, a register may hold either.
                out[number] = {} if total in others else {total: self.any_length[number]}
        return out

    def _is_iv(self, entry: MessageEntry, lane: Term) -> bool:
        """Return whether a value depends on a 96-bit IV only, and so stays as it is.

        For an IV that is hashed, the same variable is a block.
        """
        return not entry.hashed and self.naming.variables.of(lane) == IV_ALONE

    def _of_text(self, lane: Term) -> bool:
        names = self.naming.variables.of(lane)
        return any(name[0] in (IV, COUNTER, TEXT, MASK) for name in names)

    def _of_tag(self, lane: Term) -> bool:
        """Return whether E_K(J_0) has been added to something: no part of that can be forgotten."""
        names = self.naming.variables.of(lane)
        return MASK in names and len(names) > 1

    def _written_to(self, entry: HashEntry, j: int, present: int) -> bool:
        lane = self._block(entry, j, present)
        return lane is not None and self._is_right(entry, lane, j, present)

    def key(self, entry: HashEntry) -> object:
        """Return what was absorbed before each state, and the known totals."""
        assert isinstance(entry, MessageEntry)
        known = ((name, n) for name, n in entry.totals.items() if name not in entry.held)
        # It no longer matters which IVs have 96 bits once J_0 is known.
        return (
            tuple(entry.weights.items()),
            tuple(known),
            entry.begun or entry.hashed,
            entry.begun,
            entry.moved and "length" not in entry.held,
            entry.answer,
            entry.unwritten,
            entry.tagged,
        )

    # The return.

    def check(self, prover: Prover[HashEntry], entry: HashEntry) -> None:
        """Compare the status and the output.

        Raises:
            Refutation: it differs.
        """
        assert isinstance(entry, MessageEntry)
        if self.refused(entry):
            prover.check_result(entry, REFUSED, "the status of invalid lengths")
            for name, content in entry.machine.memory.written.items():
                if name != STACK and content:
                    raise Refutation(
                        Category.FUNCTION, f"{name} is written, though a length is refused"
                    )
            return
        if entry.either:
            raise UndecidedError("an IV of 96 bits for some values only")
        self.check_message(prover, entry)

    def refused(self, entry: MessageEntry) -> bool:
        """Return whether a length is invalid."""
        for number, most in GREATEST.items():
            total = self._total(entry, number)
            if least(total) > most or greatest(total) < LEAST[number]:
                return True
            if greatest(total) > most or least(total) < LEAST[number]:
                raise UndecidedError(f"a {number} that is refused for some values only")
        return False

    def check_message(self, prover: Prover[HashEntry], entry: MessageEntry) -> None:
        """Compare the results of a valid message."""
        raise NotImplementedError

    def check_text(self, prover: Prover[HashEntry], entry: MessageEntry) -> None:
        """Compare the rest of the output."""
        length = entry.numbers["length"]
        if not isinstance(length, int):
            raise unsupported("how much of a text is left is not known")
        for j in range(1, blocks_of(length) + 1):
            self._check_block(prover, entry, j, min(BLOCK_BYTES, length - BLOCK_BYTES * (j - 1)))

    def check_tag(self, prover: Prover[HashEntry], entry: MessageEntry) -> None:
        """Compare the tag.

        Raises:
            Refutation: it differs.
        """
        lane = prover.cell(entry, "tag", "the tag")
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

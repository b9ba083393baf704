"""The meaning of a message's next piece: AAD (`aad`) or text (`more`).

It may have any length, and come in any state. docs/gcm-streams.md defines it. p bytes of a block
came before. A piece of n bytes fills up to k = 16 - p of them (k = 0 if p = 0), and continues as
any text or AAD does:

    X   = X + B(p, the bytes), and X·H if the block is full then       variable W, its product apart
    X'  = X absorbed over what follows, a last partial block added and not multiplied

The bytes after the begun block begin at byte 0 of their buffer, and the piece enters k bytes before
that. So the begun block lies in the 16 bytes before, and the blocks after it are blocks 1, 2, … of
a piece of n - k bytes that began with a block. The 16 places of p are followed one by one, each
with the rest of the length so far unknown:

    p = 0    every n, by execution and induction
    p > 0    n <= k by execution; any other n by one run, to a state where p = 0 has led

If the sum exceeds the maximum, nothing is done. At the first cut all lengths in the state become
arbitrary: they have been compared by then, and are compared again at the return.
"""

import random
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import ClassVar

from ghashgen.algebra.field.bitorder import BLOCK_BYTES
from ghashgen.algebra.ops.forms import Form, variable
from ghashgen.verify.core.lengths import Claim
from ghashgen.verify.core.limits import DONE, REFUSED
from ghashgen.verify.core.refutation import Category, Refutation, unsupported
from ghashgen.verify.core.term import OPAQUE, RAW, Lane, Term
from ghashgen.verify.core.values import (
    Affine,
    Number,
    UndecidedError,
    combined,
    shift_number,
)
from ghashgen.verify.engine.behind import Behind, run_numbers
from ghashgen.verify.engine.cut import least, move_pointers, of_length
from ghashgen.verify.engine.family import Kept, Numbers
from ghashgen.verify.engine.induction import lead, prove_longer
from ghashgen.verify.engine.plans import Shown
from ghashgen.verify.engine.prover import Prover
from ghashgen.verify.gcm.begun import (
    ANY,
    BEGUN,
    HELD,
    INPUT,
    PieceCourse,
    PieceEntry,
    few,
    place_of,
)
from ghashgen.verify.gcm.named import GREATEST, greatest
from ghashgen.verify.gcm.stream import (
    MISPLACED,
    NUMBER_BYTES,
    NUMBERS,
    PLACES,
    STREAM_BYTES,
    TEXT_BEGUN,
    Streamed,
)
from ghashgen.verify.hash.entry import STATE, HashEntry
from ghashgen.verify.hash.naming import block_name
from ghashgen.verify.hash.operations import Update
from ghashgen.verify.machine.machine import Machine
from ghashgen.verify.machine.target import Abi

SAMPLE = 32
"""Pieces that the second line runs, in each direction."""


class Piece(Streamed, Update):
    """What AAD and text share."""

    holds_state = "stream"
    meetings = True
    repeats = False
    phases: ClassVar[tuple[int, ...]]
    """The phases in which a piece may come."""
    steps: ClassVar[bool]
    """Whether it is text: the counter and the keystream advance."""

    @property
    def most(self) -> int:
        """Return the maximum total of bytes."""
        return GREATEST[self.number]

    @property
    def source(self) -> str:
        """Return the buffer that is read."""
        return "input" if self.steps else "aad"

    # The entry.

    def entry(self, machine: Machine, abi: Abi, numbers: dict[str, Number]) -> PieceEntry:
        """Return the entry, with the begun block's bytes before the beginning of the buffers."""
        before = {name: numbers.pop(held) for name, held in HELD.items()}
        self.held = before
        for name, number in before.items():
            at = PLACES[name]
            machine.memory.written["stream"].update(
                {at + k: (number, k) for k in range(NUMBER_BYTES)}
            )
        entry = PieceEntry(machine, abi, numbers, before=before, length=numbers[self.number])
        if self.status(entry) != DONE:
            return entry
        entry.place = place_of(before[self.number])
        self._enter_before(entry)
        if entry.place:
            full = least(entry.length) >= entry.room
            entry.weights = {BEGUN: -1 if full else 0}
        else:
            entry.weights = {STATE: -1 if self.closes(entry) else 0}
        return entry

    def closes(self, entry: PieceEntry) -> bool:
        """Return whether text has to pad a begun block of AAD."""
        return False

    def _enter_before(self, entry: PieceEntry) -> None:
        """Let the buffers begin after the begun block."""
        room = entry.room
        if not room:
            return
        m, names = entry.machine, of_length(self, self.number)
        entry.numbers[self.number] = shift_number(entry.length, -room)
        for name in names:
            region = m.memory.regions[name]
            region.low, region.size = -room, entry.numbers[self.number]
        move_pointers(m, names, room)

    def status(self, entry: PieceEntry) -> int:
        """Return the call's correct status.

        Raises:
            UndecidedError: that depends on an unknown.
        """
        phase = entry.before["phase"]
        if phase not in self.phases:
            if isinstance(phase, Affine) and any(
                phase.least <= k <= phase.greatest for k in (1, 2)
            ):
                raise UndecidedError("a phase that may be one or another")
            return MISPLACED
        total = combined(entry.before[self.number], entry.length, 1)
        if least(total) > self.most:
            return REFUSED
        if greatest(total) > self.most:
            raise UndecidedError("a length that is refused for some values only")
        return DONE

    def input_cell(self, entry: HashEntry, index: int) -> Lane | None:
        """Return block `index` + 1 of the input, from 0 on."""
        if index == -1:
            return self.terms.variable(INPUT)
        return self.next_cell(entry, index)

    def next_cell(self, entry: HashEntry, index: int) -> Lane | None:
        """Return a block after the begun one."""
        raise NotImplementedError

    def work(self, entry: HashEntry) -> int:
        """Return how many blocks a run takes: none if the call is refused."""
        assert isinstance(entry, PieceEntry)
        return super().work(entry) if self.status(entry) == DONE else self.spec.blocks

    # Names.

    def written(self, entry: HashEntry, vectors: tuple[int, ...]) -> None:
        """Name X with the bytes of the begun block, and the blocks after it."""
        assert isinstance(entry, PieceEntry)
        if entry.first and entry.place:
            m = entry.machine
            for k in vectors:
                m.vec[k] = tuple(self._begun(entry, lane) for lane in m.vec[k])
        self.named(entry, vectors)

    def named(self, entry: HashEntry, vectors: tuple[int, ...]) -> None:
        """Name values after the begun block."""
        Update.written(self, entry, vectors)

    def _begun(self, entry: PieceEntry, lane: Lane) -> Lane:
        if not isinstance(lane, Term) or lane.deps & (RAW | OPAQUE):
            return lane
        names = self.naming.variables.of(lane)
        if STATE not in names or INPUT not in names:
            return lane
        wanted = variable(STATE) ^ self.absorbed_bytes(entry)
        return self.terms.variable(BEGUN) if self.terms.try_form(lane) == wanted else lane

    def absorbed_bytes(self, entry: PieceEntry) -> Form:
        """Return B(p, S) of the begun block, in a register."""
        ones = (1 << 8 * entry.taken) - 1 << 8 * entry.place
        return self.begun_block().mask(ones).moves(self.naming.algebra.register, 128)

    def begun_block(self) -> Form:
        """Return the begun block as it is hashed, in memory order."""
        return variable(INPUT)

    # Cuts.

    def carried(self, entry: HashEntry, lanes: list[Term]) -> Kept | None:
        """Return what is kept; after the first cut the state's old lengths are unknown."""
        assert isinstance(entry, PieceEntry)
        if self.status(entry) != DONE or (entry.first and not self._begun_right(entry)):
            return None
        kept = self.behind_begun(entry, lanes)
        if kept is None:
            return None
        kept = replace(kept, numbers={"stream": NUMBERS})
        if not entry.first:
            return kept
        entry.first = False
        memory = entry.machine.memory
        for at, anything in ANY.items():
            memory.written["stream"].update({at + k: (anything, k) for k in range(NUMBER_BYTES)})
        for name in of_length(self, self.number):
            memory.regions[name].low = 0
            written = memory.written[name]
            for k in [k for k in written if k < 0]:
                del written[k]
        return kept

    def behind_begun(self, entry: PieceEntry, lanes: list[Term]) -> Kept | None:
        """Return what is kept for the blocks after the begun one."""
        return super().carried(entry, lanes)

    def _begun_right(self, entry: PieceEntry) -> bool:
        """Return whether the begun block and the state's numbers are finished."""
        if least(entry.length) < max(entry.room, 1):
            return False
        return self._wrong_number(entry) is None and self.begun_written(entry)

    def begun_written(self, entry: PieceEntry) -> bool:
        """Return whether the output for the begun block is complete."""
        return True

    def numbers_after(self, entry: PieceEntry) -> dict[str, Number]:
        """Return the state's numbers after the call."""
        after = dict(entry.before)
        after[self.number] = combined(after[self.number], entry.length, 1)
        if self.steps:
            after["phase"] = TEXT_BEGUN
        if not entry.first:
            after |= {name: ANY[at] for name, at in PLACES.items() if at in ANY}
        return after

    def _wrong_number(self, entry: PieceEntry) -> str | None:
        """Return the first wrong number in the state, or None."""
        written = entry.machine.memory.written["stream"]
        for name, wanted in self.numbers_after(entry).items():
            at = PLACES[name]
            found = [written.get(at + k) for k in range(NUMBER_BYTES)]
            if any(one is None or one[0] != wanted or one[1] != k for k, one in enumerate(found)):
                return name
        return None

    def key(self, entry: HashEntry) -> object:
        """Return what was absorbed before each state; the state's numbers are in memory."""
        assert isinstance(entry, PieceEntry)
        return super().key(entry), entry.first

    # The return.

    def check(self, prover: Prover[HashEntry], entry: HashEntry) -> None:
        """Compare the status, the state and the output.

        Raises:
            Refutation: one of them differs.
        """
        assert isinstance(entry, PieceEntry)
        status = self.status(entry)
        prover.check_result(entry, status, "the status")
        if status != DONE or (entry.first and entry.length == 0):
            self.untouched(entry)
            return
        wrong = self._wrong_number(entry)
        if wrong is not None:
            raise Refutation(Category.FUNCTION, f"{HELD[wrong]}, in the state, is wrong")
        self.check_rest(prover, entry)
        left = entry.numbers[self.number]
        if not isinstance(left, int):
            raise unsupported("how much of a piece is left is not known")
        whole, part = divmod(max(left, 0), BLOCK_BYTES)
        blocks = {block_name(j + 1): j for j in range(whole + bool(part))}
        self.check_state(prover, entry, entry.weights | blocks, whole)

    def untouched(self, entry: HashEntry) -> None:
        """Require that nothing was written.

        Raises:
            Refutation: something was.
        """
        assert isinstance(entry, PieceEntry)
        self.held = entry.before
        super().untouched(entry)
        if any(entry.machine.memory.written[name] for name in of_length(self, self.number)):
            raise Refutation(Category.FUNCTION, "a text is written, though the call does nothing")

    def check_rest(self, prover: Prover[HashEntry], entry: PieceEntry) -> None:
        """Compare the rest of the state, beside X and the numbers. AAD changes nothing else."""
        self.kept(entry, range(BLOCK_BYTES, PLACES["aad_length"]))
        self.kept(entry, range(PLACES["phase"] + NUMBER_BYTES, STREAM_BYTES))

    def kept(self, entry: PieceEntry, places: Iterable[int]) -> None:
        """Require that bytes of the state were not written.

        Raises:
            Refutation: one was.
        """
        written = entry.machine.memory.written["stream"]
        for k in places:
            if k in written:
                raise Refutation(
                    Category.FUNCTION, f"byte {k} of the state is written, which stays as it was"
                )

    # Plans.

    def _every_length(
        self, prover: Prover[HashEntry], lengths: Iterable[int] | None, parts: int
    ) -> Shown:
        """Prove it for every piece, from every state.

        Raises:
            Refutation: it does not hold.
        """
        aligned, *others = self.courses()
        if lengths is not None:
            chosen = sorted(set(lengths))
            for course in (aligned, *others):
                for length in chosen:
                    prover.prove(course.numbers(length))
            return Shown(((f"{len(chosen)} chosen", "execution"),))
        alone: Prover[HashEntry] = Prover(
            prover.image, prover.statement, prover.function, cutting=False
        )
        try:
            for numbers in few(self.courses(), self.number, self.phases):
                alone.prove(numbers)
        finally:
            alone.meaning.terms.clear()
        for numbers in self.refusals():
            prover.prove(numbers)
        group = BLOCK_BYTES * self.gcm.blocks
        for length in (*range(group + 2 * BLOCK_BYTES), 2 * group, 3 * group):
            prover.prove(aligned.numbers(length))
        shown = prove_longer(prover, aligned)
        for course in others:
            room = -place_of(course.others[course.held]) % BLOCK_BYTES
            for length in range(room + 1):
                prover.prove(course.numbers(length))
            lead(prover, course, room + 1, aligned, room, shown)
        return Shown((("every piece, from every state", "induction"),), self._behind(prover))

    def courses(self) -> Sequence[PieceCourse]:
        """Return the states that a piece may come to, as inductions: the first is at place 0."""
        raise NotImplementedError

    def course(self, others: Numbers) -> PieceCourse:
        """Return the course of the pieces that may come to a state."""
        claim, group = Claim(1, self.most, self.number), BLOCK_BYTES * self.gcm.blocks
        return PieceCourse(claim, group, others, HELD[self.number])

    def refusals(self) -> Iterator[Numbers]:
        """Yield the numbers of refused calls: pieces that are too long, then wrong phases."""
        raise NotImplementedError

    def _behind(self, prover: Prover[HashEntry]) -> Behind:
        drawn = random.Random(prover.function.symbol)
        most = 2 * BLOCK_BYTES * self.gcm.blocks + 2 * BLOCK_BYTES
        courses = self.courses()
        sample = [drawn.choice(courses).numbers(drawn.randrange(most)) for _ in range(SAMPLE)]
        return run_numbers(prover, "piece", sample)

"""A message in pieces: the 96 bytes of its state, of every kind that a call may meet.

docs/gcm-streams.md gives the layout and the calls. On entry X, the counter block, E_K(J_0), the
keystream and the last 8 bytes are arbitrary. The lengths and the phase are public numbers in
memory, 8 bytes each. A state is *valid* if its phase is 1 and no text has come, or 2 and some has,
and both lengths are within SP 800-38D's limits. With any other phase it is no message, whatever it
holds.

A length modulo 16 gives the bytes in the begun block, so each of the 16 residues is followed
separately, with the rest of the length unknown.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, ClassVar

from ghashgen.algebra.field.bitorder import BLOCK_BYTES
from ghashgen.algebra.ops.forms import Form
from ghashgen.verify.core.kinds import NUMBER_LETTER
from ghashgen.verify.core.limits import EVERY, GREATEST_OTHER, GREATEST_TEXT
from ghashgen.verify.core.refutation import Category, Refutation
from ghashgen.verify.core.term import OPAQUE, RAW, Lane, Term
from ghashgen.verify.core.values import Affine, Number, Pointer, shift_left
from ghashgen.verify.engine.family import Buffer, Cell, E, Numbers, Parameter, Result
from ghashgen.verify.engine.plans import Shown
from ghashgen.verify.engine.prover import NO_NUMBERS, Prover
from ghashgen.verify.gcm.meaning import GcmMeaning
from ghashgen.verify.gcm.table import LENGTHS, MASK
from ghashgen.verify.hash.entry import STATE, HashEntry
from ghashgen.verify.machine.machine import Machine
from ghashgen.verify.machine.regions import Access
from ghashgen.verify.machine.target import Abi

if TYPE_CHECKING:
    from ghashgen.verify.gcm.spec import GcmFunction, GcmSpec

STREAM_BYTES = 96
"""Bytes of a state."""

PLACES = {"aad_length": 64, "length": 72, "phase": 80}
"""Offsets of its numbers in bytes."""

NUMBER_BYTES = 8

NUMBERS = range(PLACES["aad_length"], PLACES["phase"] + NUMBER_BYTES)
"""The bytes that they take."""

MASK_CELL = 2
"""Which 16 bytes are E_K(J_0); the first are X."""

OTHER = "O"
"""The letter of the variables of the other bytes."""

ASSOCIATED, TEXT_BEGUN = 1, 2
"""Phases: AAD may come; text has."""

KNOWN = ((5, 0, 1), (32, 0, 1), (5, 33, 2), (3, 16, 2), (16, 21, 2), (5, 7, 0), (5, 7, 3))
"""Some lengths of AAD and text, and phases."""

MISPLACED = 3
"""The return value if the phase is neither of the two."""


CELLS = ("X", "the counter block", "E_K(J_0)", "the keystream", "the block of numbers", "the phase")
"""The name of each 16 bytes."""


def check_cells(prover: Prover[E], entry: E, wanted: Sequence[Form]) -> None:
    """Compare the state that a call leaves with its definition, 16 bytes at a time.

    Raises:
        Refutation: they differ.
    """
    left = entry.machine.memory.written["stream"].values()
    if any(isinstance(value, Affine | Pointer) for value, _ in left):
        raise Refutation(Category.FUNCTION, "the state holds an argument or an address")
    for index, form in enumerate(wanted):
        name = f"{CELLS[index]}, byte {BLOCK_BYTES * index} of the state,"
        prover.check_cell(entry, "stream", form, name, index)


def residues(number: str, least: int, greatest: int) -> Iterator[tuple[int, Number]]:
    """Yield (residue, numbers) modulo 16 for the numbers from `least` to `greatest`."""
    for r in range(BLOCK_BYTES):
        low = -(-max(0, least - r) // BLOCK_BYTES)
        high = (greatest - r) // BLOCK_BYTES
        yield r, Affine(BLOCK_BYTES, r, low, high, number)


class Streamed(GcmMeaning):
    """What functions that continue from a state share."""

    returns = Result(32)
    claimed: ClassVar[str] = "every state"
    """The states that it is proved for, in words."""

    def __init__(self, spec: "GcmSpec", function: "GcmFunction", cutting: bool) -> None:
        self.held: dict[str, Number] = {}
        """The numbers in the state that is entered with."""
        super().__init__(spec, function, cutting)

    def every_parameter(self) -> dict[str, Parameter]:
        """Return all parameters by name."""
        return {**super().every_parameter(), "stream": Buffer(Access.UPDATE, STREAM_BYTES)}

    def every_cell(self) -> dict[str, Cell[HashEntry]]:
        """Return what each buffer holds on entry."""
        terms, memory = self.naming.terms, self.naming.algebra.memory

        def stream(entry: HashEntry, index: int) -> Lane:
            if index == 0:
                return terms.moves(terms.variable(STATE), memory)
            return terms.variable(MASK if index == MASK_CELL else f"{OTHER}{index}")

        return {**super().every_cell(), "stream": stream}

    def entry(self, machine: Machine, abi: Abi, numbers: dict[str, Number]) -> HashEntry:
        """Return the entry, with the numbers in the state."""
        machine.memory.written["stream"].update(self._stored())
        return super().entry(machine, abi, numbers)

    def _stored(self) -> dict[int, tuple[Number, int]]:
        places = [(PLACES[name], value) for name, value in self.held.items()]
        return {at + k: (value, k) for at, value in places for k in range(NUMBER_BYTES)}

    def untouched(self, entry: HashEntry) -> None:
        """Require that nothing was written.

        Raises:
            Refutation: something was.
        """
        written = entry.machine.memory.written
        if written["stream"] != self._stored() or written.get("tag"):
            raise Refutation(Category.FUNCTION, "something is written, though the call is refused")

    def written(self, entry: HashEntry, vectors: tuple[int, ...]) -> None:
        """Name the length block, in a register."""
        m = entry.machine
        for k in vectors:
            m.vec[k] = tuple(map(self._length_block, m.vec[k]))

    def _length_block(self, lane: Lane) -> Lane:
        if not isinstance(lane, Term) or lane.deps & (RAW | OPAQUE):
            return lane
        names = self.naming.variables.of(lane)
        if not names or any(name[0] != NUMBER_LETTER for name in names):
            return lane
        right = self.terms.try_form(lane) == self.terms.form(self.lengths())
        return self.terms.variable(f"{LENGTHS}1") if right else lane

    def lengths(self) -> Lane:
        """Return [8·aad_len]_64 ‖ [8·len]_64, in a register."""
        terms = self.terms
        lane: Lane = 0
        for place, name in enumerate(("aad_length", "length")):
            number = self.held[name]
            bits = 8 * number if isinstance(number, int) else shift_left(number, 3)
            half = terms.number(bits) if isinstance(bits, Affine) else bits
            order = tuple(range(NUMBER_BYTES - 1, -1, -1))
            sources = (*[-1] * NUMBER_BYTES * place, *order)
            padding = [-1] * (BLOCK_BYTES - len(sources))
            lane = terms.xor(lane, terms.bytes(half, (*sources, *padding)))
        return terms.moves(lane, self.naming.algebra.register)

    def prove(self, prover: Prover[HashEntry], lengths: Iterable[int] | None) -> Shown:
        """Prove it from every state, whatever lengths are chosen.

        Raises:
            Refutation: it does not hold.
        """
        for held in self.states():
            self.held = dict(held)
            with prover.judging(f"a state of {held}: "):
                for numbers in self.calls():
                    prover.prove(numbers)
        return Shown(((self.claimed, "execution"),))

    def calls(self) -> Sequence[Numbers]:
        """Return the numbers of all calls, from each state."""
        return (NO_NUMBERS,)

    def states(self) -> Iterator[Numbers]:
        """Yield the numbers of all states: valid ones, and those of no message.

        A few known ones come first, so that their faults are reported for what they are.
        """
        for known in KNOWN:
            yield dict(zip(PLACES, known, strict=True))
        for _, aad in residues("aad_length", 0, GREATEST_OTHER):
            yield {"aad_length": aad, "length": 0, "phase": ASSOCIATED}
        aad = Affine(1, 0, 0, GREATEST_OTHER, "aad_length")
        for _, text in residues("length", 1, GREATEST_TEXT):
            yield {"aad_length": aad, "length": text, "phase": TEXT_BEGUN}
        anything = {name: Affine(1, 0, 0, EVERY, name) for name in PLACES}
        yield {**anything, "phase": 0}
        yield {**anything, "phase": Affine(1, 0, TEXT_BEGUN + 1, EVERY, "phase")}

"""One function, one value of every length: follow the control flow and compare the result.

Every executed instruction is checked (memory, constant time), and the registers at the return (ABI,
wipe). A run ends early if its state after a cut equals one from which the rest has been proved. The
function's definition is its meaning (`ghashgen.verify.engine.family`).
"""

import copy
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Generic

from ghashgen.algebra.ops.forms import Form, Moves
from ghashgen.verify.core.refutation import Category, Difference, Refutation, unsupported
from ghashgen.verify.core.term import Lane, NotPolynomialError, Term
from ghashgen.verify.core.values import Affine, Number, Pointer, UndecidedError, reduced
from ghashgen.verify.engine.cut import CELL_BYTES, cut
from ghashgen.verify.engine.entry import enter
from ghashgen.verify.engine.family import E, Function, Meaning, Numbers, Statement
from ghashgen.verify.engine.resume import copied
from ghashgen.verify.machine.convention import check_frame, check_return
from ghashgen.verify.machine.flags import SecretCondition
from ghashgen.verify.machine.image import Image
from ghashgen.verify.machine.machine import END, Machine, Step
from ghashgen.verify.machine.memory import STACK
from ghashgen.verify.machine.wipe import check_wiped
from ghashgen.verify.x86_64.abi import ABIS, RESULT
from ghashgen.verify.x86_64.dataflow import address_guard, guard
from ghashgen.verify.x86_64.decoding import decode
from ghashgen.verify.x86_64.flow import Flow, flow_of
from ghashgen.verify.x86_64.machine import RSP, text_of
from ghashgen.verify.x86_64.rows.table import step_of

STEPS, STEPS_A_BLOCK = 5_000, 1_000
"""More instructions than any kernel needs for an executed length: STEPS, plus STEPS_A_BLOCK for
each of its blocks (`Meaning.work`).
"""

STACK_RESIDUES = (8, 24, 40, 56)
"""The residues modulo 64 of a stack pointer that is 8 modulo 16."""

NO_NUMBERS: Numbers = {}


def as_key(numbers: Numbers) -> frozenset[tuple[str, object]]:
    """Return numbers in hashable form."""
    return frozenset(numbers.items())


@dataclass
class Decoded:
    """One instruction, ready to run."""

    step: Step
    following: int
    guards: tuple[Callable[[Machine], None], ...]
    vectors: tuple[int, ...]
    cut: bool


@dataclass
class Prover(Generic[E]):
    """Proves one function; terms, forms and finished states are shared by all lengths."""

    image: Image
    statement: Statement
    function: Function
    cutting: bool = True
    """Whether loops are cut. If not, every length runs from its entry to its return."""
    meaning: Meaning[E] = field(init=False)
    flow: Flow = field(init=False)
    entry_address: int = field(init=False)
    finished: set[tuple[object, ...]] = field(default_factory=set)
    proved: set[frozenset[tuple[str, object]]] = field(default_factory=set)
    """Numbers executed from the entry, for every alignment of the stack."""
    executed: int = 0
    stack_align: tuple[int, int] = (16, 8)
    skip: Callable[[E, int], int] | None = None
    """Called before each instruction; returns the next one to execute (`stretches`). Unused while
    cutting.
    """
    begin: tuple[E, int] | None = None
    """A resumed run and its address; None: from the entry."""
    _decoded: dict[int, Decoded] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.meaning = self.statement.meaning(self.function, self.cutting)
        self.entry_address = self.image.symbol(self.function.symbol)
        saved = ABIS[self.statement.abi].saved_numbers
        self.flow = flow_of(self.image, self.entry_address, saved, self.meaning.meetings)

    @property
    def at(self) -> int:
        """The address of the current instruction."""
        return self.meaning.terms.at

    def prove(self, numbers: Numbers = NO_NUMBERS) -> None:
        """Prove the function for one value of each of its numbers.

        Raises:
            Refutation: a theorem does not hold.
        """
        with self.judging(numbers=numbers):
            self._prove_aligned(numbers)
            self.proved.add(as_key(numbers))

    @contextmanager
    def judging(self, what: str = "", numbers: Numbers = NO_NUMBERS) -> Iterator[None]:
        """Refuse what cannot be decided inside, as said of `what`.

        A refutation gets the function, the instruction and the numbers that it is about.

        Raises:
            Refutation: a theorem does not hold, or could not be established.
        """
        try:
            yield
        except (Refutation, UndecidedError) as error:
            open_question = unsupported(f"{what}{error}", self.at)
            refutation = error if isinstance(error, Refutation) else open_question
            refutation.symbol = self.function.symbol
            if refutation.at is not None and refutation.at in self.flow.instructions:
                refutation.instruction = text_of(self.flow.instructions[refutation.at])
            known = {k: n for k, n in numbers.items() if isinstance(n, int)}
            refutation.numbers = refutation.numbers or known
            raise refutation from None

    def _prove_aligned(self, numbers: Numbers) -> None:
        if self.begin is not None:
            # A resumed run keeps the alignment of its entry.
            self._prove_once(numbers)
            return
        if self.stack_align[0] == 16:
            try:
                self._prove_once(numbers)
                return
            except UndecidedError as error:
                if "known alignment" not in str(error):
                    raise
        for residue in STACK_RESIDUES:
            self.stack_align = (64, residue)
            self._prove_once(numbers)

    def _prove_once(self, numbers: Numbers) -> None:
        entry = self.start(numbers)
        keys: list[tuple[object, ...]] = []

        def at_cut(address: int) -> bool:
            key = self.cut(entry, address)
            if key is None:
                return False
            keys.append(key)
            return key in self.finished

        self._follow(entry, self.entry_address, at_cut)
        self.finished.update(keys)

    def _follow(self, entry: E, address: int, at_cut: Callable[[int], bool]) -> None:
        """Run to the return, or until `at_cut` says that the rest is known, and compare.

        A secret may decide a condition if the function's meaning says that it may become public
        whether it is 0. Both ways are then followed.
        """
        first = address if entry.resumed else None

        def beyond(at: int) -> bool:
            nonlocal first
            if at == first:
                # Cut before it was resumed here.
                first = None
                return False
            return at_cut(at)

        try:
            if self.run(entry, address, lambda at: beyond(at) or self._split(entry, at)):
                self.check_end(entry)
        except SecretCondition as asked:
            # At the condition, before any of its effects.
            address = self.at
            if asked.value is None or not self.meaning.may_be_known(self, entry, asked.value):
                raise
            for zero in (True, False):
                other = copied(entry)
                other.machine.flags = replace(other.machine.flags, zero=zero)
                self.meaning.answered(self, other, zero)
                key = self.cut(other, address) if self.cutting and self.meaning.cuts else None
                if key not in self.finished:
                    self.resumed(other, address)
                if key is not None:
                    self.finished.add(key)

    def _split(self, entry: E, address: int) -> bool:
        """Prove the rest of a run by cases if the meaning asks for it; return whether it did."""
        if entry.resumed or not (cases := self.meaning.cases(entry)):
            return False
        unknown, numbers = cases
        for number in numbers:
            other = copied(entry, unknown, number)
            other.resumed = True
            self.resumed(other, address)
        return True

    def resumed(self, entry: E, address: int) -> None:
        """Prove the rest of a run from here, by induction if the meaning has one for it."""
        again = copy.copy(self)
        again.begin, again.proved = (entry, address), set()
        again.entry_address = address
        if not self.cutting or not self.meaning.continued(again, entry):
            again._prove_once(NO_NUMBERS)
        self.executed = again.executed

    def start(self, numbers: Numbers = NO_NUMBERS) -> E:
        """Return the machine at the function's entry, or at the point of a resumed run."""
        if self.begin is not None:
            entry = copied(self.begin[0])
            for unknown, number in numbers.items():
                entry = copied(entry, unknown, number)
            return entry
        return enter(
            self.image, self.statement, self.function, self.meaning, numbers, self.stack_align
        )

    def cut(self, entry: E, address: int) -> tuple[object, ...] | None:
        """Cut a run; return what determines the rest of it, or None if it cannot be cut there."""
        key = cut(entry, self.meaning, self.flow, address)
        return None if key is None else (*key, self.stack_align)

    def _decode(self, address: int) -> Decoded:
        known = self._decoded.get(address)
        if known is None:
            instruction = self.flow.instructions.get(address) or decode(self.image, address)
            try:
                step = step_of(instruction)
            except Refutation as refutation:
                refutation.at = address
                raise
            known = Decoded(
                step,
                int(instruction.next_ip),
                tuple(g for g in (address_guard(instruction), guard(instruction)) if g),
                self.flow.vector_writes.get(address, ()),
                address in self.flow.cuts,
            )
            self._decoded[address] = known
        return known

    def run(self, entry: E, address: int, at_cut: Callable[[int], bool]) -> bool:
        """Execute until the return (True) or until `at_cut` says to stop (False)."""
        m, meaning = entry.machine, self.meaning
        terms, written = meaning.terms, meaning.written
        cuts = self.cutting and meaning.cuts
        terms.settle = lambda term: meaning.settle(entry, term)
        stack_pointer = m.gpr[RSP]
        decoded = self._decoded
        limit = STEPS + STEPS_A_BLOCK * meaning.work(entry)
        skip = None if self.cutting else self.skip
        for _ in range(limit):
            if skip is not None:
                address = skip(entry, address)
            now = decoded.get(address) or self._decode(address)
            if now.cut and cuts and at_cut(address):
                return False
            terms.at = address
            for check in now.guards:
                check(m)
            following = now.step(m)
            self.executed += 1
            if m.gpr[RSP] is not stack_pointer:
                stack_pointer = m.gpr[RSP]
                if not isinstance(stack_pointer, Pointer) or stack_pointer.region != STACK:
                    raise unsupported("the stack pointer leaves the stack", address)
                check_frame(m)
                if following != END:
                    m.memory.release()
            if now.vectors:
                written(entry, now.vectors)
            if following == END:
                return True
            address = now.following if following is None else following
        raise unsupported(f"no end after {limit} instructions", address)

    def check_end(self, entry: E) -> None:
        """Compare what the function has left with its definition.

        Raises:
            Refutation: it differs.
        """
        m, at = entry.machine, self.at
        check_return(entry.abi, m, entry.gpr, entry.vec)
        entry.judged = False
        self.meaning.check(self, entry)
        returns = self.meaning.returns
        if entry.judged != (returns is not None):
            raise unsupported("the returned number is wrong", at)
        if self.statement.wipe:
            self.meaning.terms.at = at
            check_wiped(m, returns.bits if returns else 0)

    def check_result(self, entry: E, wanted: Form | Number, name: str) -> None:
        """Compare the returned number with its definition.

        A form gives its bits, and only the number's own bits count. Anything else is a public
        number.

        Raises:
            Refutation: they differ.
        """
        returns, value = self.meaning.returns, entry.machine.gpr[RESULT]
        if returns is None:
            raise unsupported("a result of a function that returns nothing", self.at)
        entry.judged = True
        wrong = Refutation(Category.FUNCTION, f"{name} is wrong", at=self.at)
        if isinstance(wanted, Form):
            if not isinstance(value, int | Term):
                raise wrong
            keep = (1 << returns.bits) - 1
            low = self.meaning.terms.moves(value, ((0, keep),))
            self.compare(low, wanted.mask(keep), name)
            return
        bits = returns.bits
        if isinstance(value, Term):
            # A written byte clears what was forgotten above it.
            try:
                self.meaning.terms.form(value)
            except NotPolynomialError as error:
                wrong.message += f": it depends on {error.reason}"
        if not isinstance(value, int | Affine) or reduced(value, bits) != reduced(wanted, bits):
            raise wrong

    def check_cell(
        self,
        entry: E,
        buffer: str,
        wanted: Form,
        name: str,
        index: int = 0,
        moves: Moves | None = None,
    ) -> None:
        """Compare 16 bytes of a buffer with their definition. All of them must be written.

        `moves` is applied to the memory content first.

        Raises:
            Refutation: they differ.
        """
        lane = self.cell(entry, buffer, name, index)
        moved = lane if moves is None else self.meaning.terms.moves(lane, moves)
        self.compare(moved, wanted, name)

    def cell(self, entry: E, buffer: str, name: str, index: int = 0) -> Lane:
        """Return 16 bytes of a buffer. All of them must be written.

        Raises:
            Refutation: one is not.
        """
        memory, first = entry.machine.memory, CELL_BYTES * index
        if any(first + k not in memory.written[buffer] for k in range(CELL_BYTES)):
            raise Refutation(Category.FUNCTION, f"{name} is not written")
        self.meaning.terms.at = 0
        lane = memory.load(Pointer(buffer, first), CELL_BYTES)
        assert isinstance(lane, int | Term)
        return lane

    def form(self, lane: Lane, name: str) -> Form:
        """Return the polynomials of a value.

        Raises:
            Refutation: it has none.
        """
        try:
            return self.meaning.terms.form(lane)
        except NotPolynomialError as error:
            raise Refutation(
                Category.FUNCTION, f"{name} depends on {error.reason}", at=error.at
            ) from None

    def compare(self, lane: object, wanted: Form, name: str) -> None:
        """Compare a value with its definition.

        Raises:
            Refutation: they differ.
        """
        assert isinstance(lane, int | Term)
        got = self.form(lane, name)
        if got != wanted:
            difference = Difference(self.meaning, lane, got, wanted, self.flow.instructions)
            raise Refutation(Category.FUNCTION, f"{name} is wrong", difference=difference)

"""What the functions of a GHASH or POLYVAL kernel mean, one class per operation."""

from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar

from ghashgen.algebra.field.bitorder import BLOCK_BYTES
from ghashgen.algebra.ops.forms import Form, variable
from ghashgen.verify.core.lengths import Claim
from ghashgen.verify.core.limits import GREATEST_LENGTH
from ghashgen.verify.core.refutation import Category, Refutation, unsupported
from ghashgen.verify.core.term import RAW, Lane, Term, deps_of
from ghashgen.verify.core.values import Number, Pointer, UndecidedError, Value
from ghashgen.verify.core.variables import rebuilt
from ghashgen.verify.engine.behind import run_again
from ghashgen.verify.engine.cut import least
from ghashgen.verify.engine.family import Cell, Kept, Meaning, Parameter
from ghashgen.verify.engine.induction import Course
from ghashgen.verify.engine.plans import Shown, every_length, once
from ghashgen.verify.engine.prover import Prover
from ghashgen.verify.hash.absorbing import absorbed
from ghashgen.verify.hash.entries import Algebra
from ghashgen.verify.hash.entry import ADDEND, FACTOR, STATE, HashEntry, cells, parameters
from ghashgen.verify.hash.exponents import EXPONENT_BITS, exponents
from ghashgen.verify.hash.naming import PARTIAL, Naming, block_name
from ghashgen.verify.hash.otherwise import otherwise
from ghashgen.verify.hash.power import EXECUTED, EXPONENTS, prove_power
from ghashgen.verify.hash.totals import any_total
from ghashgen.verify.machine.machine import Machine
from ghashgen.verify.machine.target import Abi

if TYPE_CHECKING:
    from ghashgen.verify.hash.spec import FunctionSpec, KernelSpec


class HashMeaning(Meaning[HashEntry]):
    """What all operations share: the bit order, the table, the buffers' content."""

    takes: ClassVar[tuple[str, ...]]
    """The parameters, in the order of this package's own interface."""

    def __init__(self, spec: "KernelSpec", function: "FunctionSpec", cutting: bool) -> None:
        self.spec, self.function, self.cutting = spec, function, cutting
        self.naming = self.names()
        self.terms = self.naming.terms
        every = self.every_parameter()
        self.parameters = {name: every[name] for name in function.parameters}
        self._cells = self.every_cell()

    def names(self) -> Naming:
        """Return an empty pool of terms, and its recogniser of values."""
        return Naming(Algebra(self.spec.order, self.spec.op))

    def every_parameter(self) -> dict[str, Parameter]:
        """Return all parameters by name."""
        return parameters(self.spec, self.function)

    def every_cell(self) -> dict[str, Cell[HashEntry]]:
        """Return what each buffer holds on entry."""
        return cells(self.spec, self.naming)

    def entry(self, machine: Machine, abi: Abi, numbers: dict[str, Number]) -> HashEntry:
        """Return the entry: nothing has been absorbed."""
        return HashEntry(machine, abi, numbers)

    def cell(self, buffer: str) -> Cell[HashEntry]:
        """Return what a buffer holds on entry."""
        return self._cells[buffer]

    def work(self, entry: HashEntry) -> int:
        """Return the blocks of a group: a run is cut after that many, or has no more."""
        return self.spec.blocks

    def prove(self, prover: Prover[HashEntry], lengths: Iterable[int] | None) -> Shown:
        """Prove it once: most functions have no numeric parameter.

        Raises:
            Refutation: it does not hold.
        """
        return once(prover)

    def named_powers(self, m: Machine, vectors: tuple[int, ...]) -> None:
        """Name powers of H in vector registers."""
        for k in vectors:
            m.vec[k] = tuple(self.naming.power(lane) for lane in m.vec[k])


class Init(HashMeaning):
    """init: the table of a hash subkey. Its loops are executed, once for every kernel."""

    takes: ClassVar[tuple[str, ...]] = ("table", "subkey")

    def written(self, entry: HashEntry, vectors: tuple[int, ...]) -> None:
        """Name powers of H as soon as they are computed."""
        self.named_powers(entry.machine, vectors)

    def check(self, prover: Prover[HashEntry], entry: HashEntry) -> None:
        """Compare every cell of the table with its definition.

        Raises:
            Refutation: they differ.
        """
        terms = self.terms
        for index, cell in enumerate(self.spec.cells):
            if cell is None:
                continue
            kind, power = cell
            name = f"table entry {kind} of H^{power}" if power else "a table entry of zeros"
            wanted = terms.form(terms.entry(kind, power)) if power else Form(8 * BLOCK_BYTES)
            prover.check_cell(entry, "table", wanted, name, index)


class Combine(HashMeaning):
    """combine: state = state·factor + addend, the factor as a hash subkey."""

    takes = ("state", "addend", "factor")

    def check(self, prover: Prover[HashEntry], entry: HashEntry) -> None:
        """Compare the state.

        Raises:
            Refutation: it differs.
        """
        algebra = self.naming.algebra
        wanted = algebra.product(STATE, FACTOR) ^ variable(ADDEND)
        prover.check_cell(entry, "state", wanted, "the state", moves=algebra.register)


class Power(HashMeaning):
    """power: result = H^exponent for every exponent below 2^64, in the form of the hash subkey."""

    takes = ("table", "result", "exponent")
    cuts = True

    def work(self, entry: HashEntry) -> int:
        """Return the bits of an exponent, if no loop is cut."""
        return self.spec.blocks if self.cutting else max(self.spec.blocks, EXPONENT_BITS)

    def written(self, entry: HashEntry, vectors: tuple[int, ...]) -> None:
        """Name powers of H, unless the loop is cut into turns from an arbitrary factor."""
        if not self.cutting:
            self.named_powers(entry.machine, vectors)

    def check(self, prover: Prover[HashEntry], entry: HashEntry) -> None:
        """Compare the result with the expected one, by default H^exponent.

        Raises:
            Refutation: it differs.
        """
        algebra, wanted, m = self.naming.algebra, entry.result, entry.numbers["exponent"]
        if wanted is None:
            if not isinstance(m, int) or not m:
                raise unsupported("power: no exponent with a known result")
            wanted = algebra.power_result(variable(f"B{m}"))
        prover.check_cell(entry, "result", wanted, "the power", moves=algebra.register)

    def prove(self, prover: Prover[HashEntry], lengths: Iterable[int] | None) -> Shown:
        """Prove it for every exponent; `lengths` has no effect.

        Raises:
            Refutation: it does not hold.
        """
        prove_power(prover, self.naming, EXPONENTS)
        numbers = exponents(EXPONENTS, EXECUTED, self.function.symbol)
        behind = run_again(prover, Course(EXPONENTS, 1), numbers)
        ranges = (f"m = 0..{EXECUTED - 1}", f"m = {EXPONENTS.text(EXECUTED)}")
        return Shown(tuple(zip(ranges, ("execution", "induction"), strict=True)), behind)


class Mul(HashMeaning):
    """mul: state = state·H."""

    takes: ClassVar[tuple[str, ...]] = ("table", "state")
    holds_state: ClassVar[str] = "state"
    """The buffer whose first 16 bytes are the state."""

    def __init__(self, spec: "KernelSpec", function: "FunctionSpec", cutting: bool) -> None:
        super().__init__(spec, function, cutting)
        self._compared: set[tuple[Value, frozenset[tuple[str, int]]]] = set()
        """States found equal to their definition; equal terms are one object."""

    def check(self, prover: Prover[HashEntry], entry: HashEntry) -> None:
        """Compare the state.

        Raises:
            Refutation: it differs.
        """
        self.check_state(prover, entry, dict(entry.weights), 1)

    def check_state(
        self, prover: Prover[HashEntry], entry: HashEntry, weights: dict[str, int], blocks: int
    ) -> None:
        """Compare the state with the sum that `weights` gives, after `blocks` blocks.

        Raises:
            Refutation: it differs.
        """
        naming = self.naming
        naming.terms.at = 0
        register: Value = entry.machine.memory.load(Pointer(self.holds_state, 0), BLOCK_BYTES)
        if isinstance(register, Term):
            register = naming.terms.moves(register, naming.algebra.register)
        if isinstance(register, Term):
            form = prover.form(register, "the state")
            if PARTIAL in naming.made_of(form):
                raise Refutation(
                    Category.FUNCTION, "the last partial block is not the padded input bytes"
                )
            weights = dict(naming.grouped(form, weights, entry.weights))
        expected = {v: blocks - at for v, at in weights.items()}
        if min(expected.values()) < 0:
            raise unsupported("a state that is ahead of the input")
        compared = (register, frozenset(expected.items()))
        if compared not in self._compared:
            prover.compare(register, naming.algebra.state(expected), "the state")
            self._compared.add(compared)


class Update(Mul):
    """update: the state after a message of any length, its last block padded with zeros."""

    takes: ClassVar[tuple[str, ...]] = ("table", "state", "input", "length")
    number: ClassVar[str] = "length"
    """The parameter that holds the message's length."""
    cuts = True
    any_total = False
    """Whether a loop lets the passed length be any with the same rest (`totals`)."""

    def work(self, entry: HashEntry) -> int:
        """Return the blocks of a group, or of the message if no loop is cut."""
        length = entry.numbers[self.number]
        if self.cutting or not isinstance(length, int):
            return self.spec.blocks
        return max(self.spec.blocks, EXPONENT_BITS, length // BLOCK_BYTES)

    def written(self, entry: HashEntry, vectors: tuple[int, ...]) -> None:
        """Name the last block: in memory it may still consist of overlapping loads."""
        if not entry.raw:
            return
        m = entry.machine
        for k in vectors:
            lanes = m.vec[k]
            if deps_of(*lanes) & RAW:
                m.vec[k] = tuple(
                    self._padded(entry, lane, ("register",)) if isinstance(lane, Term) else lane
                    for lane in lanes
                )

    def settle(self, entry: HashEntry, term: Term) -> Lane:
        """Name the last block once it is padded; until then leave its bytes as they are."""
        return self._padded(entry, term, ("memory", "register"))

    def _padded(self, entry: HashEntry, term: Term, forms: tuple[str, ...]) -> Lane:
        length = entry.numbers[self.number]
        if not isinstance(length, int):
            return term
        number, present = divmod(length, BLOCK_BYTES)
        named = self.padded(term, present, number + 1, forms)
        if named is not term or "memory" not in forms or not term.deps & RAW:
            return named
        # Karatsuba's A0 + A1 is not the block, but is computed from it.
        if not self.terms.kinds[term.op].linear:
            return term
        parts = (self.settle(entry, a) if isinstance(a, Term) else a for a in term.args)
        return rebuilt(self.terms, term, *parts)

    def padded(self, term: Term, present: int, number: int, forms: tuple[str, ...]) -> Lane:
        """Return the name of the last block if the term is it, zero-padded; otherwise the term."""
        return self.naming.padded(term, present, block_name(number), forms)

    def carried(self, entry: HashEntry, lanes: list[Term]) -> Kept | None:
        """Return the accumulators, and functions of the input ahead."""
        if self._in_last_block(entry):
            return None
        kept = absorbed(entry, self.naming, lanes, self.number)
        if kept is None or not self.any_total:
            return kept
        group = BLOCK_BYTES * self.spec.blocks
        return replace(
            kept, steady={"length": any_total(entry, self.function, group, GREATEST_LENGTH)}
        )

    def _in_last_block(self, entry: HashEntry) -> bool:
        """Return whether only a last block is left, and some of its bytes are copied already.

        Such a loop is executed: a cut would forget them.
        """
        left = entry.numbers[self.number]
        if not entry.raw or not isinstance(left, int) or left >= BLOCK_BYTES:
            return False
        m = entry.machine
        copied = (value for content in m.memory.written.values() for value, _ in content.values())
        return any(deps_of(value) & RAW for value in (*m.gpr, *copied))

    def key(self, entry: HashEntry) -> object:
        """Return what has been absorbed before each state."""
        return tuple(entry.weights.items())

    def check(self, prover: Prover[HashEntry], entry: HashEntry) -> None:
        """Compare the state.

        Raises:
            Refutation: it differs.
        """
        length = entry.numbers["length"]
        assert isinstance(length, int)
        blocks = -(-length // BLOCK_BYTES)
        weights = entry.weights | {block_name(k + 1): k for k in range(blocks)}
        self.check_state(prover, entry, weights, blocks)

    def prove(self, prover: Prover[HashEntry], lengths: Iterable[int] | None) -> Shown:
        """Prove it for every length; 0 to (2·blocks + 1)·16 + 15 bytes are executed.

        Raises:
            Refutation: it does not hold.
        """
        step, group = self.function.length_multiple, BLOCK_BYTES * self.spec.blocks
        executed = range(0, 2 * group + 2 * BLOCK_BYTES, step)
        course = Course(Claim(step, GREATEST_LENGTH, "length"), group)
        try:
            return every_length(prover, course, executed, lengths)
        except Refutation as refutation:
            if lengths is not None:
                raise
            return otherwise(prover, course, executed, refutation)


class Column(Update):
    """column: the state after the first block of every row, for a message of whole rows.

    A row is `length_multiple` bytes long. The bytes between the blocks may not be read.
    """

    def every_cell(self) -> dict[str, Cell[HashEntry]]:
        """Return what each buffer holds on entry: of the input, the first block of each row."""
        return {**super().every_cell(), "input": self._first_of_row}

    def _first_of_row(self, entry: HashEntry, index: int) -> Lane | None:
        row, between = divmod(index, self.function.length_multiple // BLOCK_BYTES)
        if between:
            return None
        # Rows are whole: the length must tell whether this is the last one.
        if self.function.length_multiple * (row + 1) > least(entry.numbers[self.number]):
            raise UndecidedError("a row that exists for some lengths only")
        return self.terms.moves(
            self.terms.variable(block_name(row + 1)), self.naming.algebra.memory
        )

    def carried(self, entry: HashEntry, lanes: list[Term]) -> Kept | None:
        """Return the accumulators, and functions of the rows ahead."""
        apart = self.function.length_multiple
        return absorbed(entry, self.naming, lanes, self.number, apart=apart)

    def check(self, prover: Prover[HashEntry], entry: HashEntry) -> None:
        """Compare the state.

        Raises:
            Refutation: it differs.
        """
        length = entry.numbers[self.number]
        assert isinstance(length, int)
        rows = length // self.function.length_multiple
        weights = entry.weights | {block_name(k + 1): k for k in range(rows)}
        self.check_state(prover, entry, weights, rows)

    def prove(self, prover: Prover[HashEntry], lengths: Iterable[int] | None) -> Shown:
        """Prove it for every number of rows; those up to two groups and one are executed.

        Raises:
            Refutation: it does not hold.
        """
        row = self.function.length_multiple
        if row < BLOCK_BYTES:
            raise unsupported("column: rows that are not whole blocks")
        group = row * self.spec.blocks
        claim = Claim(row, GREATEST_LENGTH, "length")
        return every_length(
            prover, Course(claim, group), range(0, 2 * group + 2 * row, row), lengths
        )


OPERATIONS: dict[str, type[HashMeaning]] = {
    "init": Init,
    "mul": Mul,
    "update": Update,
    "column": Column,
    "power": Power,
    "combine": Combine,
}


def meaning_of(spec: "KernelSpec", function: "FunctionSpec", cutting: bool) -> Meaning[Any]:
    """Return what a function of a kernel means."""
    return OPERATIONS[function.operation](spec, function, cutting)

"""One function, one length: follow the control flow and compare the result with GHASH.

Every instruction executed is checked on the way (memory, constant time) and the registers at the
return (ABI, wipe). A run ends early where its machine state after a cut equals one from which the
rest has been proved already.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

from ghashgen.algebra.field.bitorder import BLOCK_BYTES
from ghashgen.algebra.ops.forms import Form, variable
from ghashgen.verify.core.refutation import Category, Difference, Refutation, unsupported
from ghashgen.verify.core.term import RAW, Lane, NotPolynomialError, Term
from ghashgen.verify.core.values import Number, Pointer, UndecidedError, Value
from ghashgen.verify.core.variables import rebuilt
from ghashgen.verify.hash.cut import cut
from ghashgen.verify.hash.entries import Algebra
from ghashgen.verify.hash.naming import PARTIAL, Naming, block_name
from ghashgen.verify.hash.setup import ADDEND, FACTOR, STATE, Entry, enter
from ghashgen.verify.hash.spec import FunctionSpec, KernelSpec
from ghashgen.verify.x86_64.abi import ABIS, check_frame, check_return
from ghashgen.verify.x86_64.dataflow import address_guard, guard
from ghashgen.verify.x86_64.decoding import decode
from ghashgen.verify.x86_64.elf import Image
from ghashgen.verify.x86_64.flow import Flow, flow_of
from ghashgen.verify.x86_64.machine import END, RSP, Machine, Step, text_of
from ghashgen.verify.x86_64.memory import STACK
from ghashgen.verify.x86_64.rows.table import step_of
from ghashgen.verify.x86_64.wipe import check_wiped

BLOCK_BITS = 128

CUT = ("update", "power")
"""The operations whose loops are cut; init's are run as they are, once for every kernel."""

EXPONENT_BITS = 64
"""Bits of power's exponent."""

STEPS, STEPS_A_BLOCK = 5_000, 1_000
"""More instructions than any kernel needs for a length that is executed: so many, plus so many for
each block of a group."""

STACK_RESIDUES = (8, 24, 40, 56)
"""What 8 modulo 16 leaves open modulo 64."""


@dataclass
class Decoded:
    """One instruction, ready to run."""

    step: Step
    following: int
    guards: tuple[Callable[[Machine], None], ...]
    vectors: tuple[int, ...]
    cut: bool


@dataclass
class Prover:
    """Proves one function; terms, forms and finished states are shared by all lengths."""

    image: Image
    spec: KernelSpec
    function: FunctionSpec
    naming: Naming = field(init=False)
    flow: Flow = field(init=False)
    entry_address: int = field(init=False)
    finished: set[tuple[object, ...]] = field(default_factory=set)
    proved: set[int] = field(default_factory=set)
    """Lengths executed from the entry, whatever the stack's alignment."""
    executed: int = 0
    stack_align: tuple[int, int] = (16, 8)
    cutting: bool = True
    """Whether loops are cut; without, every length runs from its entry to its return."""
    skip: Callable[[Entry, int], int] | None = None
    """Asked before each instruction for the next to execute (`stretches`); not while cutting."""
    _decoded: dict[int, Decoded] = field(default_factory=dict)
    _compared: set[tuple[Value, frozenset[tuple[str, int]]]] = field(default_factory=set)
    """States found equal to their definition; equal terms are one object."""

    def __post_init__(self) -> None:
        self.naming = Naming(Algebra(self.spec.order, self.spec.op))
        self.entry_address = self.image.symbol(self.function.symbol)
        saved = ABIS[self.spec.abi].saved_numbers
        self.flow = flow_of(self.image, self.entry_address, saved)

    def prove(self, length: int = 0) -> None:
        """Prove the function for one length in bytes (init and mul have none).

        Raises:
            Refutation: a theorem does not hold.
        """
        try:
            self._prove_aligned(length)
            self.proved.add(length)
        except Refutation as refutation:
            if self.function.operation == "update":
                refutation.length = length
            raise self.named(refutation) from None

    def prove_exponent(self, m: int) -> None:
        """Prove power for one exponent above 0, from entry to return; not while cutting.

        Raises:
            Refutation: a theorem does not hold.
        """
        assert not self.cutting
        try:
            entry = self.start(0, m)
            self.run(entry, self.entry_address, lambda address: False)
            self.check_end(entry, self.naming.algebra.power_result(variable(f"B{m}")))
        except UndecidedError as error:
            raise self.named(unsupported(str(error), self.naming.terms.at)) from None
        except Refutation as refutation:
            refutation.exponent = m
            raise self.named(refutation) from None

    def named(self, refutation: Refutation) -> Refutation:
        """Return a refutation with the function and the instruction that it is about."""
        refutation.symbol = self.function.symbol
        if refutation.at is not None and refutation.at in self.flow.instructions:
            refutation.instruction = text_of(self.flow.instructions[refutation.at])
        return refutation

    def _prove_aligned(self, length: int) -> None:
        if self.stack_align[0] == 16:
            try:
                self._prove_once(length)
                return
            except UndecidedError as error:
                if "known alignment" not in str(error):
                    raise unsupported(str(error), self.naming.terms.at) from None
        for residue in STACK_RESIDUES:
            self.stack_align = (64, residue)
            try:
                self._prove_once(length)
            except UndecidedError as error:
                raise unsupported(str(error), self.naming.terms.at) from None

    def _prove_once(self, length: int) -> None:
        entry = self.start(length)
        keys: list[tuple[object, ...]] = []

        def at_cut(address: int) -> bool:
            key = cut(entry, self.naming, self.flow, address)
            if key is None:
                return False
            key = (*key, self.stack_align)
            keys.append(key)
            return key in self.finished

        if self.run(entry, self.entry_address, at_cut):
            self.check_end(entry)
        self.finished.update(keys)

    def start(self, length: Number, exponent: Number = 0) -> Entry:
        """Return the machine at the function's entry."""
        return enter(
            self.image, self.spec, self.function, self.naming, length, self.stack_align, exponent
        )

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

    def run(self, entry: Entry, address: int, at_cut: Callable[[int], bool]) -> bool:
        """Execute until the return (True) or until `at_cut` says to stop (False)."""
        m, terms = entry.machine, self.naming.terms
        operation = self.function.operation
        cuts = self.cutting and operation in CUT
        names = operation == "init" or (operation == "power" and not self.cutting)
        terms.settle = lambda term: self._settle(entry, term)
        stack_pointer = m.gpr[RSP]
        decoded = self._decoded
        blocks = self.spec.blocks
        if not self.cutting and isinstance(entry.length, int):
            # A bit of an exponent counts as a block.
            blocks = max(blocks, EXPONENT_BITS, entry.length // BLOCK_BYTES)
        limit = STEPS + STEPS_A_BLOCK * blocks
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
                if names:
                    self._name_powers(m, now.vectors)
                elif entry.raw:
                    self._name_partial(entry, now.vectors)
            if following == END:
                return True
            address = now.following if following is None else following
        raise unsupported(f"no end after {limit} instructions", address)

    def _name_powers(self, m: Machine, vectors: tuple[int, ...]) -> None:
        for k in vectors:
            m.vec[k] = tuple(self.naming.power(lane) for lane in m.vec[k])

    def _name_partial(self, entry: Entry, vectors: tuple[int, ...]) -> None:
        # As it stands in memory it may still be under construction, out of overlapping loads.
        m = entry.machine
        for k in vectors:
            m.vec[k] = tuple(
                self._settle(entry, lane, ("register",)) if isinstance(lane, Term) else lane
                for lane in m.vec[k]
            )

    def _settle(
        self, entry: Entry, term: Term, forms: tuple[str, ...] = ("memory", "register")
    ) -> Lane:
        """Name the last block once it is padded; until then leave its bytes as they are."""
        if not isinstance(entry.length, int):
            return term
        number, present = divmod(entry.length, BLOCK_BYTES)
        named = self.naming.padded(term, present, number + 1, forms)
        if named is not term or "memory" not in forms or not term.deps & RAW:
            return named
        # Karatsuba's A0 + A1 is not the block, but is made of it.
        terms = self.naming.terms
        if not terms.kinds[term.op].linear:
            return term
        parts = (self._settle(entry, a) if isinstance(a, Term) else a for a in term.args)
        return rebuilt(terms, term, *parts)

    def check_end(self, entry: Entry, result: Form | None = None) -> None:
        """Compare what the function has left with what it should leave.

        `result` is the register that power should have written.

        Raises:
            Refutation: it differs.
        """
        m, at = entry.machine, self.naming.terms.at
        check_return(entry.abi, m, entry.gpr, entry.vec)
        match self.function.operation:
            case "init":
                self._check_table(entry)
            case "combine":
                wanted = self.naming.algebra.product(STATE, FACTOR) ^ variable(ADDEND)
                self._check_block(entry, "state", wanted, "the state")
            case "power":
                assert result is not None
                self._check_block(entry, "result", result, "the power")
            case _:
                self._check_state(entry)
        if self.spec.wipe:
            self.naming.terms.at = at
            check_wiped(m)

    def _check_block(self, entry: Entry, region: str, wanted: Form, name: str) -> None:
        naming = self.naming
        if any(k not in entry.machine.memory.written[region] for k in range(BLOCK_BYTES)):
            raise Refutation(Category.FUNCTION, f"{name} is not written")
        naming.terms.at = 0
        lane = entry.machine.memory.load(Pointer(region, 0), BLOCK_BYTES)
        assert isinstance(lane, int | Term)
        self.compare(naming.terms.moves(lane, naming.algebra.register), wanted, name)

    def _check_table(self, entry: Entry) -> None:
        terms = self.naming.terms
        for index, cell in enumerate(self.spec.cells):
            if cell is None:
                continue
            name = f"table entry {cell[0]} of H^{cell[1]}" if cell[1] else "a table entry of zeros"
            written = entry.machine.memory.written["table"]
            if any(BLOCK_BYTES * index + k not in written for k in range(BLOCK_BYTES)):
                raise Refutation(Category.FUNCTION, f"{name} is not written")
            terms.at = 0
            lane = entry.machine.memory.load(Pointer("table", BLOCK_BYTES * index), BLOCK_BYTES)
            wanted = terms.form(terms.entry(*cell)) if cell[1] else Form(BLOCK_BITS)
            self.compare(lane, wanted, name)

    def _check_state(self, entry: Entry) -> None:
        naming, terms = self.naming, self.naming.terms
        terms.at = 0
        lane = entry.machine.memory.load(Pointer("state", 0), BLOCK_BYTES)
        weights = dict(entry.weights)
        if self.function.operation == "mul":
            blocks = 1
        else:
            assert isinstance(entry.length, int)
            blocks = -(-entry.length // BLOCK_BYTES)
            weights |= {block_name(k + 1): k for k in range(blocks)}
        register = terms.moves(lane, naming.algebra.register) if isinstance(lane, Term) else lane
        self._compare_state(register, weights, blocks, entry)

    def _compare_state(
        self, register: Value, weights: dict[str, int], blocks: int, entry: Entry
    ) -> None:
        naming = self.naming
        if isinstance(register, Term):
            try:
                form = naming.terms.form(register)
            except NotPolynomialError as error:
                raise Refutation(
                    Category.FUNCTION, f"the state depends on {error.reason}", at=error.at
                ) from None
            names = {n for pair in form.quadratic for n in pair if n[0] != "B"} | set(form.linear)
            # The latest first: it may contain an earlier one, and nothing may count twice.
            for name in sorted((n for n in names if n[0] == "Z"), key=lambda n: -int(n[1:])):
                at = naming.position(name, entry.weights)
                leaves = naming.leaves(name)
                if at is None or len(set(leaves)) != len(leaves) or not set(leaves) <= set(weights):
                    continue
                weights = {v: p for v, p in weights.items() if v not in leaves} | {name: at}
            if PARTIAL in names:
                raise Refutation(
                    Category.FUNCTION, "the last partial block is not the padded input bytes"
                )
        expected = {v: blocks - at for v, at in weights.items()}
        if min(expected.values()) < 0:
            raise unsupported("a state that is ahead of the input")
        compared = (register, frozenset(expected.items()))
        if compared not in self._compared:
            self.compare(register, naming.algebra.state(expected), "the state")
            self._compared.add(compared)

    def compare(self, lane: object, wanted: Form, name: str) -> None:
        """Compare a value with its definition.

        Raises:
            Refutation: they differ.
        """
        naming = self.naming
        assert isinstance(lane, int | Term)
        try:
            got = naming.terms.form(lane)
        except NotPolynomialError as error:
            raise Refutation(
                Category.FUNCTION, f"{name} depends on {error.reason}", at=error.at
            ) from None
        if got != wanted:
            difference = Difference(naming, lane, got, wanted, self.flow.instructions)
            raise Refutation(Category.FUNCTION, f"{name} is wrong", difference=difference)

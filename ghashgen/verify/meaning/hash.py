"""The functions of a GHASH or POLYVAL kernel: init, mul, combine, power, update and column."""

from collections.abc import Callable, Sequence
from typing import Any

from ghashgen.algebra.field.bitorder import BLOCK_BYTES
from ghashgen.algebra.ops.forms import Form, variable
from ghashgen.verify.core.limits import GREATEST_LENGTH
from ghashgen.verify.core.numbers import Number
from ghashgen.verify.core.refutation import Category, Refutation, unsupported
from ghashgen.verify.core.term import Lane, Term
from ghashgen.verify.core.values import Pointer
from ghashgen.verify.hash.entries import Algebra
from ghashgen.verify.hash.spec import ZERO, FunctionSpec, KernelSpec
from ghashgen.verify.meaning.function import Buffer, Function, Part
from ghashgen.verify.meaning.hashing import STATE, Blocks, Hashing, content
from ghashgen.verify.meaning.names import Names
from ghashgen.verify.meaning.power import EXPONENT, GREATEST_EXPONENT, Power
from ghashgen.verify.rules.state import State
from ghashgen.verify.x86_64.memory import Memory
from ghashgen.verify.x86_64.regions import Access

ADDEND, FACTOR = "Y", 0
"""The variable of what combine adds; the power under which its factor goes."""

Cells = Sequence[tuple[str, int] | None]


def table_of(names: Names, spec: Any, making: bool) -> Buffer:
    """Return the table of a kernel: what `init` made of the subkey, or nothing before it."""
    cells = [
        0 if c == (ZERO, 0) else None if c is None else names.terms.entry(*c) for c in spec.cells
    ]

    def cell(memory: Memory, at: Number) -> Lane | None:
        if not isinstance(at, int):
            raise unsupported("a cell of the table at an unknown place")
        index = at // BLOCK_BYTES
        return cells[index] if not making and 0 <= index < len(cells) else None

    access = Access.WRITE if making else Access.READ
    return Buffer(access, spec.table_bytes, cell, spec.table_align)


def check_table(f: Function, state: State, cells: Cells) -> None:
    """Compare every cell of a table with its definition.

    Raises:
        Refutation: they differ.
    """
    written = state.memory.written["table"]
    for index, cell in enumerate(cells):
        if cell is None:
            continue
        kind, power = cell
        at = BLOCK_BYTES * index
        what = f"table entry {kind} of H^{power}" if power else "a table entry of zeros"
        if any(at + k not in written for k in range(BLOCK_BYTES)):
            raise Refutation(Category.FUNCTION, f"{what} is not written")
        lane = state.memory.load(Pointer("table", at), BLOCK_BYTES)
        if not isinstance(lane, int | Term):
            raise Refutation(Category.FUNCTION, f"{what} is no value of 128 bits")
        f.compare(lane, f.names.algebra.entry(kind, power) if power else Form(128), what)


def _product(f: Function, state: State) -> None:
    """mul: the state times H."""
    wanted = f.names.algebra.state({STATE: 1})
    f.compare(f.register(state, "state", "the state"), wanted, "the state")


def _combined(f: Function, state: State) -> None:
    """combine: the state times the factor, plus the addend."""
    wanted = f.names.algebra.product(STATE, FACTOR) ^ variable(ADDEND)
    f.compare(f.register(state, "state", "the state"), wanted, "the state")


def check_hashed(f: Function, state: State, hashing: Hashing, buffer: str = "state") -> None:
    """Compare the state with X after all that is hashed.

    Raises:
        Refutation: they differ.
    """
    wanted, written = hashing.at_end(state), state.memory.written[buffer]
    if wanted == {(STATE, 0): 1} and not any(k in written for k in range(BLOCK_BYTES)):
        return
    lane = f.names.named(f.register(state, buffer, "the state"))
    found, algebra = f.names.recognised(lane), f.names.algebra
    if found != wanted:
        # As a sum it says more than as a polynomial, in which sums may have names.
        got = f.form(lane, "the state") if found is None else algebra.state(dict(found.keys()))
        raise f.wrong(lane, got, algebra.state(dict(wanted.keys())), "the state")


def meaning_of(spec: KernelSpec, function: FunctionSpec) -> Function:
    """Return what a function of a kernel means.

    Raises:
        Refutation: it has none here.
    """
    return of_names(spec, function, Names(Algebra(spec.order, spec.op)))


def of_names(spec: Any, function: FunctionSpec, names: Names) -> Function:
    """Return what a function means, of a kernel whose values have names.

    Raises:
        Refutation: it has no meaning here.
    """
    terms, moves, operation = names.terms, names.algebra.memory, function.operation
    first = terms.moves(terms.variable(STATE), moves)
    blocks = Blocks(
        "C", "input", function.length_multiple if operation == "column" else BLOCK_BYTES
    )
    hashing = Hashing(names, (blocks,))
    making = operation == "init"
    buffers = {
        "table": table_of(names, spec, making),
        "state": Buffer(Access.UPDATE, BLOCK_BYTES, lambda memory, at: first),
        "subkey": Buffer(Access.READ, BLOCK_BYTES, lambda memory, at: terms.entry("subkey", 1)),
        "addend": Buffer(
            Access.READ, BLOCK_BYTES, lambda memory, at: terms.moves(terms.variable(ADDEND), moves)
        ),
        "factor": Buffer(
            Access.READ, BLOCK_BYTES, lambda memory, at: terms.entry("subkey", FACTOR)
        ),
        "result": Buffer(Access.WRITE, BLOCK_BYTES, lambda memory, at: None),
        "input": Buffer(
            Access.READ, "length", lambda memory, at: content(names, blocks, memory, at)
        ),
    }
    numbers: dict[str, tuple[int, int]] = {}
    parts: tuple[Part, ...] = ()
    over: tuple[Blocks, ...] = ()
    finish: Callable[[Function, State], None]
    match operation:
        case "init":
            finish = lambda f, state: check_table(f, state, spec.cells)  # noqa: E731
        case "mul":
            finish = _product
        case "combine":
            finish = _combined
        case "power":
            power = Power(names)
            parts, finish, numbers = (power,), power.check_end, {EXPONENT: (0, GREATEST_EXPONENT)}
        case "update" | "column":
            parts, over = (hashing,), (blocks,)
            numbers = {"length": (0, GREATEST_LENGTH // function.length_multiple)}
            finish = lambda f, state: check_hashed(f, state, hashing)  # noqa: E731
        case _:
            raise unsupported(f"no meaning of {operation}")
    return Function(
        function.symbol,
        spec.abi,
        spec.wipe,
        function.parameters,
        names,
        buffers,
        numbers,
        parts,
        over,
        finish,
        vectors_named=making,
        multiple=function.length_multiple,
        unit=function.length_unit,
    )

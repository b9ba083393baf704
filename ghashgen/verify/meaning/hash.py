"""The functions of a GHASH or POLYVAL kernel: init, mul, combine, power, update and column."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from ghashgen.algebra.field.bitorder import BLOCK_BYTES
from ghashgen.algebra.ops.forms import Form, variable
from ghashgen.verify.core.limits import GREATEST_LENGTH
from ghashgen.verify.core.refutation import unsupported
from ghashgen.verify.machine.regions import Access
from ghashgen.verify.meaning.algebra import ZERO, Algebra
from ghashgen.verify.meaning.function import Buffer, Function, Part, claim, holding
from ghashgen.verify.meaning.hashing import STATE, Blocks, Hashing, content
from ghashgen.verify.meaning.names import Names
from ghashgen.verify.meaning.power import EXPONENT, GREATEST_EXPONENT, Power
from ghashgen.verify.rules.state import State

if TYPE_CHECKING:
    from ghashgen.verify.statements.hash import FunctionSpec, KernelSpec

ADDEND, FACTOR = "Y", 0
"""The variable of what combine adds; the power under which its factor goes."""

Cells = Sequence[tuple[str, int] | None]


def table_of(names: Names, spec: Any, making: bool) -> Buffer:
    """Return the table of a kernel: what `init` made of the subkey, or nothing before it."""
    entry, numbers = names.terms.entry, getattr(spec, "numbers", {})
    cells = [0 if c == (ZERO, 0) else None if c is None else entry(*c) for c in spec.cells]
    cells = [numbers.get(k, cell) for k, cell in enumerate(cells)]
    access = Access.WRITE if making else Access.READ
    return Buffer(access, spec.table_bytes, holding([] if making else cells), spec.table_align)


def check_table(f: Function, state: State, cells: Cells) -> None:
    """Compare every cell of a table with its definition.

    Raises:
        Refutation: they differ.
    """
    for index, cell in enumerate(cells):
        if cell is not None:
            kind, power = cell
            what = f"table entry {kind} of H^{power}" if power else "a table entry of zeros"
            wanted = f.names.algebra.entry(kind, power) if power else Form(128)
            f.compare(f.cell(state, "table", what, BLOCK_BYTES * index), wanted, what)


def check_state(f: Function, state: State, wanted: Form) -> None:
    """Compare the state with polynomials.

    Raises:
        Refutation: they differ.
    """
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


def meaning_of(spec: "KernelSpec", function: "FunctionSpec") -> Function:
    """Return what a function of a kernel means.

    Raises:
        Refutation: it has none here.
    """
    return of_names(spec, function, Names(Algebra(spec.order, spec.op)))


def of_names(spec: Any, function: "FunctionSpec", names: Names) -> Function:
    """Return what a function means, of a kernel whose values have names.

    Raises:
        Refutation: it has no meaning here.
    """
    terms, moves, operation = names.terms, names.algebra.memory, function.operation
    first, addend = (terms.moves(terms.variable(v), moves) for v in (STATE, ADDEND))
    blocks = Blocks(
        "C", "input", function.length_multiple if operation == "column" else BLOCK_BYTES
    )
    hashing = Hashing(names, (blocks,))
    making = operation == "init"
    buffers = {
        "table": table_of(names, spec, making),
        "state": Buffer(Access.UPDATE, BLOCK_BYTES, holding([first])),
        "subkey": Buffer(Access.READ, BLOCK_BYTES, holding([terms.entry("subkey", 1)])),
        "addend": Buffer(Access.READ, BLOCK_BYTES, holding([addend])),
        "factor": Buffer(Access.READ, BLOCK_BYTES, holding([terms.entry("subkey", FACTOR)])),
        "result": Buffer(Access.WRITE, BLOCK_BYTES, holding([])),
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
            finish = partial(check_table, cells=spec.cells)
        case "mul":
            finish = partial(check_state, wanted=names.algebra.state({STATE: 1}))
        case "combine":
            sum_ = names.algebra.product(STATE, FACTOR) ^ variable(ADDEND)
            finish = partial(check_state, wanted=sum_)
        case "power":
            power = Power(names)
            parts, finish, numbers = (power,), power.check_end, {EXPONENT: (0, GREATEST_EXPONENT)}
        case "update" | "column":
            parts, over = (hashing,), (blocks,)
            numbers = {"length": (0, GREATEST_LENGTH // function.length_multiple)}
            finish = partial(check_hashed, hashing=hashing)
        case _:
            raise unsupported(f"no meaning of {operation}")
    return Function(
        *claim(spec, function),
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

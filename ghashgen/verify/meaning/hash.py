"""The functions of a GHASH or POLYVAL kernel: init, mul, combine, power, update and column."""

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

from ghashgen.algebra.field.bitorder import BLOCK_BYTES
from ghashgen.algebra.ops.forms import Form, variable
from ghashgen.verify.core.limits import GREATEST_LENGTH
from ghashgen.verify.core.refutation import unsupported
from ghashgen.verify.core.term import MASK128, Lane
from ghashgen.verify.core.words import M32
from ghashgen.verify.machine.regions import Access
from ghashgen.verify.meaning.algebra import ZERO, Algebra
from ghashgen.verify.meaning.buffers import Buffer, End, Left, holding, reading, turned
from ghashgen.verify.meaning.function import Function, Part, claim
from ghashgen.verify.meaning.hashing import Blocks, Hashing
from ghashgen.verify.meaning.letters import ADDEND, BESIDE, CIPHERTEXT, ROUND_KEY_LETTER, STATE
from ghashgen.verify.meaning.names import Names
from ghashgen.verify.meaning.power import EXPONENT, GREATEST_EXPONENT, Power
from ghashgen.verify.rules.state import State

FACTOR = 0
"""The power under which combine's factor goes."""

HALVES = (*range(7, -1, -1), *range(15, 7, -1))
"""The subkey as two numbers in memory, its first 8 bytes and its last, each big-endian: the bytes
that become theirs.
"""

Cells = Sequence[tuple[str, int] | None]


def table_of(names: Names, spec: Any, making: bool) -> Buffer:
    """Return the table of a kernel: what `init` made of the subkey, or nothing before it.

    A caller's key that has the table has its round keys and their number before it, too.
    """
    terms, numbers, told = names.terms, getattr(spec, "numbers", {}), getattr(spec, "told", {})
    cells: list[Lane | None] = [
        numbers[k] if k in numbers else 0 if c == (ZERO, 0) else None if c is None
        else terms.entry(*c)
        for k, c in enumerate(spec.cells)
    ]  # fmt: skip
    access = Access.WRITE if making else Access.READ
    if making:
        cells = [None] * len(cells)
        for k, number in spec.round_keys.items() if told else ():
            cells[k] = callers_keys(names, spec)[number]
    for k, number in told.items():
        beside = terms.keep(terms.variable(BESIDE), MASK128 ^ M32)
        cells[k], access = terms.xor(beside, number), Access.UPDATE if making else access
    return Buffer(access, spec.table_bytes, holding(cells), spec.table_align)


def callers_keys(names: Names, spec: Any) -> list[Lane]:
    """Return round keys 0 to Nr of a key whose table is to be made: data, like any key."""
    return [names.terms.variable(f"{ROUND_KEY_LETTER}{k}") for k in range(spec.rounds + 1)]


def table_left(names: Names, cells: Cells) -> Iterator[Left]:
    """Yield what each cell of a table is at the return."""
    for index, cell in enumerate(cells):
        if cell is not None:
            kind, power = cell
            what = f"table entry {kind} of H^{power}" if power else "a table entry of zeros"
            wanted = names.algebra.entry(kind, power) if power else Form(128)
            yield Left("table", BLOCK_BYTES * index, what, wanted)


def meaning_of(spec: Any, function: Any) -> Function:
    """Return what a function of a kernel means.

    Raises:
        Refutation: it has none here.
    """
    return of_names(spec, function, Names(Algebra(spec.order, spec.op)))


def of_names(spec: Any, function: Any, names: Names) -> Function:
    """Return what a function means, of a kernel whose values have names.

    Raises:
        Refutation: it has no meaning here.
    """
    terms, moves, operation = names.terms, names.algebra.memory, function.operation
    first, addend = (terms.moves(terms.variable(v), moves) for v in (STATE, ADDEND))
    reverses = getattr(spec, "reverses", False)
    kept = partial(Left, "state", 0, "the state", reverses=reverses)
    apart = function.length_multiple if operation == "column" else BLOCK_BYTES
    blocks, making = Blocks(CIPHERTEXT, "input", apart), operation == "init"
    hashing, power = Hashing(names, (blocks,)), Power(names)
    numbers: dict[str, tuple[int, int]] = {}
    subkey = terms.entry("subkey", 1)
    parts: tuple[Part, ...] = ()
    if "length" in function.parameters:
        parts, numbers = (hashing,), {"length": (0, GREATEST_LENGTH // function.length_multiple)}
    elif EXPONENT in function.parameters:
        parts, numbers = (power,), {EXPONENT: (0, GREATEST_EXPONENT)}
    buffers = {
        "table": table_of(names, spec, making),
        "state": Buffer(Access.UPDATE, BLOCK_BYTES, holding([turned(terms, first, reverses)])),
        "subkey": Buffer(Access.READ, BLOCK_BYTES, holding([subkey])),
        "halves": Buffer(Access.READ, BLOCK_BYTES, holding([terms.bytes(subkey, HALVES)])),
        "addend": Buffer(Access.READ, BLOCK_BYTES, holding([addend])),
        "factor": Buffer(Access.READ, BLOCK_BYTES, holding([terms.entry("subkey", FACTOR)])),
        "result": Buffer(Access.WRITE, BLOCK_BYTES, holding([])),
        "input": reading(names, blocks, "length"),
    }

    def left(state: State) -> Iterator[Left]:
        """Yield what is in each buffer at the return."""
        match operation:
            case "init":
                yield from table_left(names, spec.cells)
            case "mul":
                yield kept(frozenset({(STATE, 1)}))
            case "combine":
                sum_ = names.algebra.multiplied(f"B{FACTOR}", STATE) ^ variable(ADDEND)
                yield kept(sum_.moves(moves, 128))
            case "power":
                yield Left("result", 0, "the power", power.result(state).moves(moves, 128))
            case "update" | "column":
                yield kept(hashing.at_end(state))
            case _:
                raise unsupported(f"no meaning of {operation}")

    return Function(
        *claim(spec, function),
        names,
        buffers,
        numbers,
        parts,
        (blocks,) if "input" in function.parameters else (),
        lambda state: End(left=left(state)),
        vectors_named=making,
        multiple=function.length_multiple,
        unit=function.length_unit,
    )

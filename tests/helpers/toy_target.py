"""A second target, with instructions of four bytes, a link register and one lane a register.

    byte 0        the operation, a row of TABLE
    byte 1        the registers d and a, four bits each
    byte 2        the register b, and which halves are multiplied
    bytes 1 to 3  or a distance in instructions, with a condition in the low bits of byte 1
    bytes 2, 3    or a number, with its sign

It knows nothing of x86-64, and the checker nothing of it.
"""

from collections.abc import Callable
from dataclasses import dataclass

from ghashgen.verify.core.refutation import Category, Refutation, unsupported
from ghashgen.verify.core.term import Lane, Term, secret
from ghashgen.verify.core.values import M64, Value
from ghashgen.verify.machine.flags import Test, negated, of_difference, of_flag
from ghashgen.verify.machine.image import Image, Kind, Section
from ghashgen.verify.machine.machine import END, Machine, Step
from ghashgen.verify.machine.target import Abi, Decoded, Target
from ghashgen.verify.search.looks import FLAGS, LOOKS, Look

GENERAL = (*(f"r{k}" for k in range(14)), "lr", "sp")
VECTORS = tuple(f"v{k}" for k in range(16))
LR, SP = 14, 15
SIZE = 4
SWAP, REVERSE = (*range(8, 16), *range(8)), tuple(reversed(range(16)))

CONDITIONS: dict[str, Test] = {
    "always": lambda m: True,
    "eq": of_flag("zero"),
    "ne": negated(of_flag("zero")),
    "lo": of_flag("carry"),
}


@dataclass(frozen=True)
class Instruction:
    """The fields of an instruction, as its form has them."""

    at: int
    name: str
    d: int = 0
    a: int = 0
    b: int = 0
    halves: int = 0
    number: int = 0
    condition: str = ""

    @property
    def to(self) -> int:
        """Where a branch goes."""
        return self.at + SIZE * self.number


Build = Callable[[Instruction], Step]


@dataclass(frozen=True)
class Row:
    """An operation: its name, form and meaning; what it reads and writes."""

    name: str
    form: str
    """number, registers or branch."""
    build: Build
    address: bool = False
    """Whether register a is an address."""
    slow: bool = False
    """Whether its time depends on the vector registers a and b."""


# Rows.


def _sum(m: Machine, a: Value, number: int) -> Value:
    if isinstance(a, Term):
        return m.terms.opaque("a sum", a, mask=M64)
    out = m.facts.add(a, number) if number >= 0 else m.facts.add(a, -number, sign=-1)
    if out is None:
        raise unsupported("a sum of addresses", m.at)
    return out


def _where(m: Machine, i: Instruction) -> Value:
    a = m.gpr[i.a]
    return a if isinstance(a, Term) else _sum(m, a, i.number)


def _lane(m: Machine, value: Value) -> Lane:
    if isinstance(value, int | Term):
        return value
    raise unsupported("an address or a length in a vector register", m.at)


def _load(i: Instruction) -> Step:
    def step(m: Machine) -> None:
        m.gpr[i.d] = m.memory.load(_where(m, i), 8)

    return step


def _store(i: Instruction) -> Step:
    return lambda m: m.memory.store(_where(m, i), m.gpr[i.d], 8)


def _load_vector(size: int) -> Build:
    def build(i: Instruction) -> Step:
        def step(m: Machine) -> None:
            m.vec[i.d] = (_lane(m, m.memory.load(_where(m, i), size)),)

        return step

    return build


def _store_vector(size: int) -> Build:
    low = (1 << 8 * size) - 1

    def build(i: Instruction) -> Step:
        return lambda m: m.memory.store(_where(m, i), m.terms.keep(m.vec[i.d][0], low), size)

    return build


def _add(i: Instruction) -> Step:
    def step(m: Machine) -> None:
        m.gpr[i.d] = _sum(m, m.gpr[i.a], i.number)

    return step


def _compare(i: Instruction) -> Step:
    def step(m: Machine) -> None:
        m.flags = of_difference(m.facts, m.gpr[i.a], i.number & M64, 64, m.memory.inside)

    return step


def _high(i: Instruction) -> Step:
    def step(m: Machine) -> None:
        m.gpr[i.d] = (i.number & 0xFFFF) << 48

    return step


def _both(i: Instruction) -> Step:
    def step(m: Machine) -> None:
        a = _lane(m, m.gpr[i.a])
        m.vec[i.d] = (m.terms.xor(a, m.terms.moves(a, ((64, M64 << 64),))),)

    return step


def _xor(i: Instruction) -> Step:
    def step(m: Machine) -> None:
        m.vec[i.d] = (m.terms.xor(m.vec[i.a][0], m.vec[i.b][0]),)

    return step


def _product(i: Instruction) -> Step:
    a, b = i.halves & 1, i.halves >> 1

    def step(m: Machine) -> None:
        m.vec[i.d] = (m.terms.clmul(m.vec[i.a][0], a, m.vec[i.b][0], b),)

    return step


def _permuted(sources: tuple[int, ...]) -> Build:
    def build(i: Instruction) -> Step:
        def step(m: Machine) -> None:
            m.vec[i.d] = (m.terms.bytes(m.vec[i.a][0], sources),)

        return step

    return build


def _branch(i: Instruction) -> Step:
    test = CONDITIONS[i.condition]
    return lambda m: i.to if test(m) else None


def _return(i: Instruction) -> Step:
    def step(m: Machine) -> int:
        if m.gpr[LR] is not m.terms.caller(GENERAL[LR], 64):
            raise Refutation(Category.ABI, "lr is not where the caller goes on", at=m.at)
        return END

    return step


TABLE = (
    Row("ldr", "number", _load, address=True),
    Row("str", "number", _store, address=True),
    Row("ldd", "number", _load_vector(8), address=True),
    Row("std", "number", _store_vector(8), address=True),
    Row("ldq", "number", _load_vector(16), address=True),
    Row("stq", "number", _store_vector(16), address=True),
    Row("add", "number", _add),
    Row("cmp", "number", _compare),
    Row("movh", "number", _high),
    Row("dup", "registers", _both),
    Row("eor", "registers", _xor),
    Row("pmul", "registers", _product),
    Row("slowmul", "registers", _product, slow=True),
    Row("swap", "registers", _permuted(SWAP)),
    Row("rev", "registers", _permuted(REVERSE)),
    Row("b", "branch", _branch),
    Row("ret", "registers", _return),
)
NUMBERS = {row.name: k for k, row in enumerate(TABLE)}
ROWS = {row.name: row for row in TABLE}
UNUSED = {"cmp": ("d",), "movh": ("a",), "ret": ("d", "a", "b", "halves")} | dict.fromkeys(
    ("dup", "swap", "rev"), ("b", "halves")
)
"""Fields that an operation does not have: they are 0."""


# The decoder.


def encoded(i: Instruction) -> bytes:
    """Return an instruction's bytes."""
    row = ROWS[i.name]
    if row.form == "branch":
        number = list(CONDITIONS).index(i.condition) | (i.number & 0xFFFFF) << 4
        return bytes([NUMBERS[i.name]]) + number.to_bytes(3, "little")
    if row.form == "number":
        return bytes([NUMBERS[i.name], i.d | i.a << 4]) + (i.number & 0xFFFF).to_bytes(2, "little")
    return bytes([NUMBERS[i.name], i.d | i.a << 4, i.b | i.halves << 4, 0])


def _signed(number: int, bits: int) -> int:
    return number - (number >> bits - 1 << bits)


def decode(image: Image, at: int) -> Instruction:
    """Return the instruction at an address; its bytes have one reading.

    Raises:
        Refutation: there is none.
    """
    section = image.section(at)
    if section is None or section.kind is not Kind.CODE or at % SIZE:
        raise unsupported("control reaches an address outside the code", at)
    code = section.data[at - section.address :][:SIZE]
    if len(code) < SIZE or code[0] >= len(TABLE):
        raise unsupported("bytes that are no instruction", at)
    row = TABLE[code[0]]
    number = int.from_bytes(code[1:], "little")
    d, a, last = number & 15, number >> 4 & 15, number >> 8
    match row.form:
        case "branch":
            conditions = dict(enumerate(CONDITIONS))
            if d not in conditions:
                raise unsupported("a condition that there is not", at)
            far = _signed(number >> 4, 20)
            i = Instruction(at, row.name, number=far, condition=conditions[d])
        case "number":
            i = Instruction(at, row.name, d, a, number=_signed(last, 16))
        case _:
            i = Instruction(at, row.name, d, a, last & 15, last >> 4 & 3)
    if encoded(i) != code or any(getattr(i, field) for field in UNUSED.get(i.name, ())):
        raise unsupported("meaningless bits set", at)
    return i


def decoded(image: Image, at: int) -> Decoded:
    """Return an instruction ready to run, with its class of timing."""
    i = decode(image, at)
    row = ROWS[i.name]

    def address(m: Machine) -> None:
        if secret(m.gpr[i.a]):
            raise Refutation(Category.CONSTANT_TIME, "an address depends on a secret", at=at)

    def timing(m: Machine) -> None:
        if any(secret(lane) for k in (i.a, i.b) for lane in m.vec[k]):
            raise Refutation(Category.TIMING, f"{i.name} meets a secret", at=at)

    guards = ((address,) if row.address else ()) + ((timing,) if row.slow else ())
    return Decoded(row.build(i), at + SIZE, guards)


# For the search.


EVERY = frozenset(range(FLAGS + 1))


def look(image: Image, at: int) -> Look:
    """Return the ways from an instruction, as if it read every register."""
    i = decode(image, at)
    following = () if i.condition == "always" or i.name == "ret" else (at + SIZE,)
    ways = (*following, *((i.to,) if i.condition else ()))
    return Look(at + SIZE, ways, False, EVERY, frozenset())


TOY = Target(
    name="toy",
    general=GENERAL,
    vectors=VECTORS,
    masks=(),
    lanes=1,
    stack_pointer=SP,
    result=0,
    return_bytes=0,
    stack_align=(16, 0),
    conventions={"toy": Abi("toy", (0, 1, 2, 3), (8, 9, 10, 11), tuple(range(8, 16)), 0, 0, 0, 64)},
    decode=decoded,
    check_entry=lambda image, symbol: None,
    text=lambda image, at: str(decode(image, at)),
)

LOOKS[TOY.name] = look


# An assembler.


def assembled(text: str, symbol: str) -> Image:
    """Return the image of a function, of lines such as `loop: ldq v3, r2, 16`."""
    lines = [line.split("#")[0].strip() for line in text.splitlines()]
    labels: dict[str, int] = {}
    code: list[list[str]] = []
    for line in filter(None, lines):
        label, colon, rest = line.rpartition(":")
        if colon:
            labels[label] = SIZE * len(code)
        if rest.strip():
            code.append(rest.replace(",", " ").split())
    out = b"".join(encoded(_parsed(SIZE * k, words, labels)) for k, words in enumerate(code))
    section = Section(".text", 1 << 16, out, Kind.CODE, SIZE)
    return Image(TOY, (section,), {symbol: section.address}, frozenset({symbol}))


def _parsed(at: int, words: list[str], labels: dict[str, int]) -> Instruction:
    name, *rest = words
    name, _, condition = name.partition(".")
    if name == "b":
        return Instruction(at, name, number=(labels[rest[0]] - at) // SIZE, condition=condition)
    registers = [_register(word) for word in rest if word in GENERAL or word in VECTORS]
    numbers = [int(word, 0) for word in rest if word not in GENERAL and word not in VECTORS]
    number = numbers[0] if numbers else 0
    if ROWS[name].form == "number":
        d, a = {"cmp": (0, *registers), "movh": (*registers, 0)}.get(name, registers)
        return Instruction(at, name, d, a, number=number)
    return Instruction(at, name, *(*registers, 0, 0, 0)[:3], halves=number)


def _register(word: str) -> int:
    return GENERAL.index(word) if word in GENERAL else VECTORS.index(word)

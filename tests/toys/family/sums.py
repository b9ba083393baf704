"""A family of kernels from outside the package: sums of blocks, with a key of one block.

init copies the key into the table; update adds two messages and the key to a state; mask writes
each block of a message with the key added; probe returns the first 4 bytes of state and key; count
returns how many blocks a message has. All lengths are multiples of 16 bytes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from ghashgen.algebra.ops.forms import Form, variable
from ghashgen.verify.core.lengths import Claim
from ghashgen.verify.core.refutation import unsupported
from ghashgen.verify.core.term import NotPolynomialError, Term
from ghashgen.verify.core.terms import Terms
from ghashgen.verify.core.values import Affine, Number, Pointer, shift_right
from ghashgen.verify.core.variables import Variables
from ghashgen.verify.engine.family import (
    Buffer,
    Cell,
    Count,
    Entry,
    Function,
    Kept,
    Meaning,
    Parameter,
    Result,
)
from ghashgen.verify.engine.induction import Course, prove_longer
from ghashgen.verify.engine.plans import Shown, every_length, once
from ghashgen.verify.engine.prover import Prover
from ghashgen.verify.machine.memory import Access

BYTES = 16
LETTERS = {"aad": "A", "text": "C"}
"""The variables of a message's blocks: A1, A2, … and C1, C2, …"""

EXECUTED = range(0, 5 * BYTES, BYTES)
BOUND = (1 << 40) - 1


@dataclass(frozen=True)
class SumsFunction:
    operation: str
    symbol: str
    parameters: tuple[str, ...]


@dataclass(frozen=True)
class Sums:
    """What an object claims: it knows which class says what a function means."""

    name: str
    abi: str = "sysv"
    wipe: bool = False
    functions: tuple[SumsFunction, ...] = ()

    def meaning(self, function: Function, cutting: bool) -> Meaning[Any]:
        return MEANINGS[function.operation]()


def sums(abi: str = "sysv", wipe: bool = False) -> Sums:
    functions = (SumsFunction(o, f"sums_{o}", tuple(m.parameters)) for o, m in MEANINGS.items())
    return Sums("sums", abi, wipe, tuple(functions))


@dataclass
class SumsEntry(Entry):
    state: str = "X"
    """The variable that stands for the state and all that was added to it before the last cut."""


class Any16(Meaning[SumsEntry]):
    """What the operations have in common."""

    def __init__(self) -> None:
        self.terms = Terms(lambda name, number: variable("K"))
        self.variables = Variables(self.terms)

    def entry(self, *known: Any) -> SumsEntry:
        return SumsEntry(*known)

    def cell(self, buffer: str) -> Cell[SumsEntry]:
        t = self.terms
        if buffer in LETTERS:
            return lambda entry, index: t.variable(f"{LETTERS[buffer]}{index + 1}")
        return lambda entry, index: t.variable("X") if buffer == "state" else t.entry("key", 1)

    def prove(self, prover: Prover[SumsEntry], lengths: Iterable[int] | None) -> Shown:
        return once(prover)


class Init(Any16):
    parameters: ClassVar[Mapping[str, Parameter]] = {
        "table": Buffer(Access.WRITE, BYTES),
        "subkey": Buffer(Access.READ, BYTES),
    }

    def check(self, prover: Prover[SumsEntry], entry: SumsEntry) -> None:
        prover.check_cell(entry, "table", variable("K"), "the key")


def known(number: Number) -> int:
    if not isinstance(number, int):
        raise unsupported("a result of unknown length")
    return number // BYTES


def blocks(letter: str, count: int) -> Form:
    out = Form(128)
    for k in range(count):
        out ^= variable(f"{letter}{k + 1}")
    return out


class Update(Any16):
    parameters: ClassVar[Mapping[str, Parameter]] = {
        "table": Buffer(Access.READ, BYTES),
        "state": Buffer(Access.UPDATE, BYTES),
        "aad": Buffer(Access.READ, "aad_length"),
        "aad_length": Count(),
        "text": Buffer(Access.READ, "length"),
        "length": Count(),
    }
    cuts = True

    def carried(self, entry: SumsEntry, lanes: list[Term]) -> Kept | None:
        """One live lane, the state and the first blocks of each message: a fresh state."""
        if len(lanes) != 1:
            return None
        names = self.variables.of(lanes[0])
        done = {letter: sum(name[0] == letter for name in names) for letter in LETTERS.values()}
        wanted = variable(entry.state) ^ blocks("A", done["A"]) ^ blocks("C", done["C"])
        try:
            if self.terms.form(lanes[0]) != wanted:
                return None
        except NotPolynomialError:
            return None
        entry.state = "Y"
        return Kept(
            {lanes[0]: self.terms.variable("Y")},
            buffers={"state": None},
            done={"aad_length": BYTES * done["A"], "length": BYTES * done["C"]},
        )

    def key(self, entry: SumsEntry) -> object:
        return entry.state

    def check(self, prover: Prover[SumsEntry], entry: SumsEntry) -> None:
        wanted = variable(entry.state) ^ variable("K")
        wanted ^= blocks("A", known(entry.numbers["aad_length"]))
        wanted ^= blocks("C", known(entry.numbers["length"]))
        prover.check_cell(entry, "state", wanted, "the sum")

    def prove(self, prover: Prover[SumsEntry], lengths: Iterable[int] | None) -> Shown:
        """Every pair of lengths, without executing pairs: one phase after the other."""
        text = Course(Claim(BYTES, BOUND, "length"), BYTES, {"aad_length": 0})
        shown = every_length(prover, text, EXECUTED)
        others: list[Number] = [*EXECUTED, *prove_longer(prover, text)]
        claim = Claim(BYTES, BOUND, "aad_length")
        for length in others:
            aad = Course(claim, BYTES, {"length": length})
            for executed in EXECUTED:
                prover.prove(aad.numbers(executed))
            prove_longer(prover, aad)
        return Shown((*shown.parts, ("every pair", "induction")), shown.behind)


class Probe(Any16):
    parameters: ClassVar[Mapping[str, Parameter]] = {
        "table": Buffer(Access.READ, BYTES),
        "state": Buffer(Access.READ, BYTES),
    }
    returns = Result(32)

    def check(self, prover: Prover[SumsEntry], entry: SumsEntry) -> None:
        prover.check_result(entry, variable("X") ^ variable("K"), "what is returned")


class Number16(Any16):
    parameters: ClassVar[Mapping[str, Parameter]] = {
        "text": Buffer(Access.READ, "length"),
        "length": Count(),
    }
    returns = Result(64)

    def check(self, prover: Prover[SumsEntry], entry: SumsEntry) -> None:
        length = entry.numbers["length"]
        assert isinstance(length, Affine)
        prover.check_result(entry, shift_right(length, 4), "the count")

    def prove(self, prover: Prover[SumsEntry], lengths: Iterable[int] | None) -> Shown:
        """Every length at once: no branch depends on it."""
        prover.prove({"length": Affine(BYTES, 0, 0, BOUND // BYTES, "length")})
        return Shown((("every length", "execution"),))


class Mask(Any16):
    parameters: ClassVar[Mapping[str, Parameter]] = {
        "table": Buffer(Access.READ, BYTES),
        "text": Buffer(Access.READ, "length"),
        "out": Buffer(Access.OUTPUT, "length"),
        "length": Count(),
    }
    cuts = True
    out = "out"
    """The buffer that is written."""

    def carried(self, entry: SumsEntry, lanes: list[Term]) -> Kept | None:
        """No live data: what has been written is compared, and lies behind from there on."""
        memory = entry.machine.memory
        done = len(memory.written[self.out]) // BYTES
        for k in range(done):
            self.terms.at = 0
            lane = memory.load(Pointer(self.out, BYTES * k), BYTES)
            if not isinstance(lane, Term) or self.terms.form(lane) != self.wanted(k):
                return None
        return None if lanes else Kept({}, done={"length": BYTES * done})

    def wanted(self, index: int) -> Form:
        return variable(f"C{index + 1}") ^ variable("K")

    def check(self, prover: Prover[SumsEntry], entry: SumsEntry) -> None:
        for k in range(known(entry.numbers["length"])):
            prover.check_cell(entry, self.out, self.wanted(k), f"block {k + 1} of out", k)

    def prove(self, prover: Prover[SumsEntry], lengths: Iterable[int] | None) -> Shown:
        course = Course(Claim(BYTES, BOUND, "length"), BYTES)
        return every_length(prover, course, EXECUTED, lengths)


class Replace(Mask):
    """The same where out is text."""

    parameters: ClassVar[Mapping[str, Parameter]] = {
        **Mask.parameters,
        "text": Buffer(Access.REPLACE, "length"),
        "out": Buffer(Access.OUTPUT, "length", at="text"),
    }
    out = "text"


MEANINGS: dict[str, Callable[[], Any16]] = {
    "init": Init,
    "update": Update,
    "mask": Mask,
    "replace": Replace,
    "probe": Probe,
    "count": Number16,
}

"""Runs single instructions on this CPU and compares registers, flags, masks and memory with a row.

An instruction runs in two states that differ in what the row was told is secret. The row's result
for variables must be right in both, and what it calls public must be the same in both.
"""

import pickle
import random
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cache

from iced_x86 import Instruction

from ghashgen.arch.x86_64.assemblers import find_nasm
from ghashgen.check.attack import row_cases as cases
from ghashgen.check.attack import row_child
from ghashgen.check.attack.valued import ValuedTerms
from ghashgen.support.errors import GhashgenError
from ghashgen.support.toolchain import assemble_text
from ghashgen.verify.core.term import MASK128, Lane, NotPolynomialError, Term, secret
from ghashgen.verify.core.values import M64, Pointer
from ghashgen.verify.machine.flags import Flags, Open, Why
from ghashgen.verify.machine.machine import Machine
from ghashgen.verify.machine.memory import Memory
from ghashgen.verify.x86_64.machine import LANES
from ghashgen.verify.x86_64.rows.table import step_of

FLAG_BITS = {"carry": 0, "zero": 6, "sign": 7, "overflow": 11}
REST_BITS = (2, 4)
"""PF and AF. For these a row says only whether they may hold a secret."""

CELLS = cases.BUFFER_BYTES // 16


@dataclass(frozen=True)
class Case:
    """One instruction, two states, and the places whose values the row does not know."""

    instruction: Instruction
    data: bytes
    states: tuple[cases.State, cases.State]
    general: frozenset[int] = frozenset()
    vectors: frozenset[tuple[int, int]] = frozenset()
    """(register, lane)."""
    masks: frozenset[int] = frozenset()
    cells: frozenset[int] = frozenset()
    """Offsets of 16 bytes of memory."""
    flags: bool = False


@dataclass(frozen=True)
class After:
    """The CPU's result for a state; `at` is the address that was in rsi."""

    gpr: list[int]
    flags: int
    mask: list[int]
    vec: list[int]
    memory: bytes
    at: int


def drawn(instruction: Instruction, data: bytes, rng: random.Random) -> Case:
    """Return a case with random unknown places; both states agree in all others."""
    first, other = cases.random_state(rng), cases.random_state(rng)
    odds = rng.choice((0.0, 0.5, 0.5, 1.0))

    def some(numbers: Sequence[int]) -> frozenset[int]:
        return frozenset(n for n in numbers if rng.random() < odds)

    general = some([k for k in range(16) if k not in (4, 6)])
    masks = some(range(8)) if rng.random() < 0.3 else frozenset()
    cells = some(range(CELLS))
    vectors = frozenset((k, lane) for k in range(32) for lane in some(range(LANES)))
    flags = rng.random() < 0.3
    second = replace(
        first,
        gpr=tuple(other.gpr[k] if k in general else first.gpr[k] for k in range(16)),
        mask=tuple(other.mask[k] if k in masks else first.mask[k] for k in range(8)),
        vec=tuple(
            tuple((other if (k, j) in vectors else first).vec[k][j] for j in range(LANES))
            for k in range(32)
        ),
        memory=b"".join(
            (other if k in cells else first).memory[16 * k : 16 * k + 16] for k in range(CELLS)
        ),
        flags=other.flags if flags else first.flags,
    )
    return Case(instruction, data, (first, second), general, vectors, masks, cells, flags)


def values(case: Case, state: cases.State) -> dict[str, int]:
    """Return the values of a case's variables in a state."""
    out = {f"g{k}": state.gpr[k] for k in case.general}
    out |= {f"k{k}": state.mask[k] for k in case.masks}
    out |= {f"v{k}.{lane}": state.vec[k][lane] for k, lane in case.vectors}
    for k in case.cells:
        out[f"m{k}"] = int.from_bytes(state.memory[16 * k : 16 * k + 16], "little")
    return out


def row_result(case: Case) -> Machine:
    """Return the machine after the row, with variables in the unknown places.

    Raises:
        Refutation, UndecidedError: the row refuses.
    """
    state = case.states[0]
    terms = ValuedTerms()
    m = cases.machine_of(state, terms)
    for k in sorted(case.general):
        m.gpr[k] = terms.keep(terms.variable(f"g{k}"), M64)
    for k in sorted(case.masks):
        m.mask[k] = terms.keep(terms.variable(f"k{k}"), M64)
    for k in range(32):
        m.vec[k] = tuple(
            terms.variable(f"v{k}.{j}") if (k, j) in case.vectors else state.vec[k][j]
            for j in range(LANES)
        )
    region = m.memory.regions[cases.BUFFER]
    known = region.content

    def content(memory: Memory, at: int) -> Lane | None:
        return terms.variable(f"m{at // 16}") if at // 16 in case.cells else known(memory, at)

    m.memory.regions[cases.BUFFER] = replace(region, content=content)
    if case.flags:
        one = Open(Why.UNDEFINED, True)
        m.flags = Flags(one, one, one, one, one)
    step_of(case.instruction)(m)
    return m


@dataclass
class _Judge:
    """Compares one machine with the CPU's results for both states."""

    case: Case
    m: Machine
    after: tuple[After, After]
    wrong: list[str] = field(default_factory=list)
    meant: tuple[dict[str, int], ...] = ()
    """The values of the variables in each state."""

    def value(self, where: str, row: object, got: tuple[int, int], bits: int = MASK128) -> None:
        """Compare one value in `bits`, those that were loaded and stored on the CPU."""
        if isinstance(row, Pointer):
            assert isinstance(row.offset, int)
            expected = [after.at + row.offset - cases.START for after in self.after]
        elif isinstance(row, Term):
            if not secret(row) and (got[0] ^ got[1]) & bits:
                self.wrong.append(f"{where}: called public, and differs with the secrets")
            for cpu in got:
                if cpu & bits & ~row.mask:
                    self.wrong.append(f"{where}: {cpu:#x} has bits that {row!r} is said to lack")
            if row.op == "var":
                expected = [meant[str(row.args[0])] for meant in self.meant]
            else:
                assert isinstance(self.m.terms, ValuedTerms)
                try:
                    expected = [self.m.terms.value(row, meant) for meant in self.meant]
                except NotPolynomialError:
                    return
        else:
            assert isinstance(row, int)
            expected = [row, row]
        for cpu, number in zip(got, expected, strict=True):
            if (cpu ^ number) & bits:
                self.wrong.append(f"{where}: row {number:#x}, CPU {cpu:#x}")

    def flags(self) -> None:
        """Compare the flags that the row knows, and the secrecy of the others."""
        first, second = (after.flags for after in self.after)
        for name, bit in FLAG_BITS.items():
            row, got = getattr(self.m.flags, name), (first >> bit & 1, second >> bit & 1)
            if isinstance(row, bool):
                if got != (row, row):
                    self.wrong.append(f"flag {name}: row {row}, CPU {got}")
            elif not row.secret and got[0] != got[1]:
                self.wrong.append(f"flag {name}: called public, and differs with the secrets")
        rest = self.m.flags.rest
        if not rest.secret and any((first ^ second) >> bit & 1 for bit in REST_BITS):
            self.wrong.append("AF or PF: called public, and differs with the secrets")

    def all(self, width: int) -> list[str]:
        """Return every difference; `width` is that of the vector registers in bits."""
        self.meant = tuple(values(self.case, state) for state in self.case.states)
        a, b = self.after
        for k in range(16):
            if k != 4:
                self.value(f"gpr {k}", self.m.gpr[k], (a.gpr[k], b.gpr[k]))
        for k in range(8):
            self.value(f"k{k}", self.m.mask[k], (a.mask[k], b.mask[k]))
        for k in range(32):
            for j in range(width // 128):
                lanes = (a.vec[k] >> 128 * j & MASK128, b.vec[k] >> 128 * j & MASK128)
                self.value(f"zmm{k}[{j}]", self.m.vec[k][j], lanes)
        written = self.m.memory.written[cases.BUFFER]
        for k in range(cases.BUFFER_BYTES):
            got = a.memory[k], b.memory[k]
            if k in written:
                row, byte = written[k]
                moved = (got[0] << 8 * byte, got[1] << 8 * byte)
                self.value(f"byte {k}", row, moved, 0xFF << 8 * byte)
            elif got != (self.case.states[0].memory[k], self.case.states[1].memory[k]):
                self.wrong.append(f"byte {k}: the CPU writes it, the row does not")
        self.flags()
        return self.wrong


def compare(case: Case, m: Machine, after: tuple[After, After], width: int = 512) -> list[str]:
    """Return how a machine differs from the CPU's results for a case."""
    return _Judge(case, m, after).all(width)


def context_of(state: cases.State) -> bytes:
    """Return the registers of a state as the child's code loads them."""
    words = [*state.gpr, cases.initial_flags(state), *state.mask]
    head = b"".join(word.to_bytes(8, "little") for word in words).ljust(256, b"\0")
    return head + b"".join(lane.to_bytes(16, "little") for z in state.vec for lane in z)


@cache
def blob(vector: str) -> bytes:
    """Return the machine code around an instruction."""
    return assemble_text(find_nasm(), "row", row_child.source(vector), "bin")


def on_cpu(todo: Sequence[tuple[bytes, cases.State]], vector: str) -> list[After] | None:
    """Run instructions on this CPU, each in a state; None if one of them ends the process."""
    import tempfile
    from pathlib import Path

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "row.bin"
        path.write_bytes(blob(vector))
        done = subprocess.run(
            [sys.executable, row_child.__file__, str(path)],
            input=pickle.dumps([(data, context_of(state), state.memory) for data, state in todo]),
            capture_output=True,
            check=False,
        )
    if done.returncode > 0:
        text = done.stderr.decode(errors="replace")[-200:]
        raise GhashgenError(
            f"the process that runs instructions did not start: {text}", "report this"
        )
    if done.returncode:
        return None
    out = []
    for context, memory, at in pickle.loads(done.stdout):
        words = [int.from_bytes(context[k : k + 8], "little") for k in range(0, 200, 8)]
        vec = [int.from_bytes(context[k : k + 64], "little") for k in range(256, len(context), 64)]
        out.append(After(words[:16], words[16], words[17:25], vec, memory, at))
    return out

"""What the tests of tuning share: candidates without code, and a machine whose figures are set."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from ghashgen.arch.x86_64.assemblers import find_nasm
from ghashgen.choice.classes import SizeClass
from ghashgen.choice.questions import Use
from ghashgen.kernels.core import Point
from ghashgen.kernels.hash.kernel import Kernel
from ghashgen.kernels.target import target
from ghashgen.lab.tune.goals import goals
from ghashgen.lab.tune.measure import Batch, Effort, Host, Stage
from ghashgen.lab.tune.measure import method as real_method
from ghashgen.lab.tune.space import Candidate, Unit
from ghashgen.output.artefact import make, sha256
from ghashgen.records.core import FIXED_SIZES, Cell, Machine, Results, Run, Subject
from ghashgen.support.toolchain import assemble_text

PLAIN = Kernel("avx", "winograd", "clmul1", 4)
ANY = Effort(samples=5, cycles=2000, patience=0, nops=0)
COARSE = Stage("coarse", ANY, 1, False)
FINE = Stage("fine", ANY, 2, True)
AVX = ("avx", "pclmulqdq", "sse2", "ssse3")
SSE = ("pclmulqdq", "sse2", "ssse3")
MODES = ("throughput", "init")
SMALL = (SizeClass(64, (16, 64)), SizeClass(None, (1024,)))


def lasting(*classes: SizeClass) -> tuple[Use, ...]:
    """What a sweep of GHASH kernels decides, in these classes of lengths."""
    (use,) = goals()["hash"].uses
    return (replace(use, classes=classes),)


def throughput(*sizes: int) -> tuple[tuple[str, int], ...]:
    """The cells of these sizes."""
    return tuple(("throughput", size) for size in sizes)


def candidate(
    isa: str = "avx", blocks: int = 4, code: str = "", needs: tuple[str, ...] = ()
) -> Candidate:
    """A candidate that says what it is, without an object."""
    kernel = replace(PLAIN, isa=isa, blocks=blocks)
    return known(kernel, needs or (AVX if isa == "avx" else SSE), code)


def known(kernel: Point, needs: tuple[str, ...], code: str = "") -> Candidate:
    """A candidate of any kernel, without an object."""
    unit = Unit(
        kernel,
        needs,
        kernel.instruction_set.operand_align,
        obj=b"",
        code=code or sha256(kernel.name.encode()),
    )
    return Candidate(unit, 100 * kernel.blocks)


def host(cpu: str = "CPU A", features: tuple[str, ...] = AVX) -> Host:
    return Host(cpu, features, real_method())


Cycles = Callable[[str, int], float]
"""Core cycles of a unit (by name) for a message of so many bytes; 0: what init takes."""


def per_group(name: str, size: int) -> float:
    """A machine on which more blocks per group are better, if the message fills a group."""
    blocks = int(name.rpartition("_x")[2])
    return 10.0 + size / 16 * (4 + 2 / blocks) + (0 if size >= 16 * blocks else 12 * blocks)


@dataclass
class Fake:
    """Measures nothing; counts what it was asked for."""

    where: Host
    cycles: Cycles = per_group
    peers: Mapping[str, float] = field(default_factory=lambda: {"peer": 2.0})
    asked: list[tuple[str, tuple[str, ...]]] = field(default_factory=list)
    stop_after: int | None = None
    """Batches after which an interrupt comes."""

    def __call__(self, batch: Batch) -> Results:
        if self.stop_after is not None and len(self.asked) >= self.stop_after:
            raise KeyboardInterrupt
        self.asked.append((batch.stage.name, tuple(unit.name for unit in batch.units)))
        return measured(self.where, batch, self.cycles, self.peers if batch.stage.peers else {})


def measured(
    where: Host, batch: Batch, cycles: Cycles = per_group, peers: Mapping[str, float] | None = None
) -> Results:
    """What a machine with these figures answers; a peer's are per byte."""
    key = next((int(getattr(u.kernel, "key", 0)) for u in batch.units), 0)
    subjects = [
        Subject(u.name, "kernel", u.kernel.layout.size, u.code, key=key) for u in batch.units
    ]
    subjects += [Subject(name, "peer", key=key) for name in peers or {}]

    def cell(name: str, size: int, mode: str) -> Cell:
        value = size * peers[name] if peers and name in peers else cycles(name, size)
        run = Run(value, value - 0.1, value + 0.1, 5, 0)
        return Cell(name, size, mode, (run,) * batch.stage.runs)

    cells = [
        cell(subject.name, size, mode)
        for subject in subjects
        for mode in batch.modes
        for size in ((FIXED_SIZES[mode],) if mode in FIXED_SIZES else batch.sizes)
        if subject.kind == "kernel" or mode != "init"
    ]
    machine = Machine(where.cpu, where.features, 2.5, "abc")
    return Results(machine, {s.name: s for s in subjects}, tuple(cells), {})


def real_candidates(*blocks: int) -> tuple[Candidate, ...]:
    """Candidates with objects, of the plainest AVX kernel."""
    nasm = find_nasm()
    out = []
    for number in blocks:
        made = make(replace(PLAIN, blocks=number), target(), nasm)
        obj = assemble_text(nasm, made.kernel.name, made.text, "elf64")
        base = candidate("avx", number, sha256(made.code), made.audit.features)
        size = sum(made.audit.code_bytes.values())
        out.append(replace(base, unit=replace(base.unit, obj=obj), code_bytes=size))
    return tuple(out)

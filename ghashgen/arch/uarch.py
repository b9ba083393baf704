"""The types of a microarchitecture's table: execution ports, latencies, window.

A table says, for forms of instructions, the uops of each on which ports, the fused uops that the
front end issues, and the latency. A form is a mnemonic and the kinds of its operands, as the
architecture's decoder spells it (`Decoder.form`).
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from ghashgen.arch.decoder import Decoder, Native


def spell(mnemonic: str, kinds: Iterable[str]) -> str:
    """Return the form of a mnemonic and its operand kinds."""
    return f"{mnemonic} {','.join(kinds)}".rstrip()


def is_memory(kind: str) -> bool:
    """Whether an operand kind is read from or written to memory; an address alone is not."""
    return kind[:1] == "m" and kind[1:2].isdigit()


@dataclass(frozen=True)
class Latency:
    """Cycles from an operand to the result."""

    cycles: int
    exact: bool
    """False where the source gives an upper bound only."""


@dataclass(frozen=True)
class Uops:
    """A number of uops that may execute on any of some ports."""

    count: int
    ports: frozenset[str]


@dataclass(frozen=True)
class Cost:
    """One row of a table, as it applies to one form."""

    form: str
    uops: tuple[Uops, ...] | None
    """None where there is no data; empty where no execution unit is needed."""
    fused: int
    """Fused-domain uops (macro-ops on AMD) that the front end issues."""
    latency: Latency | None
    """From the slowest register operand to the result."""
    load_latency: Latency | None
    """From the address of the memory operand to the result."""
    sources: tuple[str, ...]
    doubt: str
    """Where sources disagree or fall short."""


@dataclass(frozen=True)
class Fusion:
    """Two adjacent instructions that issue as one uop."""

    first: frozenset[str]
    """Mnemonics; the operands are registers and immediates."""
    second: frozenset[str]
    cost: Cost


@dataclass(frozen=True)
class Uarch:
    """A microarchitecture."""

    name: str
    title: str
    aliases: tuple[str, ...]
    suffix: str
    """How the names of kernels end that are scheduled for it."""
    llvm: str
    """Its -mcpu name for LLVM."""
    llvm_resources: str
    """How the resources of LLVM's own model of it begin; releases before that lend another's."""
    ports: tuple[str, ...]
    """Execution ports, or throughput limits that act like one (the file says which)."""
    issue: int
    """Fused-domain uops issued per cycle."""
    window: int
    """Fused-domain uops in flight: the reorder buffer, or retire queue."""
    closed_by_512: frozenset[str]
    """Ports that take no vector uop while 512-bit instructions are in flight."""
    features: frozenset[str]
    """CPU features, as the decoder's library names them."""
    always: frozenset[str]
    """Those that every CPU of the architecture has."""
    sources: Mapping[str, str]
    costs: Mapping[str, Cost]
    """By form."""
    fusions: tuple[Fusion, ...]
    decoder: Decoder = field(compare=False, repr=False)
    """Reads the instructions that the table is about."""

    def fuses(self, first: str, second: str) -> Cost | None:
        """Return the cost of two adjacent instructions that fuse, by their forms."""
        name, _, operands = first.partition(" ")
        if any(map(is_memory, operands.split(","))):
            return None
        following = second.partition(" ")[0]
        found = (f for f in self.fusions if name in f.first and following in f.second)
        return next((fusion.cost for fusion in found), None)

    def lacks(self, instructions: Iterable[Native]) -> tuple[str, ...]:
        """Return the CPUID features that these instructions need and this CPU has not."""
        return self.without(self.decoder.needs(instructions))

    def without(self, features: Iterable[str]) -> tuple[str, ...]:
        """Return those of the CPUID features that this CPU has not."""
        return tuple(sorted(set(features) - self.features - self.always))

"""The types of a microarchitecture's table: execution ports, latencies, window.

For each form of instruction, a table has the uops on each set of ports, the fused uops that the
front end issues, and the latency. A form is a mnemonic and the kinds of its operands, as spelled by
the architecture's decoder (`Decoder.form`).
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from ghashgen.arch.decoder import Decoder, Native


def spell(mnemonic: str, kinds: Iterable[str]) -> str:
    """Return the form of a mnemonic and its operand kinds."""
    return f"{mnemonic} {','.join(kinds)}".rstrip()


def is_memory(kind: str) -> bool:
    """Return whether an operand kind is read from or written to memory; an address alone is not."""
    return kind[:1] == "m" and kind[1:2].isdigit()


@dataclass(frozen=True)
class Latency:
    """Cycles from an operand to the result."""

    cycles: int
    exact: bool
    """False if the source gives only an upper bound."""


@dataclass(frozen=True)
class Uops:
    """A number of uops that may each execute on any of some ports."""

    count: int
    ports: frozenset[str]


@dataclass(frozen=True)
class Cost:
    """One row of a table, applied to one form."""

    form: str
    uops: tuple[Uops, ...] | None
    """None without data; empty if no execution unit is needed."""
    fused: int
    """Fused-domain uops (macro-ops on AMD) that the front end issues."""
    latency: Latency | None
    """From the slowest register operand to the result."""
    load_latency: Latency | None
    """From the address of the memory operand to the result."""
    sources: tuple[str, ...]
    doubt: str
    """Where sources disagree or are incomplete."""


@dataclass(frozen=True)
class Fusion:
    """Two adjacent instructions that issue as one uop."""

    first: frozenset[str]
    """Mnemonics whose operands are registers and immediates."""
    second: frozenset[str]
    cost: Cost


@dataclass(frozen=True)
class Label:
    """The part of a microarchitecture's table that the kernels scheduled for it need to be named
    and refused.
    """

    suffix: str
    """The end of their names."""
    features: frozenset[str]
    """As in `Uarch`."""


@dataclass(frozen=True)
class Uarch:
    """A microarchitecture."""

    name: str
    title: str
    aliases: tuple[str, ...]
    suffix: str
    """The end of the names of kernels scheduled for it."""
    llvm: str
    """Its -mcpu name for LLVM."""
    llvm_resources: str
    """The beginning of the resource names in LLVM's own model; earlier releases use another core's
    model.
    """
    ports: tuple[str, ...]
    """Execution ports, or throughput limits that act like one (the file says which)."""
    issue: int
    """Fused-domain uops issued per cycle."""
    window: int
    """Fused-domain uops in flight: the reorder buffer, or retire queue."""
    closed_by_512: frozenset[str]
    """Ports that take no vector uop while 512-bit instructions are in flight."""
    features: frozenset[str]
    """CPU features, by the decoder library's names."""
    always: frozenset[str]
    """Features that every CPU of the architecture has."""
    sources: Mapping[str, str]
    costs: Mapping[str, Cost]
    """By form."""
    fusions: tuple[Fusion, ...]
    decoder: Decoder = field(compare=False, repr=False)
    """Reads the instructions that the table is about."""

    def fuses(self, first: str, second: str) -> Cost | None:
        """Return the cost of two adjacent instructions if they fuse, by their forms."""
        name, _, operands = first.partition(" ")
        if any(map(is_memory, operands.split(","))):
            return None
        following = second.partition(" ")[0]
        found = (f for f in self.fusions if name in f.first and following in f.second)
        return next((fusion.cost for fusion in found), None)

    def lacks(self, instructions: Iterable[Native]) -> tuple[str, ...]:
        """Return the CPUID features that these instructions need and this CPU lacks."""
        return self.without(self.decoder.needs(instructions))

    def without(self, features: Iterable[str]) -> tuple[str, ...]:
        """Return which of the CPUID features this CPU lacks."""
        return tuple(sorted(set(features) - self.features - self.always))

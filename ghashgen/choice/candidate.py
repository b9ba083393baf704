"""The kernels to choose from, as a manifest describes them, and their conventional order."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from ghashgen.arch.registry import isas
from ghashgen.choice.families.registry import questions
from ghashgen.choice.questions import Question
from ghashgen.choice.rule import Simplicity
from ghashgen.kernels.core import Value
from ghashgen.kernels.families import DEFAULT, families
from ghashgen.kernels.manifest import Entry, TableEntry

TOGETHER = frozenset({"avx512bw", "avx512dq", "avx512vl"})
"""Features of which no CPU has one alone. A kernel that needs one is offered where all are: else
kernels would be chosen, and linked, for a CPU that does not exist."""

BELOW_AVX_512 = frozenset({"avx2"})
"""What every CPU with these has."""

BELOW_AVX = frozenset({"sse2", "ssse3", "sse4_1"})
"""Features that every CPU with AVX has. Kernels that need AVX do not name them."""


@dataclass(frozen=True)
class Candidate:
    """A kernel that may be chosen."""

    entry: Entry
    measured_code: str = ""
    """`text_sha256` of `measured_as`, if the manifest has it as kernels are measured: for System V,
    with a table aligned as the instructions need.
    """

    @property
    def name(self) -> str:
        """The kernel's name."""
        return self.entry.name

    @cached_property
    def question(self) -> Question:
        """The question of its family."""
        return questions()[self.entry.family]

    @cached_property
    def given(self) -> Value:
        """The given that is no choice: the operation, or the key size."""
        return self.entry.axes[self.question.given]

    @property
    def isa(self) -> str:
        """Its instruction set."""
        return self.entry.isa

    @property
    def abi(self) -> str:
        """Its calling convention."""
        return self.entry.abi

    @cached_property
    def needs(self) -> frozenset[str]:
        """CPU features that it is offered for."""
        needs = frozenset(self.entry.cpu_features)
        return needs | TOGETHER if needs & TOGETHER else needs

    @property
    def table(self) -> TableEntry:
        """Its table."""
        return self.entry.table

    @cached_property
    def code_bytes(self) -> int:
        """Size of all its functions in bytes."""
        return sum(self.entry.code_bytes.values())

    @cached_property
    def _hash(self) -> int:
        return hash((self.name, self.abi))

    def __hash__(self) -> int:
        return self._hash

    @cached_property
    def measured_as(self) -> str:
        """The kernel whose figures count for this one."""
        return self.question.measured_as(self.name, self.entry.axes)

    @property
    def blocks(self) -> int:
        """Blocks in a group."""
        return int(self.entry.axes["blocks"])

    def exports(self, functions: Iterable[str]) -> bool:
        """Return whether it has these functions."""
        return set(functions) <= self.entry.symbols.keys()

    @cached_property
    def place(self) -> int:
        """The place of its instruction set in the convention; the widest has 0."""
        return isa_place(self.isa, self.entry.family)

    @cached_property
    def away(self) -> int:
        """Number of axes that are not at their defaults."""
        return sum(
            self.entry.axes.get(axis.name, axis.default) != axis.default
            for axis in families()[self.entry.family].axes
            if axis.default is not None and axis.name != self.question.given
        )

    @cached_property
    def simplicity(self) -> Simplicity:
        """Its simplicity; less is simpler."""
        return self.code_bytes, self.table.bytes, self.away, self.name

    @cached_property
    def rank(self) -> tuple[tuple[int, ...], int, Simplicity]:
        """Its rank in the convention; less is preferred."""
        places = tuple(
            values.index(value) if value in values else len(values)
            for axis, values in families()[self.entry.family].preference.items()
            for value in (self.entry.axes[axis],)
        )
        return places, self.away, self.simplicity


def isa_place(isa: str, family: str) -> int:
    """Return the place of an instruction set in a family's convention; the widest has 0."""
    known = families()[family].preference["isa"]
    return known.index(isa) if isa in known else len(known)


def candidates(entries: Iterable[Entry], family: str = DEFAULT) -> tuple[Candidate, ...]:
    """Return a manifest's kernels of a family that may be recommended, sorted by name.

    Compact kernels are for who needs little code. Speed does not choose them.
    """
    own = (entry for entry in entries if entry.family == family)
    entries = tuple(entry for entry in own if not entry.axes.get("compact"))
    codes = {entry.name: entry.object.text_sha256 for entry in entries if _as_measured(entry)}
    found = map(Candidate, sorted(entries, key=lambda entry: entry.name))
    return tuple(replace(one, measured_code=codes.get(one.measured_as, "")) for one in found)


def _as_measured(entry: Entry) -> bool:
    isa = isas().get(entry.isa)
    measured = isa is not None and entry.table.align == isa.operand_align
    return measured and entry.abi == "sysv"


def without_needless_wipes(pool: Sequence[Candidate]) -> list[Candidate]:
    """Return the candidates without those that wipe, if their instruction set has others.

    Speed does not decide what a kernel promises.
    """
    plain = {c.isa for c in pool if not c.entry.axes["wipe"]}
    return [c for c in pool if not c.entry.axes["wipe"] or c.isa not in plain]


def preferred(pool: Sequence[Candidate], functions: frozenset[str]) -> list[Candidate]:
    """Return the candidates with these functions, and the others of sets in which none has them."""
    able = {c.isa for c in pool if c.exports(functions)}
    return [c for c in pool if c.exports(functions) or c.isa not in able]


def levels(pool: Iterable[Candidate]) -> list[frozenset[str]]:
    """Return every set of features that decides which candidates can run, the largest first.

    A CPU's level is the union of the features that the kernels it can run need. Features that no
    kernel needs do not matter.
    """
    found, each = {frozenset[str]()}, {c.needs for c in pool}
    below = BELOW_AVX_512 & frozenset[str]().union(*each)
    for needs in sorted(each, key=sorted):
        found |= {one | needs | (below if needs & TOGETHER else set()) for one in found}
    return sorted(found - {frozenset()}, key=lambda one: (-len(one), sorted(one)))

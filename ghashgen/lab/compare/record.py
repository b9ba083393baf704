"""The result of a comparison: rows of figures, as values and as JSON
(docs/compare/STUDY/CPU.json).
"""

import json
from pathlib import Path

from msgspec import Struct, to_builtins

from ghashgen.lab.compare.core import Study
from ghashgen.support.documents import Document

FOLDER = "docs/compare"
"""The folder of records, below the project's root: one folder for each study, one file for each
CPU.
"""


class Figure(Struct, frozen=True, forbid_unknown_fields=True):
    """One row at one size, in core cycles per call; ratios as in `lab.compare.core`."""

    size: int
    """Message size in bytes."""
    cycles: float
    """The median over processes of their medians."""
    low: float
    """The lowest first quartile of any process."""
    high: float
    """The highest third quartile."""
    ratio: float | None
    """The median over processes of their ratios; None if the baseline has no figure."""
    ratio_low: float | None
    """The lowest ratio of any process."""
    ratio_high: float | None
    processes: int
    """Number of processes that count: those with at least half as many samples as the best."""
    kept: int
    """Number of samples."""
    dropped: int

    @property
    def per_byte(self) -> float:
        """Core cycles per byte of the message."""
        return self.cycles / self.size


class Row(Struct, frozen=True, forbid_unknown_fields=True):
    """One variant; `missing` says why it has no figure at all."""

    group: str
    label: str
    subject: str
    constant_time: bool
    digest: str
    """SHA-256 of a kernel's code, as in MANIFEST.json; "" for C."""
    missing: str
    figures: tuple[Figure, ...]
    table_bytes: int = 0
    """Size of its table or context in bytes; 0 in records that do not say."""

    def figure(self, size: int) -> Figure | None:
        """Return the figure of a size, if there is one."""
        return next((found for found in self.figures if found.size == size), None)


class Record(Struct, frozen=True, forbid_unknown_fields=True):
    """A whole comparison, and what it was measured on."""

    study: str
    machine: str
    clock_ghz: float
    sources: str
    """Commit of the project, with + if the tree had changes."""
    mode: str
    processes: int
    samples: int
    """Requested samples of each figure in each process."""
    sizes: tuple[int, ...]
    rows: tuple[Row, ...]


def path_of(root: Path, study: Study, slug: str) -> Path:
    """Return the path of a study's record of a CPU; see `records.cpus.slug_of`."""
    return root / FOLDER / study.name / f"{slug}.json"


def records_of(root: Path, study: Study) -> tuple[Record, ...]:
    """Return a study's records of all CPUs, by the CPU's slug.

    Raises:
        GhashgenError: a file is not a record.
    """
    return tuple(load(path) for path in sorted((root / FOLDER / study.name).glob("*.json")))


def as_json(record: Record) -> str:
    """Return the record as JSON text."""
    return json.dumps(to_builtins(record), indent=1, ensure_ascii=False) + "\n"


_FILE = Document(Record, "is no stored comparison", "measure again with --record, or delete it")


def load(path: Path) -> Record:
    """Return a record.

    Raises:
        GhashgenError: the file is not a record.
    """
    return _FILE.read(path)

"""Measures kernels against peers in one process; what each module does stands in its first line."""

from ghashgen.lab.bench.contest import CONTESTS, Contest
from ghashgen.lab.bench.run import QUICK, Effort, bench
from ghashgen.records.core import (
    QUICK_SIZES,
    SIZES,
    Cell,
    Machine,
    Results,
    Run,
    Subject,
)

__all__ = [
    "CONTESTS",
    "QUICK",
    "QUICK_SIZES",
    "SIZES",
    "Cell",
    "Contest",
    "Effort",
    "Machine",
    "Results",
    "Run",
    "Subject",
    "bench",
]

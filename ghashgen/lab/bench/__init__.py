"""Measures kernels and peers in one process; each module's first line says what it does."""

from ghashgen.lab.bench.contest import Contest, contests
from ghashgen.lab.bench.run import QUICK, Effort, bench
from ghashgen.records.core import QUICK_SIZES, SIZES, Cell, Machine, Results, Run, Subject

__all__ = [
    "QUICK", "QUICK_SIZES", "SIZES", "Cell", "Contest", "Effort", "Machine", "Results", "Run",
    "Subject", "bench", "contests",
]  # fmt: skip

"""Measures kernels against peers in one process; what each module does stands in its first line."""

from ghashgen.lab.bench.run import PEER_CHOICES, QUICK, Effort, bench
from ghashgen.records.core import (
    DEFAULT_MODES,
    MODES,
    QUICK_SIZES,
    SIZES,
    Cell,
    Machine,
    Results,
    Run,
    Subject,
)

__all__ = [
    "DEFAULT_MODES",
    "MODES",
    "PEER_CHOICES",
    "QUICK",
    "QUICK_SIZES",
    "SIZES",
    "Cell",
    "Effort",
    "Machine",
    "Results",
    "Run",
    "Subject",
    "bench",
]

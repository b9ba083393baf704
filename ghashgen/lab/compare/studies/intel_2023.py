"""AES-GCM with the baseline multiplication of papers/intel-2023, with its K, and with winograd.

This repeats the paper's Tables 12 and 13: whole messages encrypted, with 12 bytes of AAD each, by
two versions of a library. The kernels of a group differ only in multiplication and reduction, the
columns of Table 11; instruction set, key size and blocks per group are the same.
"""

from ghashgen.kernels.gcm.kernel import GcmKernel
from ghashgen.lab.bench.families.gcm import CONTEST as AES_GCM
from ghashgen.lab.compare.core import Group, PaperRow, Study, Variant

SIZES = (64, 128, 256, 512, 2048, 16384)
"""The sizes of Tables 12 and 13."""

_SCHEMES = (
    ("baseline", "schoolbook", "clmul3"),
    ("K", "k", "clmul1"),
    ("winograd", "winograd", "clmul1"),
)


def _group(key: int, isa: str, blocks: int) -> Group:
    rows = tuple(
        Variant(label, GcmKernel(key, isa, multiply, reduce, blocks))
        for label, multiply, reduce in _SCHEMES
    )
    return Group(f"AES-{key}, {isa} x{blocks}", rows)


def _row(label: str, table: int, *ratios: float) -> PaperRow:
    source = f"papers/intel-2023, Table {table}"
    return PaperRow(label, source, dict(zip(reversed(SIZES), ratios, strict=True)))


PAPER = (
    _row("AES-GCM-128, 3rd Gen Xeon", 12, 1.09, 1.05, 1.16, 1.14, 1.12, 1.26),
    _row("AES-GCM-128, 4th Gen Xeon", 12, 1.10, 1.07, 1.08, 1.24, 1.22, 1.43),
    _row("AES-GCM-256, 3rd Gen Xeon", 13, 1.07, 1.11, 1.16, 1.16, 1.22, 1.16),
    _row("AES-GCM-256, 4th Gen Xeon", 13, 1.00, 1.02, 1.09, 1.26, 1.23, 1.38),
)
"""The ratios of Tables 12 and 13."""

STUDY = Study(
    name="intel-2023",
    title="AES-GCM with the baseline multiplication, with K, and with winograd",
    source="papers/intel-2023, Tables 11 to 13",
    mode="seal",
    contest=AES_GCM,
    sizes=SIZES,
    groups=tuple(
        _group(key, isa, blocks)
        for key in (128, 256)
        for isa, blocks in (("avx", 8), ("avx512", 16), ("avx512", 32))
    ),
    paper_rows=PAPER,
    differs=(
        "The paper's ratios compare two versions of a library, which differ in more than the "
        "multiplication. The new version also adds up lanes at the end (Figure 9), which the "
        "kernels here do not do while they encrypt.",
        "On the paper's machines one unit makes 512-bit carry-less products and another does "
        "AES rounds. Where the same units do both, products take time from AES.",
    ),
)

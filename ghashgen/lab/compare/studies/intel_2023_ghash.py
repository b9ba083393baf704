"""The baseline of papers/intel-2023, its K, and Winograd's product on top of K.

The paper compares two versions of a library by whole AES-GCM encryption of a message with 12 bytes
of AAD (Tables 12 and 13). Here only the GHASH part is measured: the same three calls for each
message (AAD, message, lengths) without AES. The kernels of a group differ only in multiplication
and reduction, the columns of Table 11; instruction set and blocks per group are the same.
"""

from ghashgen.arch.registry import isas
from ghashgen.kernels.hash.kernel import Kernel
from ghashgen.lab.compare.core import Group, Study, Variant
from ghashgen.lab.compare.studies.intel_2023 import PAPER, SIZES
from ghashgen.records.core import GCM


def _group(isa: str, blocks: int) -> Group:
    """Return baseline, K and winograd; for wide sets also with lanes added at the end."""
    rows = [Variant("baseline", Kernel(isa, "schoolbook", "clmul3", blocks))]
    for fold in ("group", "end") if isas()[isa].lanes > 1 else ("group",):
        for multiply, name in (("k", "K"), ("winograd", "winograd")):
            label = name if fold == "group" else f"{name}, lanes at the end"
            rows.append(Variant(label, Kernel(isa, multiply, "clmul1", blocks, fold=fold)))
    return Group(f"{isa} x{blocks}", tuple(rows))


STUDY = Study(
    name="intel-2023-ghash",
    title="the baseline multiplication against K and winograd, three calls per message",
    source="papers/intel-2023, Tables 11 to 13",
    mode=GCM,
    sizes=SIZES,
    groups=tuple(
        _group(isa, blocks)
        for isa, blocks in (("avx", 1), ("avx", 8), ("avx", 16), ("avx512", 16), ("avx512", 48))
    ),
    paper_rows=PAPER,
    differs=(
        "The paper's ratios are for whole AES-GCM encryption by two versions of a library, so "
        "AES is in both. The ratios here are for GHASH alone.",
        "The paper's new version also adds up lanes at the end (Figure 9). Only wide registers "
        "allow that; the rows say which kernels do it.",
        "In every kernel here, the blocks after the last whole group form one more group with "
        "one reduction, and an update of one block takes a shorter path. The paper does not say "
        "what its library does there.",
    ),
)

"""C against three ways to use PCLMULQDQ, one block at a time (papers/solaris), and ours.

The paper names four implementations and measures them in seconds of user time for the same work:
the C of Solaris, "not optimized with lookup tables", and Intel's school book, linear folding and
Karatsuba. It shows the code of one. What stands for each here:

C                SP 800-38D, algorithm 1, one bit a step, with masks in place of its two branches;
                 then three C kernels that the paper does not have: with the branches, with a table
                 of 4 bits (Shoup), by integer products
school book      four products, reduction by shifts and xors
linear folding   "replaces the most significant bits of a quantity with a product times a constant":
                 four products, reduction by two folds with Q
Karatsuba        three products, reduction by shifts and xors
"""

from ghashgen.kernels.hash.kernel import Kernel
from ghashgen.lab.compare.core import Group, Study, Variant

_C, _SCHOOLBOOK, _FOLDING, _KARATSUBA = 7.83, 1.18, 1.36, 1.19
"""Seconds of user time."""

STUDY = Study(
    name="solaris",
    title="C, school book, linear folding and Karatsuba, one block at a time, and ours",
    source="papers/solaris",
    mode="throughput",
    sizes=(16, 64, 256, 1024, 4096, 16384),
    time_source=("papers/solaris, Performance of Carryless Multiply Methods, seconds of user time"),
    groups=(
        Group(
            "one block at a time",
            (
                Variant("C, masks", "ref_bitwise", _C),
                Variant("C, branches", "ref_branching", None, False),
                Variant("C, 4-bit table", "ref_4bit", None, False),
                Variant("C, integer products", "ref_ctmul64"),
                Variant("school book", Kernel("sse", "schoolbook", "shift-xor", 1), _SCHOOLBOOK),
                Variant("linear folding", Kernel("sse", "schoolbook", "clmul2", 1), _FOLDING),
                Variant("Karatsuba", Kernel("sse", "karatsuba", "shift-xor", 1), _KARATSUBA),
                Variant("K", Kernel("sse", "k", "clmul1", 1)),
                Variant("ours, 1 block", Kernel("sse", "winograd", "clmul1", 1)),
                Variant("ours, 8 blocks", Kernel("sse", "winograd", "clmul1", 8)),
                # No ymm registers: during C code that takes milliseconds, a core puts them to
                # sleep.
                Variant("ours, 16, AVX", Kernel("avx", "winograd", "clmul1", 16)),
            ),
        ),
    ),
    differs=(
        "The paper gives one time for each variant. It does not give the size of the message "
        "or, for these times, the processor.",
        "The paper prints the products of one kernel only. It calls that kernel Karatsuba, but "
        "it makes the four products of schoolbook. Karatsuba here makes three.",
        "The kernels here keep H·x^−1 in their table (papers/intel-2010), and Karatsuba also "
        "keeps B0 + B1. The paper's kernel multiplies two operands without a table.",
        "The paper does not print the C that it measured. Algorithm 1, one bit a step, is the "
        "plain reading of C without lookup tables. It was measured in two forms; the first row "
        "is the faster one, and the other ratios refer to it. The other form is slower because "
        "branches on random bits are mispredicted.",
    ),
)

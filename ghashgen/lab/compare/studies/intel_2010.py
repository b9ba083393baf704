"""AES-GCM stitched and not (papers/intel-2010): SSE, Karatsuba, deferred recombination, H<<1.

The paper stitches AES with the GHASH of the blocks before, four blocks a turn, multiplies by
Karatsuba, adds the three products up over the group before it recombines them, and keeps H<<1 in
its table. All of this is what a kernel here does with these schemes.
"""

from ghashgen.kernels.gcm.kernel import GcmKernel
from ghashgen.lab.bench.contest import AES_GCM
from ghashgen.lab.compare.core import Group, PaperRow, Study, Variant

_APART = Variant("OpenSSL, AES and then GHASH", "openssl_apart_128", rival="openssl_stitched")


def _ours(label: str, isa: str, multiply: str, reduce: str, blocks: int) -> Variant:
    return Variant(label, GcmKernel(128, isa, multiply, reduce, blocks))


STUDY = Study(
    name="intel-2010",
    title="stitched AES-GCM with Karatsuba, deferred recombination and H<<1",
    source="papers/intel-2010, Performance",
    mode="seal",
    contest=AES_GCM,
    sizes=(48, 64, 128, 256, 512, 1024, 2048, 16384),
    groups=(
        Group(
            "AES-128",
            (
                _APART,
                Variant("OpenSSL, stitched", "openssl_stitched_128", rival="openssl_stitched"),
                _ours("ours, 4 blocks", "sse", "karatsuba", "shift-xor", 4),
                _ours("ours, 8 blocks", "sse", "karatsuba", "shift-xor", 8),
                _ours("ours, K", "sse", "k", "clmul1", 8),
                _ours("ours, AVX", "avx", "winograd", "clmul1", 8),
            ),
        ),
    ),
    paper_rows=(
        PaperRow(
            "stitched, two threads on one core",
            "papers/intel-2010, Figure 8 and text",
            per_byte={48: 6.4, 16384: 2.8},
        ),
    ),
    differs=(
        "The paper's cycles are of a Core i5 650, two threads on one core, half of the time of "
        "both; here one thread has the core. It says 2.8 of large buffers, which stands here at "
        "16 KiB.",
        "The paper has no figures of AES and GHASH apart. What stands for it is OpenSSL's counter "
        "mode over the whole message and then its GHASH, beside OpenSSL's own stitched code, which "
        "starts at 288 bytes and needs MOVBE and AVX.",
    ),
)

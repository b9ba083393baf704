"""One message in threads: started in each call, and from a pool (papers/kryptus).

The paper cuts a message into a contiguous segment a thread, starts the threads in the call, and
combines by powers of H. It measures AES-GCM of BearSSL's C; here GHASH alone is measured, by the
same kind of C and by kernels, and AES-GCM by kernels. A pool, AAD and CPU instructions are its
future work.

Ways, as harness/threads/ways.c has them, each with its number of threads:

one        the caller alone
spawn      a thread a piece, started and joined in the call: the paper's Algorithm 1
pool       the runtime's pool, whose idle threads look for work before they sleep
sleeping   a pool, whose idle threads sleep at once
digits     H^m alone, by the powers that a pool's key holds
bits       H^m alone, one bit of m a turn: NAME_power

interleaved  the pool, each thread taking every n-th block, as many as there are threads:
             NAME_column, by a table of H^n
seal, open   NAME_seal and NAME_open, in one call; with -pool and -sleeping the same by a pool
"""

from dataclasses import replace

from ghashgen.kernels.gcm.kernel import GcmKernel
from ghashgen.kernels.hash.kernel import Kernel
from ghashgen.lab.bench.threads import MODE, THREADED, bench_threads
from ghashgen.lab.compare.core import Derived, Group, PaperRow, Study, Variant
from ghashgen.lab.compare.crossover import SAYS as CROSSOVERS
from ghashgen.lab.compare.crossover import crossovers
from ghashgen.lab.compare.record import Record
from ghashgen.lab.compare.scaling import SAYS, scaling
from ghashgen.support.tables import Table

_SERIAL = {1024: 445.43, 8192: 480.18, 8 << 20: 486.17}
_FOUR = {1024: 63.18, 8192: 529.05, 8 << 20: 1613.31}
_EIGHT = {1024: 33.48, 8192: 444.88, 8 << 20: 1620.74}
"""MiB/s, papers/kryptus, Table 1."""


def _ratios(threads: dict[int, float]) -> dict[int, float]:
    return {size: rate / _SERIAL[size] for size, rate in threads.items()}


def _interleaved(subject: Kernel | str) -> tuple[Variant, ...]:
    """Return the variants of a kernel that takes every n-th block; C has none."""
    if isinstance(subject, str):
        return ()
    return tuple(
        Variant(
            f"pool, interleaved, {threads} threads",
            replace(subject, columns=threads),
            way=f"interleaved {threads}",
        )
        for threads in (2, 4)
    )


def _ways(title: str, subject: Kernel | str) -> Group:
    return Group(
        title,
        (
            Variant("one thread", subject, way="one 1"),
            *(
                Variant(f"{label}, {threads} threads", subject, way=f"{way} {threads}")
                for threads in (2, 4)
                for label, way in (
                    ("started in the call", "spawn"),
                    ("pool, asleep", "sleeping"),
                    ("pool", "pool"),
                )
            ),
            *_interleaved(subject),
        ),
    )


def _texts(title: str, subject: GcmKernel, function: str) -> Group:
    return Group(
        title,
        (
            Variant("one call", subject, way=f"{function} 1"),
            *(
                Variant(f"{label}, {threads} threads", subject, way=f"{function}-{way} {threads}")
                for threads in (2, 4)
                for label, way in (("pool, asleep", "sleeping"), ("pool", "pool"))
            ),
        ),
    )


_AVX = Kernel("avx", "winograd", "clmul1", 16, segments=True)
_AVX512 = Kernel("avx512", "winograd", "clmul1", 16, segments=True)
_GCM_AVX = GcmKernel(128, "avx", "winograd", "clmul1", 8, segments=True)
_GCM_AVX512 = GcmKernel(128, "avx512", "k", "clmul1", 32, segments=True)

_PAPER = (
    PaperRow("4 threads", "papers/kryptus, Table 1", _ratios(_FOUR)),
    PaperRow("8 threads", "papers/kryptus, Table 1", _ratios(_EIGHT)),
)


def _crossovers(record: Record) -> Table:
    return crossovers(record, _PAPER)


STUDY = Study(
    name="kryptus",
    title="one message in threads",
    source="papers/kryptus-parallel-ghash-contiguous",
    mode=MODE,
    sizes=(
        1 << 10,
        1 << 12,
        1 << 13,
        1 << 14,
        1 << 15,
        1 << 16,
        1 << 18,
        1 << 20,
        1 << 23,
        1 << 26,
    ),
    groups=(
        _ways("C, integer products", "ref_ctmul64"),
        _ways("AVX", _AVX),
        _ways("AVX-512", _AVX512),
        *(
            _texts(f"AES-128-GCM, {name}, {function}", kernel, function)
            for name, kernel in (("AVX", _GCM_AVX), ("AVX-512", _GCM_AVX512))
            for function in ("seal", "open")
        ),
        Group(
            "H^m of half a message, alone",
            (
                Variant("one bit a turn", _AVX, way="bits 1"),
                Variant("digits of the key's", _AVX, way="digits 1"),
            ),
        ),
    ),
    paper_rows=_PAPER,
    contest=THREADED,
    bench=bench_threads,
    derived=(Derived(_crossovers, CROSSOVERS), Derived(scaling, SAYS)),
    differs=(
        "The paper measures AES-GCM with BearSSL's C on four cores of a Core i7-10510U, each "
        "figure five times. Its ratios compare MiB/s with those of its serial version. Here "
        "GHASH is measured alone, and AES-GCM with 13 bytes of AAD, on as many cores as the "
        "machine has. Rows with more threads than cores show what too large a pool costs.",
        "The C with integer products is this project's. It uses the method that BearSSL's "
        "br_ghash_ctmul64 made popular.",
        "Here every message is divided, however short; a pool with its defaults leaves short ones "
        "to the caller (docs/threads.md). The pool's crossover is set to what the kernel hashes in "
        "500 ns, or to the length of the message if that is less.",
        "Calls repeat until the threads are awake, and then the measurement starts. For a "
        "sleeping pool, the threads go to sleep after each call. Threads find in their caches "
        "what the call before left there.",
    ),
)

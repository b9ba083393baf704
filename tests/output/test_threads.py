"""The runtime for threads: emitted, compiled, and right whatever threads, callers and hosts do."""

import shutil
import subprocess
from functools import cache
from pathlib import Path

import pytest
from helpers.cpus import AS_FOUND, lacking
from helpers.installed import installed
from helpers.threading_runtime import STRESS, Driver, build, edited, runtime
from helpers.valgrind import VALGRIND_H, under_valgrind

from ghashgen.algebra.field.bitorder import xor_blocks
from ghashgen.algebra.field.ghash import multiply_blocks
from ghashgen.arch.x86_64.assemblers import find_nasm
from ghashgen.check.validation.pyca import encrypt_block, gcm
from ghashgen.kernels.hash.kernel import Kernel
from ghashgen.kernels.target import target
from ghashgen.output.generate import generate
from ghashgen.output.threads import rendered
from ghashgen.support.errors import GhashgenError
from ghashgen.support.toolchain import Tool, assemble

KERNELS = tuple(
    Kernel(isa, "winograd", "clmul1", 16, segments=True)
    for isa in ("sse", "avx", "avx2", "avx512vl", "avx512")
)
WRAPPED = tuple(
    f"-Wl,--wrap={name}" for name in ("pthread_create", "pthread_cond_broadcast", "calloc")
)
SLEEPS, SPINS = 0, 2_000_000
"""Nanoseconds for which idle threads look for work."""
HANGS = 5
"""Seconds after which a wrong runtime has not come to an end; a right one takes a fraction."""
LATE = 2_000_000
"""Nanoseconds that the pool's threads lose in every piece."""


@pytest.fixture(scope="module")
def reference(tmp_path_factory: pytest.TempPathFactory) -> Driver:
    """The driver with C for the hash."""
    folder = tmp_path_factory.mktemp("threads")
    return build(folder, runtime(), defines=("FAILING_STARTS",), linking=WRAPPED)


@pytest.fixture(scope="module")
def kernels(tmp_path_factory: pytest.TempPathFactory) -> Driver:
    """The driver with the kernels that the dispatcher takes here."""
    return with_kernels(tmp_path_factory.mktemp("kernels"))


def with_kernels(folder: Path) -> Driver:
    output = generate(KERNELS, target(), folder, threads=True)
    objects = []
    for source in sorted(folder.glob("*/*.asm")):
        objects.append(source.with_suffix(".o"))
        assemble(find_nasm(), source, objects[-1])
    files = {name: text for name, text in output.files.items() if name.endswith((".c", ".h"))}
    return build(folder / "linked", files, objects=objects, reference=False)


def right(driver: Driver, *words: object) -> bool:
    """Whether all was right; a word of what was not is printed."""
    answer = driver.run(*words)
    if answer.returncode:
        print(answer.stdout, answer.stderr)
    return answer.returncode == 0


# --- What is hashed


@pytest.mark.parametrize(("crossover", "spin"), [(0, SLEEPS), (0, 5000), (512, 5000)])
@pytest.mark.parametrize("threads", range(1, 10))
def test_lengths_to_64_kib_are_hashed_as_by_one_thread(
    reference: Driver, threads: int, crossover: int, spin: int
) -> None:
    assert right(reference, "sweep", 65536, threads, 317, 65536, crossover, spin)


@pytest.mark.parametrize("threads", [2, 3, 9])
def test_every_length_of_few_groups(reference: Driver, threads: int) -> None:
    """More threads than groups, than blocks, than bytes."""
    assert right(reference, "sweep", 2200, threads, 1, 2200, 0, 1000)


def test_long_aad_is_cut_as_well(reference: Driver) -> None:
    assert right(reference, "long-aad", 6000, 4)


@pytest.mark.cpu
def test_what_the_dispatcher_takes_hashes_megabytes(kernels: Driver) -> None:
    answer = kernels.run("sweep", 6_000_000, 3, 104_729, 6_000_000, 4096, 1000)
    assert answer.returncode == (4 if lacking(("pclmulqdq", "sse2", "ssse3")) else 0), answer.stdout
    if answer.returncode == 0:
        for threads in (2, 9):
            assert right(kernels, "sweep", 65536, threads, 61, 65536, 0, SLEEPS)


@pytest.mark.cpu(AS_FOUND)
@pytest.mark.parametrize("threads", [2, 5])
def test_random_lengths_to_64_mib(kernels: Driver, threads: int) -> None:
    answer = kernels.run("random", 64 << 20, threads, 150 * STRESS, threads)
    assert answer.returncode == (4 if lacking(("pclmulqdq", "sse2", "ssse3")) else 0), answer.stdout


@pytest.mark.cpu(AS_FOUND)
def test_kernels_and_c_agree_with_pyca(reference: Driver, kernels: Driver) -> None:
    cases = [
        (threads, aad, length)
        for threads in (1, 2, 4, 7)
        for aad, length in ((0, 0), (20, 4099), (300, 65537), (13, 3_000_001))
    ]
    data = "\n".join(" ".join(map(str, case)) for case in cases)
    expected = [ghash_of_pyca(aad, length) for _, aad, length in cases]
    for driver in (reference, kernels):
        answer = driver.run("answer", 3_000_001, data=data)
        if answer.returncode == 4:
            continue  # the C has been compared, and this CPU can run no kernel
        states = [bytes.fromhex(line) for line in answer.stdout.split()]
        assert [finished(s, *c[1:]) for s, c in zip(states, cases, strict=True)] == expected


@cache
def ghash_of_pyca(aad_len: int, length: int) -> bytes:
    """S = T + E(J0) of the driver's AAD and message as ciphertext, under the key of zeros."""
    key, iv = bytes(16), bytes(12)
    keystream = gcm(key, iv, bytes(length), b"")[:-16]
    plain = int.from_bytes(message(length, 1000)) ^ int.from_bytes(keystream)
    sealed = gcm(key, iv, plain.to_bytes(length), message(aad_len, 0))
    assert sealed[:-16] == message(length, 1000)
    return xor_blocks(sealed[-16:], encrypt_block(key, iv + bytes([0, 0, 0, 1])))


def message(length: int, start: int) -> bytes:
    """The driver's."""
    return bytes(((i + start) * 2654435761 & 0xFFFFFFFF) >> 24 for i in range(length))


def finished(state: bytes, aad_len: int, length: int) -> bytes:
    """The state continued over the block of lengths."""
    lengths = (8 * aad_len).to_bytes(8) + (8 * length).to_bytes(8)
    return multiply_blocks(xor_blocks(state, lengths), encrypt_block(bytes(16), bytes(16)))


@pytest.mark.parametrize("group", [1, 3, 4, 5])
def test_no_thread_gets_less_than_a_cache_line(tmp_path: Path, group: int) -> None:
    driver = build(tmp_path, rendered("ghashgen", group, dispatched=False))
    assert right(driver, "small", 700, 9)


def test_less_than_a_cache_line_would_be_noticed(tmp_path: Path) -> None:
    least = "LEAST_PIECE (GROUP_BYTES * ((LINE + GROUP_BYTES - 1) / GROUP_BYTES))"
    files = rendered("ghashgen", 1, dispatched=False)
    driver = build(tmp_path, edited(files, least, "LEAST_PIECE GROUP_BYTES"))
    answer = driver.run("small", 100, 3)
    assert (answer.returncode, answer.stdout[:11]) == (1, "a piece of ")


# --- What threads and hosts do


@pytest.mark.parametrize("spin", [SLEEPS, SPINS])
def test_threads_of_the_pool_take_pieces(reference: Driver, spin: int) -> None:
    """It would not return before they have: those that sleep are woken, those that look find."""
    assert right(reference, "help", 100_000, 3, 100, spin)
    assert right(reference, "help", 100_000, 3, 20, spin, LATE)


def test_threads_that_sleep_are_woken_where_that_pays(reference: Driver) -> None:
    assert right(reference, "waking", 128 * 4096)


def test_callers_share_pools_that_come_and_go(reference: Driver) -> None:
    assert right(reference, "stress", 8000, 60 * STRESS, 20)


def test_children_of_fork_hash_and_destroy_on_their_own(reference: Driver) -> None:
    assert right(reference, "fork", 20_000, 24)


def test_a_cancelled_caller_leaves_the_pool_to_the_next(reference: Driver) -> None:
    assert right(reference, "cancel", 20_000, 40)


def test_a_caller_that_a_signal_ends_takes_no_other_with_it(reference: Driver) -> None:
    assert right(reference, "killed", 20_000, 40)


def test_no_handler_runs_in_a_thread_of_the_pool(reference: Driver) -> None:
    assert right(reference, "signals", 8000, 300)


def test_threads_that_do_not_start_are_not_missed(reference: Driver) -> None:
    assert right(reference, "failing", 20_000)


def test_calls_allocate_nothing_and_need_no_pool(reference: Driver) -> None:
    assert right(reference, "memory", 20_000)


FAULTS = {
    "a hash that is not awaited": ("            await(pool, &pool->results[i], number);\n",
        "            (void)number;\n", ("help", 100_000, 3, 20, SPINS, LATE)),
    "a piece one group off": ("job->piece = *groups * GROUP_BYTES",
        "job->piece = (*groups - 1) * GROUP_BYTES", ("sweep", 20_000, 3, 317, 20_000, 0, 0)),
    "a digit of the power forgotten": ("        begun = 1;\n", "        begun = 0;\n",
        ("sweep", 65_536, 2, 317, 65_536, 0, 0)),
    "threads that a child waits for": ("return this_process() != pool->process;",
        "return 0 * this_process();", ("fork", 8000, 3)),
    "cancellation in the midst": ("PTHREAD_CANCEL_DISABLE", "PTHREAD_CANCEL_ENABLE",
        ("cancel", 20_000, 40)),
    "cancellation in the end of a pool": ("before = defer_cancellation(); /* to join",
        "before = (cancellation){0, 0}; /* to join", ("cancel", 20_000, 0)),
    "signals let into the pool": ("sigfillset(&all);", "sigemptyset(&all);",
        ("signals", 8000, 2000)),
}  # fmt: skip


@pytest.mark.parametrize("fault", FAULTS)
def test_a_planted_fault_is_noticed(tmp_path: Path, fault: str) -> None:
    right_text, wrong, words = FAULTS[fault]
    driver = build(tmp_path, edited(runtime(), right_text, wrong), ("-O2", "-w"))
    try:
        answer = subprocess.run(
            [driver.path, *map(str, words)], capture_output=True, check=False, timeout=HANGS
        )
    except subprocess.TimeoutExpired:
        return
    assert answer.returncode != 0


# --- Races


def sanitized(folder: Path, files: dict[str, str]) -> Driver:
    """The driver under ThreadSanitizer."""
    try:
        driver = build(folder, files, ("-O1", "-g", "-fsanitize=thread"))
    except GhashgenError as refused:
        pytest.skip(f"no ThreadSanitizer here: {refused}")
    answer = driver.run("sweep", 10, 1, 10, 10, 10, 0)
    if "FATAL" in answer.stderr:
        pytest.skip(f"ThreadSanitizer does not run here: {answer.stderr.strip().splitlines()[0]}")
    return driver


CALM = (
    ("sweep", 70_000, 3, 1999, 65_536, 512, 1000),
    ("sweep", 70_000, 4, 1999, 65_536, 0, SLEEPS),
    ("long-aad", 6000, 4),
    ("stress", 8000, 12, 10),
    ("help", 70_000, 3, 50, 10_000),
    ("cancel", 20_000, 10),
    ("signals", 8000, 50),
)


def test_thread_sanitizer_sees_no_race(tmp_path: Path) -> None:
    driver = sanitized(tmp_path, runtime())
    answers = [driver.run(*words) for words in CALM]
    assert [(a.returncode, a.stderr) for a in answers] == [(0, "")] * len(CALM)


def relaxed(files: dict[str, str]) -> dict[str, str]:
    """Results that are said to be there, and not released."""
    order = "_explicit(&result->done, number, memory_order_relaxed)"
    return edited(files, "atomic_store(&result->done, number)", f"atomic_store{order}")


def test_thread_sanitizer_would_see_one(tmp_path: Path) -> None:
    driver = sanitized(tmp_path, relaxed(runtime()))
    assert "data race" in driver.run("help", 70_000, 3, 50, 10_000).stderr


def annotated(folder: Path, files: dict[str, str]) -> Driver:
    """The driver that tells valgrind what atomics order."""
    if not shutil.which("valgrind") or not Path("/usr/include/valgrind/helgrind.h").exists():
        pytest.skip("no valgrind with its headers: apt-get install valgrind")
    cc = installed("gcc")
    flags = ("-O1", "-g", "-include", str(VALGRIND_H))
    return build(folder, files, flags, cc=Tool(Path(cc), ""))


@pytest.mark.parametrize("tool", ["helgrind", "drd"])
def test_valgrind_sees_no_race(tmp_path: Path, tool: str) -> None:
    driver = annotated(tmp_path, runtime())
    for words in (
        ("sweep", 20_000, 3, 1999, 16_384, 512, 1000),
        ("sweep", 20_000, 3, 1999, 16_384, 0, SLEEPS),
        ("stress", 6000, 4, 10),
        ("help", 20_000, 3, 10, 10_000),
    ):
        assert under_valgrind(driver, tool, *words) == 0, words


@pytest.mark.parametrize("tool", ["helgrind", "drd"])
def test_valgrind_would_see_one(tmp_path: Path, tool: str) -> None:
    driver = annotated(tmp_path, relaxed(runtime()))
    assert under_valgrind(driver, tool, "help", 20_000, 3, 10, 10_000) == 9

"""Messages sealed and opened by the runtime for threads, against pyca and against one call."""

import ctypes
import random
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest
from helpers.cpus import AS_FOUND, need, need_x86
from helpers.installed import installed
from helpers.threading_runtime import FLAGS, SECONDS, STRESS, Driver, edited
from helpers.valgrind import VALGRIND_H, under_valgrind

from ghashgen.arch.x86_64.assemblers import find_nasm
from ghashgen.check.validation.ciphers import CARRIES, stepped
from ghashgen.check.validation.gcm.oracle import Key
from ghashgen.check.validation.pyca import gcm
from ghashgen.kernels.gcm.kernel import GcmKernel
from ghashgen.kernels.hash.kernel import Kernel
from ghashgen.kernels.target import target
from ghashgen.output.generate import generate
from ghashgen.support import programs
from ghashgen.support.errors import GhashgenError
from ghashgen.support.toolchain import Tool, assemble, compile_c, find_cc, link

AVX = GcmKernel(128, "avx", "winograd", "clmul1", 8, segments=True)
WIDE = GcmKernel(256, "avx512", "k", "clmul1", 16, segments=True, short=True)
NEEDS = {AVX: ("aesni", "avx", "pclmulqdq"), WIDE: ("vaes", "vpclmulqdq", "avx512f", "avx512bw")}
DRIVER = Path(__file__).with_name("threads_gcm_driver.c")
CROSSOVER, SLEEPS = 1024, 0
AWAKE = 2_000_000_000
"""Nanoseconds that threads look for work, so that none sleeps and all surely help. With fewer a
slow machine may work on every message alone."""
DONE, DIFFERS, REFUSED = range(3)
UNTOUCHED = 0x5A
LONGEST = 5 << 20

here = pytest.mark.cpu(AS_FOUND)

need_x86(whole_module=True)


def need_the_cpu(kernel: GcmKernel) -> None:
    need(NEEDS[kernel])


@cache
def generated(kernel: GcmKernel) -> tuple[bytes, Mapping[str, str]]:
    """Generate a kernel with the runtime: its object, and the C."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        output = generate((kernel,), target(), folder, threads=True)
        (source,) = folder.glob("*/*.asm")
        assemble(find_nasm(), source, folder / "kernel.o")
        c = {name: text for name, text in output.files.items() if name.endswith((".c", ".h"))}
        return (folder / "kernel.o").read_bytes(), c


def files_of(folder: Path, kernel: GcmKernel) -> Mapping[str, str]:
    """Write the object of a kernel; return its C."""
    obj, files = generated(kernel)
    (folder / f"{kernel.name}.o").write_bytes(obj)
    return files


def compiled(
    folder: Path, kernel: GcmKernel, files: Mapping[str, str], flags: Sequence[str]
) -> list[Path]:
    """The objects of a kernel, the runtime and the driver."""
    cc, made = find_cc(), [folder / f"{kernel.name}.o"]
    for name, text in files.items():
        (folder / name).write_text(text)
    for source in [*(folder / name for name in files if name.endswith(".c")), DRIVER]:
        made.append(folder / f"{source.stem}.o")
        own = [*FLAGS, *flags] if source != DRIVER else ["-std=c11", "-Wall", "-Wextra", *flags]
        options = [*own, "-D_GNU_SOURCE", f"-DKERNEL={kernel.name}"]
        programs.compile_c(cc, source, made[-1], flags=options, include=(folder,))
    return made


def driver(
    folder: Path,
    kernel: GcmKernel = AVX,
    flags: Sequence[str] = ("-O2",),
    fault: tuple[str, str] = ("", ""),
) -> Path:
    files = files_of(folder, kernel)
    files = edited(files, *fault) if fault[0] else files
    made = compiled(folder, kernel, files, flags)
    link(find_cc(), made, folder / "driver", flags=[*flags, "-pthread"])
    return folder / "driver"


def run(path: Path, *words: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [path, *map(str, words)],
        capture_output=True,
        text=True,
        check=False,
        timeout=SECONDS * STRESS,
    )


# --- Against pyca


@dataclass(frozen=True)
class Library:
    """The runtime and a kernel, loaded; a key of theirs."""

    loaded: ctypes.CDLL
    kernel: GcmKernel
    key: ctypes.Array[ctypes.c_char]
    ctx: ctypes.Array[ctypes.c_char]
    bytes_of_key: bytes

    def pool(self, threads: int, spin: int) -> ctypes.c_void_p:
        create = self.loaded.ghashgen_pool_create
        create.restype = ctypes.c_void_p
        pool = ctypes.c_void_p(create(threads))
        self.loaded.ghashgen_pool_limits(pool, ctypes.c_size_t(CROSSOVER), spin)
        return pool

    def called(
        self,
        function: str,
        pool: ctypes.c_void_p | None,
        iv: bytes,
        aad: bytes,
        text: bytes,
        tag: bytes = b"",
        *,
        in_place: bool = False,
        lengths: Mapping[str, int] | None = None,
    ) -> tuple[int, bytes, bytes]:
        """Return the status, what was written, and the tag; `lengths` are said instead."""
        sizes = {"iv": len(iv), "aad": len(aad), "text": len(text)} | dict(lengths or {})
        out = ctypes.create_string_buffer(bytes([UNTOUCHED]) * len(text) + b"end", len(text) + 3)
        source: ctypes.Array[ctypes.c_char] | bytes = text
        if in_place:
            out[: len(text)] = text  # type: ignore[assignment]
            source = out
        room = ctypes.create_string_buffer(tag or bytes([UNTOUCHED]) * 16, max(16, len(tag)))
        more = [ctypes.c_size_t(len(tag))] if function == "open" else []
        status = getattr(self.loaded, f"ghashgen_pool_{function}")(
            *(pool, self.key, iv, ctypes.c_size_t(sizes["iv"])),
            *(aad, ctypes.c_size_t(sizes["aad"]), source, ctypes.c_size_t(sizes["text"]), out),
            *(room, *more),
        )
        assert out.raw[len(text) :] == b"end"
        return status, out.raw[: len(text)], room.raw[:16]


@pytest.fixture(scope="module", params=[AVX, WIDE], ids=lambda kernel: kernel.name)
def shared(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> tuple[GcmKernel, Path]:
    """A kernel, and a shared object of it and the runtime."""
    kernel, folder = request.param, tmp_path_factory.mktemp("gcm")
    made = compiled(folder, kernel, files_of(folder, kernel), ("-O2", "-fPIC"))
    link(find_cc(), made, folder / "pool.so", flags=["-shared", "-pthread"])
    return kernel, folder / "pool.so"


def library_of(shared: tuple[GcmKernel, Path]) -> Library:
    kernel, path = shared
    need_the_cpu(kernel)
    loaded, rng = ctypes.CDLL(str(path)), random.Random(2026)
    key = rng.randbytes(kernel.key_bytes)
    # Neither asks for more than ctypes gives: the instructions of sse alone want a line's start.
    room, ctx = (ctypes.create_string_buffer(1 << 14) for _ in range(2))
    getattr(loaded, f"{kernel.name}_init")(ctx, key)
    loaded.make_gcm_key(room, ctx)
    return Library(loaded, kernel, room, ctx, key)


@dataclass(frozen=True)
class Case:
    iv: bytes
    aad: bytes
    text: bytes
    in_place: bool


def cases(key: Key, rng: random.Random, step: int) -> Iterator[Case]:
    """Every so manieth length to 64 KiB, wraps between and inside of pieces, and long ones.

    IVs have 8 to 128 bytes, which is what pyca takes; the driver has others.
    """

    def case(length: int, iv: bytes, aad: int | None = None) -> Case:
        size = rng.randrange(301) if aad is None else aad
        return Case(iv, rng.randbytes(size), rng.randbytes(length), bool(rng.randrange(2)))

    for length in range(0, 65536, step):
        yield case(length, rng.randbytes(rng.choice((12, 12, 12, rng.randrange(8, 129)))))
    for carry in CARRIES:
        for _ in range(6):
            length = rng.randrange(8192, 40000)
            last = carry - rng.randrange(1, length // 16)
            j0 = stepped(rng.choice((rng.randbytes(12), b"\xff" * 12)) + bytes(4), last)
            yield case(length, key.iv_of(j0))
    yield case(3000, rng.randbytes(12), 200_001)
    yield case(0, rng.randbytes(12), 200_000)
    for _ in range(3):
        yield case(rng.randrange(65536, LONGEST), rng.randbytes(12))


@here
@pytest.mark.parametrize("threads", range(1, 10))
def test_messages_are_those_of_pyca(shared: tuple[GcmKernel, Path], threads: int) -> None:
    library = library_of(shared)
    rng = random.Random(threads)
    pool = library.pool(threads, rng.choice((SLEEPS, 5000)))
    for each in cases(Key(library.bytes_of_key), rng, 1237 + 2 * threads):
        sealed = gcm(library.bytes_of_key, each.iv, each.text, each.aad)
        wanted, tag = sealed[:-16], sealed[-16:]
        what = f"{len(each.text)} bytes, {len(each.aad)} of AAD, an IV of {len(each.iv)}"
        given = (pool, each.iv, each.aad)
        found = library.called("seal", *given, each.text, in_place=each.in_place)
        assert found == (DONE, wanted, tag), what
        size = rng.choice((4, 8, 12, 13, 14, 15, 16))
        status, out, _ = library.called("open", *given, wanted, tag[:size], in_place=each.in_place)
        assert (status, out) == (DONE, each.text), what
        bit = rng.randrange(8 * size)
        wrong = (int.from_bytes(tag[:size]) ^ 1 << bit).to_bytes(size)
        status, out, _ = library.called("open", *given, wanted, wrong, in_place=each.in_place)
        assert (status, out) == (DIFFERS, bytes(len(wanted))), what
    library.loaded.ghashgen_pool_destroy(pool)


@here
def test_every_bit_of_a_tag_counts(shared: tuple[GcmKernel, Path]) -> None:
    library = library_of(shared)
    pool, text, iv = library.pool(3, 5000), bytes(5000), bytes(range(12))
    sealed = gcm(library.bytes_of_key, iv, text, b"aad")
    for bit in range(128):
        wrong = (int.from_bytes(sealed[-16:]) ^ 1 << bit).to_bytes(16)
        status, out, _ = library.called("open", pool, iv, b"aad", sealed[:-16], wrong)
        assert (status, out) == (DIFFERS, bytes(5000))
    library.loaded.ghashgen_pool_destroy(pool)


@here
@pytest.mark.parametrize("threads", [0, 1, 3])
def test_lengths_that_there_may_not_be_write_nothing(
    shared: tuple[GcmKernel, Path], threads: int
) -> None:
    """Without a pool, with one thread, and with three."""
    library = library_of(shared)
    pool = library.pool(threads, SLEEPS) if threads else None
    text, tag = bytes(2000), bytes(16)
    said: list[dict[str, int]] = [{"iv": 0}, {"iv": 1 << 61}, {"aad": 1 << 61}]
    said += [{"text": n} for n in ((1 << 36) - 31, (1 << 64) - 1)]
    for lengths in said:
        found = library.called("seal", pool, bytes(12), b"", text, lengths=lengths)
        assert found == (REFUSED, bytes([UNTOUCHED]) * 2000, bytes([UNTOUCHED]) * 16)
        found = library.called("open", pool, bytes(12), b"", text, tag, lengths=lengths)
        assert found[:2] == (REFUSED, bytes([UNTOUCHED]) * 2000)
    for size in (1, 3, 5, 11, 17):
        found = library.called("open", pool, bytes(12), b"", text, bytes(size))
        assert found[:2] == (REFUSED, bytes([UNTOUCHED]) * 2000)
    if pool:
        library.loaded.ghashgen_pool_destroy(pool)


# --- Against one call of the kernel, many times


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return driver(tmp_path_factory.mktemp("driver"))


@here
@pytest.mark.parametrize("threads", [1, 2, 3, 5, 9])
@pytest.mark.parametrize("spin", [SLEEPS, 5000])
def test_lengths_to_64_kib_are_as_by_one_call(built: Path, threads: int, spin: int) -> None:
    need_the_cpu(AVX)
    answer = run(built, "sweep", 65536, 317, threads, spin)
    assert answer.returncode == 0, answer.stdout


@here
@pytest.mark.parametrize("threads", [2, 5])
def test_random_lengths_to_64_mib_are_as_by_one_call(built: Path, threads: int) -> None:
    need_the_cpu(AVX)
    answer = run(built, "random", 64 << 20, 24 * STRESS, threads, 20_000)
    assert answer.returncode == 0, answer.stdout


@here
def test_every_length_of_few_groups(built: Path) -> None:
    need_the_cpu(AVX)
    for threads in (2, 9):
        answer = run(built, "sweep", 3000, 1, threads, AWAKE)
        assert answer.returncode == 0, answer.stdout


@here
@pytest.mark.parametrize("spin", [SLEEPS, 1000])
def test_a_child_of_fork_seals_and_opens_alone(built: Path, spin: int) -> None:
    need_the_cpu(AVX)
    done = run(built, "children", spin)
    assert done.returncode == 0, done.stdout


@here
def test_callers_share_pools(built: Path) -> None:
    need_the_cpu(AVX)
    assert run(built, "callers", 60).returncode == 0


FAULTS = {
    "all pieces begin at the first counter block": ("= 1 + at / BLOCK;", "= 1 + 0 * at;"),
    "no carry from byte to byte": ("i--, number >>= 8)", "i--, number = 0)"),
    "pieces written where the text begins": ("text->out + at, len);", "text->out, len);"),
    "AAD left out of the lengths": (
        "hash_lengths(key, x, aad_len,",
        "hash_lengths(key, x, 0 * aad_len,",
    ),
    "a tag of which a byte is not compared": ("i < tag_len; i++)", "i + 1 < tag_len; i++)"),
    "text that is not cleared": ("        memset(out, 0, len);\n", "        (void)out;\n"),
    "IVs all taken as they are": ("if (iv_len == IV_BYTES)", "if (iv_len)"),
}


@here
@pytest.mark.parametrize("fault", FAULTS)
def test_a_planted_fault_is_noticed(tmp_path: Path, fault: str) -> None:
    need_the_cpu(AVX)
    program = driver(tmp_path, flags=("-O2", "-w"), fault=FAULTS[fault])
    assert run(program, "sweep", 65536, 317, 3, AWAKE).returncode == 1


# --- Races


def sanitized(folder: Path, fault: tuple[str, str] = ("", "")) -> Path:
    need_the_cpu(AVX)
    flags = ("-O1", "-g", "-fsanitize=thread", "-DTOUCHED")
    try:
        program = driver(folder, AVX, flags, fault)
    except GhashgenError as refused:
        pytest.skip(f"no ThreadSanitizer here: {refused}")
    answer = run(program, "sweep", 10, 10, 1, 0)
    if "FATAL" in answer.stderr:
        pytest.skip(f"ThreadSanitizer does not run here: {answer.stderr.strip().splitlines()[0]}")
    return program


@here
def test_thread_sanitizer_sees_no_race(tmp_path: Path) -> None:
    program = sanitized(tmp_path)
    for words in (("sweep", 65536, 1999, 3, AWAKE), ("sweep", 65536, 1999, 4, 0), ("callers", 10)):
        answer = run(program, *words)
        assert (answer.returncode, answer.stderr) == (0, ""), words


@here
def test_thread_sanitizer_would_see_one(tmp_path: Path) -> None:
    """Pieces that are said to be there, and not released."""
    order = "_explicit(&result->done, number, memory_order_relaxed)"
    fault = ("atomic_store(&result->done, number)", f"atomic_store{order}")
    program = sanitized(tmp_path, fault)
    assert "data race" in run(program, "sweep", 65536, 1999, 3, 1_000_000).stderr


@here
@pytest.mark.parametrize("tool", ["helgrind", "drd"])
def test_valgrind_sees_no_race(tmp_path: Path, tool: str) -> None:
    """What it would see test_threads.py shows, where threads surely help."""
    need_the_cpu(AVX)
    if not shutil.which("valgrind") or not Path("/usr/include/valgrind/helgrind.h").exists():
        pytest.skip("no valgrind with its headers: apt-get install valgrind")
    flags = ("-O1", "-g", "-w", "-DTOUCHED", "-include", str(VALGRIND_H))
    program = Driver(driver(tmp_path, AVX, flags))
    assert under_valgrind(program, tool, "sweep", 16384, 2999, 3, 1000) == 0
    assert under_valgrind(program, tool, "callers", 3) == 0


# --- What is emitted


@pytest.mark.parametrize("name", ["gcc", "clang", "x86_64-w64-mingw32-gcc"])
@pytest.mark.parametrize("hashes", [False, True])
def test_it_compiles_without_a_warning(tmp_path: Path, name: str, hashes: bool) -> None:
    path = installed(name)
    more = (Kernel("avx", "winograd", "clmul1", 16, segments=True),) if hashes else ()
    output = generate((AVX, *more), target(), tmp_path, threads=True)
    for file in ("ghashgen_threads.c", "ghashgen_threads.h"):
        assert max(map(len, output.files[file].splitlines())) <= 100
    for level in ("-O0", "-O3"):
        source = tmp_path / "ghashgen_threads.c"
        compile_c(Tool(Path(path), ""), source, tmp_path / "o", flags=[*FLAGS, level])

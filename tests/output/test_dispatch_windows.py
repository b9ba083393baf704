"""The dispatcher on Windows: compiled by MinGW-w64, and run by Wine where there is one."""

import random
import subprocess
from pathlib import Path

import pytest
from helpers.cpus import AS_FOUND
from helpers.dispatching import DRIVER, FLAGS
from helpers.installed import installed
from helpers.windows import CC, WINES, Windows

from ghashgen.algebra.field.ghash import ghash_padded
from ghashgen.algebra.field.polyval import polyval
from ghashgen.arch.x86_64.assemblers import find_nasm
from ghashgen.kernels.hash.kernel import Kernel
from ghashgen.kernels.target import target
from ghashgen.output.generate import generate
from ghashgen.support.toolchain import assemble_text

KERNELS = (
    Kernel("sse", "k", "clmul1", 2),
    Kernel("sse", "winograd", "clmul1", 8),
    Kernel("avx", "winograd", "clmul1", 4),
    Kernel("avx", "winograd", "clmul1", 16, segments=True),
    Kernel("avx512", "winograd", "clmul1", 32),
    Kernel("avx", "winograd", "clmul1", 8, op="polyval"),
)
LONGEST = 1100


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    cc = installed(CC)
    folder = tmp_path_factory.mktemp("windows")
    generate(KERNELS, target("win64"), folder)
    objects = []
    for source in sorted(folder.glob("*/*.asm")):
        objects.append(folder / f"{source.stem}.obj")
        text = source.read_text(encoding="utf-8")
        objects[-1].write_bytes(assemble_text(find_nasm(), source.stem, text, "win64"))
    alone = [cc, *FLAGS, "-O2", "-Wshadow", "-Wconversion", "-c", folder / "ghashgen_dispatch.c"]
    subprocess.run([*alone, "-o", folder / "alone.obj"], check=True)
    exe = folder / "driver.exe"
    # The C library of MinGW-w64 that knows C99's formats.
    flags = [*FLAGS, "-O2", "-D__USE_MINGW_ANSI_STDIO=1", f"-I{folder}"]
    subprocess.run([cc, *flags, DRIVER, *objects, "-o", exe], check=True)
    return exe


@pytest.fixture(scope="module")
def windows(program: Path) -> Windows:
    wine = installed(*WINES)
    return Windows(program, wine, program.parent)


def text_safe(length: int, seed: int) -> bytes:
    """Bytes that a text stream passes as they are."""
    rng = random.Random(seed)
    return bytes(rng.randrange(32, 127) for _ in range(length))


def test_kernels_of_windows_are_called(program: Path) -> None:
    called = subprocess.run(
        ["x86_64-w64-mingw32-nm", program.parent / "alone.obj"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    for kernel in KERNELS:
        if "k_" not in kernel.name:
            assert f"U {kernel.name}_update" in called, kernel.name


@pytest.mark.cpu(AS_FOUND)
@pytest.mark.parametrize("op", ["ghash", "polyval"])
def test_every_length_is_right(windows: Windows, op: str) -> None:
    data = text_safe(16 + LONGEST, 5)
    answer = windows.run("lengths", op, data=data)
    if answer.returncode == 4:
        pytest.skip("this CPU can run none of the kernels")
    assert answer.returncode == 0, answer.stderr.decode()
    states = answer.stdout.decode().split()
    assert len(states) == LONGEST + 1
    h, message = data[:16], data[16:]
    for length in (*range(0, 300, 7), *range(1000, LONGEST, 9)):
        body = message[:length]
        if op == "ghash":
            wanted = ghash_padded(h, bytes(16), body)
        else:
            wanted = polyval(h, body + bytes(-length % 16))
        assert states[length] == wanted.hex(), length


@pytest.mark.cpu(AS_FOUND)
def test_segments(windows: Windows) -> None:
    data = text_safe(32 + 3200, 6)
    answer = windows.run("segments", "ghash", data=data)
    if answer.returncode == 4:
        pytest.skip("this CPU can run no kernel with segments")
    assert answer.returncode == 0, answer.stderr.decode()
    assert (
        answer.stdout.decode().split()[1] == ghash_padded(data[:16], data[16:32], data[32:]).hex()
    )


@pytest.mark.cpu(AS_FOUND)
def test_features_are_those_of_this_cpu(windows: Windows) -> None:
    cpuinfo = Path("/proc/cpuinfo")
    if not cpuinfo.exists():
        pytest.skip("no /proc/cpuinfo to compare with")
    line = next(line for line in cpuinfo.read_text().splitlines() if line.startswith("flags"))
    found = set(windows.run("features").stdout.decode().split())
    assert found
    assert found <= {{"aes": "aesni"}.get(word, word) for word in line.split()[2:]}

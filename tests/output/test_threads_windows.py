"""The runtime for threads on Windows: compiled by MinGW-w64, and run by Wine where there is one."""

import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest
from helpers.cpus import AS_FOUND, lacking
from helpers.installed import installed
from helpers.threading_runtime import FLAGS
from helpers.windows import CC, WINES, Windows

from ghashgen.arch.x86_64.assemblers import find_nasm
from ghashgen.kernels.core import Point
from ghashgen.kernels.gcm.kernel import GcmKernel
from ghashgen.kernels.hash.kernel import Kernel
from ghashgen.kernels.target import target
from ghashgen.output.generate import generate
from ghashgen.support.toolchain import assemble_text

HERE = Path(__file__).parent
HASH = Kernel("avx", "winograd", "clmul1", 16, segments=True)
SEAL = GcmKernel(128, "avx", "winograd", "clmul1", 8, segments=True)
NEEDS = ("avx", "pclmulqdq", "aes")


def build(folder: Path, kernel: Point, driver: str, edit: tuple[str, str] = ("", "")) -> Path:
    cc = installed(CC)
    generate((kernel,), target("win64"), folder, threads=True)
    runtime = folder / "ghashgen_threads.c"
    text = runtime.read_text(encoding="utf-8")
    assert edit[0] in text
    runtime.write_text(text.replace(*edit), encoding="utf-8")
    made: list[Path] = []
    for source in sorted(folder.glob("*/*.asm")):
        made.append(folder / f"{source.stem}.obj")
        text = source.read_text(encoding="utf-8")
        made[-1].write_bytes(assemble_text(find_nasm(), source.stem, text, "win64"))
    for source in sorted(folder.glob("*.c")):
        made.append(folder / f"{source.stem}.obj")
        own: Sequence[str] = FLAGS if edit == ("", "") else ("-std=c11", "-w")
        subprocess.run([cc, *own, "-O2", "-c", source, "-o", made[-1]], check=True)
    exe = folder / "driver.exe"
    flags = ["-std=c11", "-O2", "-D__USE_MINGW_ANSI_STDIO=1", f"-DKERNEL={kernel.name}"]
    sources = [HERE / driver, *made]
    linked = [cc, *flags, f"-I{folder}", *sources, "-static", "-pthread", "-o", exe]
    subprocess.run(linked, check=True)
    return exe


def windows(program: Path) -> Windows:
    wine = installed(*WINES)
    if missing := lacking(NEEDS):
        pytest.skip(f"compiled and not run: this CPU has no {', '.join(missing)}")
    return Windows(program, wine, program.parent)


@pytest.mark.cpu(AS_FOUND)
def test_pools_hash_as_one_thread_does(tmp_path: Path) -> None:
    program = windows(build(tmp_path, HASH, "threads_windows_driver.c"))
    answer = program.run("27", "65536", "997")
    assert (answer.returncode, answer.stdout.split()) == (0, [b"done"]), answer.stdout


@pytest.mark.cpu(AS_FOUND)
def test_a_wrong_runtime_is_noticed(tmp_path: Path) -> None:
    edit = ("        key->combine(x, pool->results[i].y, p);\n", "")
    program = windows(build(tmp_path, HASH, "threads_windows_driver.c", edit))
    assert program.run("3", "65536", "997").returncode == 1


@pytest.mark.cpu(AS_FOUND)
@pytest.mark.parametrize("question", [("sweep", "65536", "1997", "3", "0"), ("callers", "20")])
def test_pools_seal_and_open(tmp_path: Path, question: tuple[str, ...]) -> None:
    program = windows(build(tmp_path, SEAL, "threads_gcm_driver.c"))
    answer = program.run(*question)
    assert answer.returncode == 0, answer.stdout

"""A vendored folder's portable code, beside a kernel; and what a shared library exports of it."""

import shutil
import subprocess
from pathlib import Path

import pytest
from helpers.cpus import AS_FOUND, need
from helpers.verbs import called

from ghashgen.support.toolchain import compile_c, find_cc, link

DRIVER = Path(__file__).parent / "portable_driver.c"
KERNEL = "gcm128_avx_winograd_clmul1_x8_streams"
NEEDS = ("aesni", "avx", "pclmulqdq", "sse4_1")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    into = tmp_path_factory.mktemp("portable") / "ghashgen"
    with pytest.MonkeyPatch.context() as patch:
        cache = tmp_path_factory.getbasetemp() / "vendor-cache"
        patch.setenv("GHASHGEN_CACHE", str(cache))
        called("vendor", "--host", "c", "--name", KERNEL, "--into", into)
    return into


def built(folder: Path, *flags: str) -> list[Path]:
    """The folder's objects, but that of the test."""
    objects = [folder / f"{KERNEL}.o"]
    subprocess.run(["nasm", "-f", "elf64", f"{KERNEL}.asm"], cwd=folder, check=True)
    for source in ("ghashgen_gcm_dispatch.c", "ghashgen_gcm_portable.c"):
        objects.append(folder / f"{source}.o")
        warnings = ("-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Werror")
        compile_c(
            *(find_cc(), folder / source, objects[-1]), flags=("-std=c11", "-O2", *warnings, *flags)
        )
    return objects


@pytest.mark.cpu(AS_FOUND)
@pytest.mark.parametrize(
    ("right", "wrong", "status"),
    [
        ("", "", 0),
        ("counter[i] = (uint8_t)by;", "counter[i] = (uint8_t)(by + 1);", 1),
        ("if (before % 16)", "if (before % 16 == 1)", 1),
        ("m.phase != AAD)", "m.phase == NO_MESSAGE)", 1),
        ("memset(out, 0, len)", "(void)out", 1),
        ("memset(state, 0, 96)", "(void)state", 1),
    ],
)
def test_portable_code_does_what_a_kernel_does(
    folder: Path, tmp_path: Path, right: str, wrong: str, status: int
) -> None:
    need(NEEDS)
    there = tmp_path / "copy"
    shutil.copytree(folder, there)
    path = there / "ghashgen_gcm_portable.c"
    text = path.read_text(encoding="utf-8")
    assert right in text
    path.write_text(text.replace(right, wrong) if right else text, encoding="utf-8")
    compile_c(find_cc(), DRIVER, there / "d.o", flags=("-std=c11", "-O2"), include=(there,))
    link(find_cc(), [there / "d.o", *built(there)], there / "driver")
    run = subprocess.run([there / "driver"], check=False, capture_output=True, text=True)
    assert run.returncode == status, run.stdout
    assert (run.stdout == "24000 calls agree\n") == (status == 0)


@pytest.mark.parametrize(("words", "exports"), [((), False), (("--exported",), True)])
def test_a_shared_library_keeps_the_functions_to_itself(
    tmp_path: Path, words: tuple[str, ...], exports: bool
) -> None:
    into = tmp_path / "ghashgen"
    called("vendor", "--host", "c", "--name", KERNEL, "--into", into, *words)
    library = tmp_path / "library.so"
    link(find_cc(), built(into, "-fPIC"), library, flags=("-shared",))
    said = subprocess.run(
        ["nm", "-D", "--defined-only", library], check=True, capture_output=True, text=True
    ).stdout
    assert ("ghashgen_gcm_key_init" in said) == exports
    assert (f"{KERNEL}_seal" in said) == exports
    assert ("ghashgen_gcm_portable" in said) == exports

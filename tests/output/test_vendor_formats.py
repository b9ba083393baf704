"""One folder for several platforms: each has its kernels there, and build files take them."""

import json
import shutil
import subprocess
from pathlib import Path

import pytest
from helpers.cpus import AS_FOUND, need
from helpers.installed import installed, need_programs
from helpers.verbs import called, refused
from helpers.windows import CC as MINGW
from helpers.windows import WINES

from ghashgen.support.toolchain import find_cc

NAME = "ghash_sse_k_clmul1_x1"
FORMATS = ("elf64", "macho64", "win64")
WORDS = ["--name", NAME, *(word for fmt in FORMATS for word in ("--format", fmt))]
NEEDS = ("pclmulqdq", "sse2", "ssse3")

# McGrew and Viega, test case 2.
PROGRAM = f"""#include <string.h>
#include "ghashgen.h"
int main(void)
{{
    static const uint8_t h[16] = {{0x66, 0xe9, 0x4b, 0xd4, 0xef, 0x8a, 0x2c, 0x3b,
                                  0x88, 0x4c, 0xfa, 0x59, 0xca, 0x34, 0x2b, 0x2e}};
    static const uint8_t text[32] = {{0x03, 0x88, 0xda, 0xce, 0x60, 0xb6, 0xa3, 0x92,
                                     0xf3, 0x28, 0xc2, 0xb9, 0x71, 0xb2, 0xfe, 0x78, [31] = 128}};
    static const uint8_t expected[16] = {{0xf3, 0x8c, 0xbb, 0x1a, 0xd6, 0x92, 0x23, 0xdc,
                                         0xc3, 0x45, 0x7a, 0xe5, 0xb6, 0xb0, 0xf8, 0x85}};
    _Alignas(16) uint8_t table[{NAME.upper()}_TABLE_BYTES];
    uint8_t x[16] = {{0}};
    {NAME}_init(table, h);
    {NAME}_update(table, x, text, sizeof text);
    return memcmp(x, expected, sizeof x) != 0;
}}
"""

MAGIC = {"elf64": b"\x7fELF", "macho64": b"\xcf\xfa\xed\xfe", "win64": b"\x64\x86"}


@pytest.fixture(scope="module")
def vendored(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("formats") / "ghashgen"
    result = called("vendor", "--into", str(folder), *WORDS)
    assert f"to prove now, or from the cache: {NAME}\n" in result.stderr
    return folder


def make(folder: Path, *words: str, cc: str = "") -> Path:
    """Build the program by the folder's file for GNU make; return it."""
    (folder / "program.c").write_text(PROGRAM, encoding="utf-8")
    command = [cc] if cc else [*find_cc().command]
    make_file = ["make", "-f", "ghashgen.mk", f"CC={' '.join(command)}", *words]
    subprocess.run(make_file, cwd=folder, check=True, capture_output=True)
    link = [*command, "-std=c11", "program.c", "libghashgen.a", "-o", "program.exe"]
    subprocess.run(link, cwd=folder, check=True)
    return folder / "program.exe"


def status(program: Path) -> int:
    need(NEEDS)
    return subprocess.run([program], check=False, timeout=60).returncode


def test_each_format_has_its_folder(vendored: Path) -> None:
    found = {path.relative_to(vendored).as_posix() for path in vendored.rglob("*.asm")}
    assert found == {f"{fmt}/{NAME}.asm" for fmt in FORMATS}
    kernels = json.loads((vendored / "ghashgen.json").read_text(encoding="utf-8"))["kernels"]
    assert [(each["abi"], [*each["files"]]) for each in kernels] == [
        ("sysv", ["elf64", "macho64"]),
        ("win64", ["win64"]),
    ]
    record = (vendored / "VENDORED").read_text(encoding="utf-8")
    assert record.count("proved from these bytes") == 2
    assert "NOT PROVED" not in record
    header = (vendored / "ghashgen.h").read_text(encoding="utf-8")
    assert header.count(f"{NAME}_init(") == 1
    assert "abi sysv or win64" in header


@pytest.mark.cpu(AS_FOUND)
def test_make_takes_this_platform(vendored: Path, tmp_path: Path) -> None:
    shutil.copytree(vendored, folder := tmp_path / "copy")
    program = make(folder)
    assert (folder / "elf64" / f"{NAME}.o").read_bytes().startswith(MAGIC["elf64"])
    assert status(program) == 0


@pytest.mark.cpu(AS_FOUND)
def test_kernels_of_another_convention_are_noticed(vendored: Path, tmp_path: Path) -> None:
    shutil.copytree(vendored, folder := tmp_path / "copy")
    wrong = (folder / "win64" / f"{NAME}.asm").read_text(encoding="utf-8")
    code, how, _ = wrong.partition("; how to unwind")
    assert how
    text = code.replace("section .rdata align=16", "section .rodata align=16")
    assert text != wrong
    (folder / "elf64" / f"{NAME}.asm").write_text(text, encoding="utf-8")
    assert status(make(folder)) != 0


@pytest.mark.parametrize("fmt", FORMATS)
def test_make_takes_the_format_that_is_named(vendored: Path, tmp_path: Path, fmt: str) -> None:
    shutil.copytree(vendored, folder := tmp_path / "copy")
    command = ["make", "-f", "ghashgen.mk", f"GHASHGEN_FORMAT={fmt}", f"{folder}/{fmt}/{NAME}.o"]
    subprocess.run([*command, f"GHASHGEN_OUT={folder}"], cwd=folder, check=True)
    assert (folder / fmt / f"{NAME}.o").read_bytes().startswith(MAGIC[fmt])


def test_windows_runs_its_kernels(vendored: Path, tmp_path: Path) -> None:
    wine = installed(*WINES)
    need_programs(MINGW)
    shutil.copytree(vendored, folder := tmp_path / "copy")
    program = make(folder, "GHASHGEN_FORMAT=win64", "AR=x86_64-w64-mingw32-ar", cc=MINGW)
    found = subprocess.run([wine, program], check=False, timeout=300, capture_output=True)
    assert found.returncode == 0


@pytest.mark.cpu(AS_FOUND)
@pytest.mark.parametrize(
    ("tools", "command", "built"),
    [
        (("cmake", "nasm"), "cmake -S . -B build && cmake --build build", "build/libghashgen.a"),
        (("meson", "ninja"), "meson setup build && ninja -C build", "build/libghashgen.a"),
    ],
)
def test_other_tools_take_this_platform(
    vendored: Path, tmp_path: Path, tools: tuple[str, ...], command: str, built: str
) -> None:
    need_programs(*tools)
    shutil.copytree(vendored, folder := tmp_path / "copy")
    subprocess.run(command, shell=True, cwd=folder, check=True, capture_output=True)
    (folder / "program.c").write_text(PROGRAM, encoding="utf-8")
    link = [*find_cc().command, "-std=c11", "program.c", built, "-o", "program"]
    subprocess.run(link, cwd=folder, check=True)
    assert status(folder / "program") == 0


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--name", NAME, "--format", "elf64", "--format", "elf64"), "names one format twice"),
        ((*WORDS, "--abi", "sysv"), "each has its platform's calling convention"),
        ((*WORDS, "--host", "bearssl"), "the build files of host bearssl are for one format"),
    ],
)
def test_what_several_formats_refuse(tmp_path: Path, words: tuple[str, ...], said: str) -> None:
    assert said in refused("vendor", "--into", str(tmp_path), *words)

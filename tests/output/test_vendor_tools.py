"""A vendored folder's build files: by each tool, another project links the library and calls it."""

import hashlib
import re
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest
from helpers.cpus import AS_FOUND, NO_PCLMULQDQ, lacking, need_x86
from helpers.installed import need_programs
from helpers.verbs import called

from ghashgen import __version__
from ghashgen.arch.objects import read_object
from ghashgen.support.paths import project_root
from ghashgen.support.toolchain import find_cc

NEEDS = ("aesni", "pclmulqdq", "sse2", "ssse3", "sse4_1")
CHOICE = "--recommended --family gcm --key 128 --use records --isa sse --isa avx"
FILES = ("CMakeLists.txt", "meson.build", "ghashgen.mk", "ghashgen.pc")
BUILD = "build"

CMAKE = """cmake_minimum_required(VERSION 3.16)
project(app LANGUAGES C)
add_subdirectory(third_party/ghashgen)
add_executable(program program.c)
target_link_libraries(program PRIVATE ghashgen)
"""
MESON = """project('app', 'c')
executable('program', 'program.c', dependencies: dependency('ghashgen'))
"""
MAKE = """GHASHGEN_OUT := build
include third_party/ghashgen/ghashgen.mk

build/program: program.c $(GHASHGEN_LIBRARY)
\t$(CC) $(GHASHGEN_CFLAGS) $< $(GHASHGEN_LIBS) -o $@
"""
PKG_CONFIG = """
make -f third_party/ghashgen/ghashgen.mk
export PKG_CONFIG_PATH=third_party/ghashgen
mkdir build
${CC:-cc} program.c $(pkg-config --cflags --libs ghashgen) -o build/program
"""

TOOLS: Mapping[str, tuple[tuple[str, ...], str, str, str]] = {
    "cmake": (
        ("cmake", "ninja", "nasm"),
        "CMakeLists.txt",
        CMAKE,
        "cmake -S . -B build -G Ninja && cmake --build build",
    ),
    "meson": (
        ("meson", "ninja", "nasm"),
        "meson.build",
        MESON,
        "mkdir subprojects && mv third_party/ghashgen subprojects && meson setup build && "
        "ninja -C build",
    ),
    "make": (("make", "ar", "nasm"), "Makefile", MAKE, "make"),
    "pkg-config": (("pkg-config", "make", "ar", "nasm"), "build.sh", PKG_CONFIG, "sh -e build.sh"),
}
"""For each tool: the programs that it takes, the outer project's file and its text, the command."""


@pytest.fixture(scope="module")
def vendored(tmp_path_factory: pytest.TempPathFactory) -> Path:
    need_x86()
    folder = tmp_path_factory.mktemp("third_party") / "ghashgen"
    result = called("vendor", "--into", str(folder), *CHOICE.split())
    assert "proved already, in PROOFS.json: 2 of 2" in result.stderr
    assert {*FILES} < {path.name for path in folder.iterdir()}
    return folder


@pytest.fixture(scope="module", params=TOOLS)
def project(
    request: pytest.FixtureRequest, vendored: Path, tmp_path_factory: pytest.TempPathFactory
) -> Path:
    """A project that has the folder as its maintainers keep it, built by one of the tools."""
    programs, name, text, command = TOOLS[request.param]
    need_programs(*programs)
    folder: Path = tmp_path_factory.mktemp(request.param)
    shutil.copytree(vendored, folder / "third_party" / "ghashgen")
    (folder / name).write_text(text, encoding="utf-8")
    (folder / "program.c").write_text(example(), encoding="utf-8")
    found = subprocess.run(
        command, shell=True, cwd=folder, check=False, capture_output=True, text=True, timeout=120
    )
    assert found.returncode == 0, found.stdout + found.stderr
    assert "warning" not in found.stderr.lower()
    return folder


def example() -> str:
    """Return the program of the page: a known vector by the dispatcher."""
    page = (project_root() / "docs" / "dispatch.md").read_text(encoding="utf-8")
    found: list[str] = re.findall(r"^```c\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    (source,) = (text for text in found if "ghashgen_gcm_key_open" in text)
    return source


@pytest.mark.cpu(AS_FOUND, NO_PCLMULQDQ)
def test_a_program_of_another_project_seals_a_known_vector(project: Path) -> None:
    status = subprocess.run([project / BUILD / "program"], check=False, timeout=60).returncode
    assert status == (77 if lacking(NEEDS) else 0)


def test_the_library_has_the_proved_code(project: Path, vendored: Path) -> None:
    """Whatever options the tool gave to the assembler; the record has the hashes."""
    assert len([*project.rglob("libghashgen.a")]) == 1
    kernels = [path for path in project.rglob("*.o") if path.name.startswith("gcm128_")]
    text = (vendored / "VENDORED").read_text(encoding="utf-8")
    expected = re.findall(r"^#   \.text +sha256 (.*)$", text, re.MULTILINE)
    codes = [read_object(path.read_bytes()).code for path in kernels]
    assert sorted(hashlib.sha256(code).hexdigest() for code in codes) == sorted(expected)
    assert len(expected) == 2


@pytest.mark.parametrize(
    ("words", "library", "assembler", "c_files"),
    [
        ("--name ghash_sse_k_clmul1_x1 --prefix my_ --syntax gas", "my_ghashgen", "ASM", False),
        ("--family ctr --key 128 --isa sse --isa avx --plain", "ghashgen", "ASM_NASM", True),
    ],
)
def test_build_files_have_what_the_folder_has(
    tmp_path: Path, words: str, library: str, assembler: str, c_files: bool
) -> None:
    """The prefix, the assembler of the syntax, and no rule for C files where there are none."""
    folder = tmp_path / "kernels"
    called("vendor", "--into", str(folder), *words.split())
    cmake = (folder / "CMakeLists.txt").read_text(encoding="utf-8")
    assert f"project({library} VERSION {__version__} LANGUAGES C {assembler})" in cmake
    make = (folder / f"{library}.mk").read_text(encoding="utf-8")
    assert ("_dispatch.o" in make) == c_files
    assert (f"{library.upper()}_SOURCES" in make) == c_files
    for path in folder.iterdir():
        if path.suffix in (".asm", ".S"):
            assert path.name in cmake
            assert f"'{path.name}'" in (folder / "meson.build").read_text(encoding="utf-8")
            assert f"{path.stem}.o" in make
    programs = ("make", "ar", "nasm" if assembler == "ASM_NASM" else find_cc().path.name)
    need_programs(*programs)
    subprocess.run(["make", "-f", f"{library}.mk"], cwd=folder, check=True, capture_output=True)
    assert (folder / f"lib{library}.a").exists()
    # What is built there is nobody's file of ours.
    called("vendor", "--check", str(folder))


def test_threads_are_linked(tmp_path: Path) -> None:
    words = "--name ghash_avx_winograd_clmul1_x16_segments --threads"
    called("vendor", "--into", str(tmp_path), *words.split())
    for name, said in (
        ("CMakeLists.txt", "target_link_libraries(ghashgen PUBLIC Threads::Threads)"),
        ("meson.build", "ghashgen_needs = [dependency('threads')]"),
        ("ghashgen.mk", "GHASHGEN_LIBS := $(GHASHGEN_LIBRARY) -pthread"),
        ("ghashgen.pc", "-lghashgen -pthread"),
    ):
        assert said in (tmp_path / name).read_text(encoding="utf-8")

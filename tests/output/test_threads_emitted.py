"""The runtime for threads as files: it compiles everywhere, and folders keep theirs."""

import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest
from helpers.installed import installed
from helpers.threading_runtime import ENTRIES, FLAGS, runtime
from helpers.verbs import refused

from ghashgen.kernels import manifest
from ghashgen.kernels.gcm.kernel import GcmKernel
from ghashgen.kernels.hash.kernel import Kernel
from ghashgen.kernels.target import target
from ghashgen.output.generate import generate
from ghashgen.output.threads import group_of, render_threads
from ghashgen.support.errors import GhashgenError
from ghashgen.support.toolchain import Tool, compile_c, find_cc

KERNELS = tuple(Kernel(isa, "winograd", "clmul1", 16, segments=True) for isa in ("sse", "avx"))
COMPILERS = ("gcc", "clang", "x86_64-w64-mingw32-gcc")


@pytest.mark.parametrize("name", COMPILERS)
@pytest.mark.parametrize("dispatched", [False, True])
def test_it_compiles_without_a_warning(tmp_path: Path, name: str, dispatched: bool) -> None:
    path = installed(name)
    files = runtime(dispatched)
    if dispatched:
        generate(KERNELS[:1], target(), tmp_path)
    for file, text in files.items():
        (tmp_path / file).write_text(text)
    source = tmp_path / "ghashgen_threads.c"
    for level in ("-O0", "-O3"):
        compile_c(Tool(Path(path), ""), source, tmp_path / "o", flags=[*FLAGS, level])


def test_the_header_is_one_for_cpp(tmp_path: Path) -> None:
    cc = shutil.which("g++") or shutil.which("clang++")
    if cc is None:
        pytest.skip("no C++ compiler: apt-get install g++")
    for file, text in runtime().items():
        (tmp_path / file).write_text(text)
    (tmp_path / "a.cc").write_text('#include "ghashgen_threads.h"\nghashgen_pool_key key;\n')
    subprocess.run([cc, "-Wall", "-Wextra", "-Werror", "-c", "a.cc"], cwd=tmp_path, check=True)


def test_all_names_have_the_prefix(tmp_path: Path) -> None:
    files = render_threads(ENTRIES, "my_ghashgen", ())
    assert sorted(files) == ["my_ghashgen_threads.c", "my_ghashgen_threads.h"]
    for file, text in files.items():
        (tmp_path / file).write_text(text)
    compile_c(find_cc(), tmp_path / "my_ghashgen_threads.c", tmp_path / "o", flags=FLAGS)
    found = subprocess.run(
        ["nm", "--defined-only", "-g", "o"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    ).stdout.split("\n")
    names = [line.split()[-1] for line in found if line]
    assert len(names) == 8 - 1
    assert all(name.startswith("my_ghashgen_pool_") for name in names)


def test_lines_are_short() -> None:
    for dispatched in (False, True):
        for name, text in runtime(dispatched).items():
            assert max(map(len, text.splitlines())) <= 100, name


def test_a_folder_keeps_its_runtime(tmp_path: Path) -> None:
    first, second = KERNELS[:2]
    names = {"ghashgen_threads.c", "ghashgen_threads.h"}
    generate([first], target(), tmp_path)
    assert not names & {path.name for path in tmp_path.iterdir()}
    generate([first], target(), tmp_path, threads=True)
    assert names <= {path.name for path in tmp_path.iterdir()}
    generate([second], target(), tmp_path)
    assert names <= set(manifest.companions(tmp_path))
    assert names <= {path.name for path in tmp_path.iterdir()}


def test_a_runtime_of_before_is_overwritten(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    generate(KERNELS[:1], target(), tmp_path, threads=True)
    monkeypatch.setattr("ghashgen.output.threads.SPIN_NS", 12345)
    generate(KERNELS[:1], target(), tmp_path, threads=True)
    assert "12345" in (tmp_path / "ghashgen_threads.h").read_text()


def test_a_runtime_that_was_edited_is_not_overwritten(tmp_path: Path) -> None:
    generate(KERNELS[:1], target(), tmp_path, threads=True)
    path = tmp_path / "ghashgen_threads.c"
    path.write_text(path.read_text() + "/* mine */\n")
    with pytest.raises(GhashgenError, match="was edited by hand"):
        generate(KERNELS[:1], target(), tmp_path, threads=True)


def test_kernels_that_cannot_put_pieces_together_have_none(tmp_path: Path) -> None:
    plain = replace(KERNELS[0], segments=False)
    with pytest.raises(GhashgenError, match="add --segments, or leave out --threads"):
        generate([plain], target(), tmp_path, threads=True)
    assert not list(tmp_path.iterdir())


def test_the_checked_in_folder_has_none() -> None:
    assert "give --out FOLDER" in refused("generate", "--threads")


def test_the_group_is_whole_to_every_kernel() -> None:
    assert group_of([16]) == 16
    assert group_of([1, 2, 4, 6, 8, 12, 16]) == 48
    assert group_of([7, 11, 13, 16]) == 16


def test_only_folders_with_such_kernels_seal(tmp_path: Path) -> None:
    plain = GcmKernel(128, "avx", "winograd", "clmul1", 8)
    hashing = Kernel("avx", "winograd", "clmul1", 16, segments=True)
    output = generate((hashing, plain), target(), tmp_path, threads=True)
    assert "_pool_seal" not in output.files["ghashgen_threads.h"]
    with pytest.raises(GhashgenError, match="add --segments, or leave out --threads"):
        generate((plain,), target(), tmp_path / "other", threads=True)

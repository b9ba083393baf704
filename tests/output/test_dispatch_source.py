"""The dispatcher's files as they compile elsewhere, without kernels and under strict warnings."""

import subprocess
from pathlib import Path

import pytest
from helpers.cpus import AS_FOUND
from helpers.dispatching import FLAGS, SYNTHETIC, build, build_stubbed, shipped

from ghashgen.output.dispatcher import names_of, recorded, render_dispatch
from ghashgen.support.toolchain import find_cc


@pytest.mark.cpu(AS_FOUND)
def test_no_kernel_is_listed_elsewhere(tmp_path: Path) -> None:
    """Linked with no kernel at all, as it must be where none can be assembled."""
    program = build(render_dispatch(SYNTHETIC), tmp_path / "elsewhere", ["ELSEWHERE"], symbols=())
    assert program.ask("best", "ghash", "64") == ["-", "-", "-"]
    assert program.one("features").split() == []
    assert program.run("lengths", "ghash", data=bytes(32)).returncode == 4
    assert program.run("segments", "ghash", data=bytes(32)).returncode == 4


@pytest.mark.cpu(AS_FOUND)
def test_no_kernels_at_all(tmp_path: Path) -> None:
    program = build_stubbed((), tmp_path / "none")
    assert program.ask("best", "ghash", "64") == ["-", "-", "-"]


def test_no_warning_where_a_project_is_strict(folder: Path) -> None:
    for name, entries in {"some": shipped(), "none": ()}.items():
        place = folder / f"strict_{name}"
        place.mkdir()
        for file, text in render_dispatch(entries, records=recorded()).items():
            (place / file).write_text(text)
        flags = [*FLAGS, "-O2", "-Wshadow", "-Wconversion", "-c"]
        source, obj = place / "ghashgen_dispatch.c", place / "x.o"
        subprocess.run([*find_cc().command, *flags, source, "-o", obj], check=True)


def test_alignment_is_what_is_needed_and_what_is_best() -> None:
    header = render_dispatch(SYNTHETIC)["ghashgen_dispatch.h"]
    assert "#define GHASHGEN_MAX_TABLE_ALIGN 16\n" in header
    assert "#define GHASHGEN_BEST_TABLE_ALIGN 64\n" in header
    assert "#define GHASHGEN_ALIGNED alignas(16)\n" in header
    narrow = [item for item in SYNTHETIC if item.isa == "avx"]
    header = render_dispatch(narrow)["ghashgen_dispatch.h"]
    assert "#define GHASHGEN_MAX_TABLE_ALIGN 1\n" in header


def test_files_are_the_two_named() -> None:
    assert tuple(render_dispatch(SYNTHETIC)) == names_of()

"""The interleaved split of the runtime for threads: right for every length, row and pool."""

import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest
from helpers.threading_runtime import FLAGS, HARNESS, edited, runtime

from ghashgen.support import programs
from ghashgen.support.errors import GhashgenError
from ghashgen.support.toolchain import find_cc, link

OPTION = "-DGHASHGEN_POOL_INTERLEAVED"
DRIVER = Path(__file__).with_name("threads_interleaved_driver.c")
ASLEEP, AWAKE = 0, 2_000_000_000
"""Nanoseconds that threads look for work: none, so that the caller hashes these lengths alone, and
so many that all surely help. In between it depends on how fast the machine is."""


def build(
    folder: Path, files: Mapping[str, str], flags: Sequence[str] = ("-O2",), option: str = OPTION
) -> Path:
    for name, text in files.items():
        (folder / name).write_text(text)
    cc, made = find_cc(), []
    for source in (folder / "ghashgen_threads.c", DRIVER, HARNESS / "reference_ctmul64.c"):
        made.append(folder / f"{source.name}.o")
        own = [*(FLAGS if source.parent == folder else ("-std=c11", "-Wall")), *flags, option]
        programs.compile_c(cc, source, made[-1], flags=own, include=(folder, HARNESS))
    link(cc, made, folder / "driver", flags=[*flags, "-pthread"])
    return folder / "driver"


def run(path: Path, *words: int) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [path, *map(str, words)], capture_output=True, text=True, check=False, timeout=300
    )


@pytest.fixture(scope="module")
def driver(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(tmp_path_factory.mktemp("interleaved"), runtime())


@pytest.mark.parametrize("threads", range(1, 10))
@pytest.mark.parametrize("spin", [ASLEEP, 5000, AWAKE])
def test_hashes_are_those_of_one_thread(driver: Path, threads: int, spin: int) -> None:
    answer = run(driver, 65536, 997, threads, spin)
    assert answer.returncode == 0, answer.stdout


def test_every_length_of_few_rows(driver: Path) -> None:
    answer = run(driver, 3000, 1, 3, AWAKE)
    assert answer.returncode == 0, answer.stdout


FAULTS = {
    "the last row left out": ("    memcpy(last, in + work.bytes, row);\n", ""),
    "the last row twice": (".bytes = (rows - 1) * row", ".bytes = rows * row"),
    "a column of another": ("in + t * BLOCK, BLOCK", "in, BLOCK"),
    "a column that is not added": ("        add_block(last + t * BLOCK, y);\n", ""),
    "the state that stays": ("    memset(x, 0, BLOCK);\n    key->update", "    key->update"),
    "the rest left out": ("        len -= rows * row;\n", "        len = 0;\n"),
    "a piece that is the next": (".first = BLOCK, .piece", ".first = 2 * BLOCK, .piece"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_planted_fault_is_noticed(tmp_path: Path, fault: str) -> None:
    program = build(tmp_path, edited(runtime(), *FAULTS[fault]), ("-O2", "-w"))
    found = [run(program, 65536, 997, 3, spin).returncode for spin in (ASLEEP, AWAKE)]
    assert sorted(found) in ([0, 1], [1, 1])


def test_thread_sanitizer_sees_no_race(tmp_path: Path) -> None:
    try:
        program = build(tmp_path, runtime(), ("-O1", "-g", "-fsanitize=thread"))
    except GhashgenError as refused:
        pytest.skip(f"no ThreadSanitizer here: {refused}")
    answer = run(program, 10, 10, 1, 0)
    if "FATAL" in answer.stderr:
        pytest.skip(f"ThreadSanitizer does not run here: {answer.stderr.strip().splitlines()[0]}")
    answer = run(program, 32768, 1999, 3, AWAKE)
    assert (answer.returncode, answer.stderr) == (0, "")


def test_without_the_option_there_is_none(tmp_path: Path) -> None:
    with pytest.raises(GhashgenError, match="columns"):
        build(tmp_path, runtime(), option="-DNOTHING")

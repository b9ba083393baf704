"""Modes of the benchmark about memory: checked, run, recorded, shown. No timing decides a test."""

import json
import os
import re
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner
from helpers import benching_gcm
from helpers.benching import ANY, left_out, planted
from helpers.cpus import AS_FOUND, NO_PCLMULQDQ, lacking

from ghashgen.cli.verbs import bench as command
from ghashgen.lab.bench import Results, bench
from ghashgen.lab.bench.contest import Contest
from ghashgen.lab.bench.families.gcm import CONTEST as AES_GCM
from ghashgen.lab.bench.families.hash import CONTEST as HASH
from ghashgen.lab.edges import edge, edge_table
from ghashgen.lab.speed import edge_parts
from ghashgen.records.core import (
    EDGE_LARGEST,
    EDGES,
    HASH_EDGES,
    HASH_PLACES,
    MODES,
    SEAL_EDGES,
    SEAL_PLACES,
    Cell,
    Machine,
    Run,
    Subject,
    beside,
    sizes_of,
)
from ghashgen.records.records import Record, load_record, write_record
from ghashgen.run.table import HarnessKernel
from ghashgen.support.errors import GhashgenError
from ghashgen.support.paths import project_root

SIZES = (16, 21, 100)
LONG = 4096
HASHING = (*beside(HASH_EDGES), *HASH_PLACES)
SEALING = (*beside(SEAL_EDGES), *SEAL_PLACES)
CPU = "Some CPU (cpu family 26, model 2, stepping 1)"


def measured(
    kernel: HarnessKernel,
    folder: Path,
    contest: Contest,
    modes: tuple[str, ...],
    sizes: tuple[int, ...] = SIZES,
) -> Results:
    arguments = {"modes": modes, "runs": 1, "effort": ANY, "out_dir": folder}
    return bench([kernel], ("portable",), sizes, contest=contest, **arguments)


# --- run, and kept


def test_the_program_has_the_modes_that_the_package_has() -> None:
    text = (project_root() / "harness" / "bench" / "modes.c").read_text(encoding="utf-8")
    assert set(re.findall(r'\{"([a-z0-9-]+)", BENCH_', text)) == set(MODES)
    assert set(HASHING) <= set(HASH.modes)
    assert set(SEALING) <= set(AES_GCM.modes)
    assert set(EDGES) <= {*HASH.default_modes, *AES_GCM.default_modes}


@pytest.mark.cpu
def test_every_mode_of_ghash_is_measured_and_recorded(
    folder: Path, tmp_path: Path, as_cpu: str
) -> None:
    kernel = planted(folder, "right", "")
    if left_out(as_cpu, kernel, folder):
        return
    _recorded(
        measured(kernel, folder, HASH, HASHING, (*SIZES, LONG)), kernel.name, HASHING, tmp_path
    )


@pytest.mark.cpu
def test_every_mode_of_aes_gcm_is_measured_and_recorded(folder: Path, tmp_path: Path) -> None:
    kernel = benching_gcm.assembled(folder)[0]
    results = measured(kernel, folder, AES_GCM, SEALING, (*SIZES, LONG))
    if lacking(kernel.needs):
        assert kernel.name in results.missing
        return
    _recorded(results, kernel.name, SEALING, tmp_path)


def _recorded(results: Results, name: str, modes: tuple[str, ...], folder: Path) -> None:
    wanted = {(mode, size) for mode in modes for size in sizes_of(mode, (*SIZES, LONG))}
    assert {(cell.mode, cell.size) for cell in results.cells if cell.name == name} == wanted
    assert all(size <= EDGE_LARGEST for _, size in wanted)
    kept = load_record(write_record(results, "cpu", folder)).results
    assert {(c.mode, c.size) for c in kept.cells if c.name == name} == wanted
    fewer = replace(results, cells=tuple(c for c in results.cells if c.mode != modes[0]))
    with pytest.raises(GhashgenError, match=f"that this run lacks, such as .* {modes[0]} "):
        write_record(fewer, "cpu", folder)


# --- a fault that only shows where a mode's memory is


def when(condition: str, skip: str, wrong: str) -> str:
    """Instructions that do what is wrong unless the condition's jump is taken."""
    return f"    {condition}\n    {skip} .fine\n    {wrong}\n.fine:\n"


ENDS_A_PAGE = "lea rax, [rdx + rcx]\n    test eax, 4095"
STATE = "xor byte [rsi], 1"


@pytest.mark.cpu
@pytest.mark.parametrize(
    ("mode", "first", "size"),
    [
        ("edge", when(ENDS_A_PAGE, "jnz", STATE), 16),
        ("edge-mapped", when(ENDS_A_PAGE, "jnz", STATE), 16),
        ("null", when("test rdx, rdx", "jnz", STATE), 0),
        ("empty", when("test rcx, rcx", "jnz", STATE), 0),
        ("crossing", when("lea eax, [rdx + 8]\n    test eax, 4095", "jnz", STATE), 16),
        ("key-crossing", when("test edi, 4095", "jz", STATE), 16),
    ],
)
def test_what_is_wrong_in_a_mode_of_ghash_ends_the_run(
    mode: str, first: str, size: int, folder: Path, as_cpu: str
) -> None:
    kernel = planted(folder, f"wrong_{mode.replace('-', '_')}", first)
    if left_out(as_cpu, kernel, folder):
        return
    assert measured(kernel, folder, HASH, ("throughput",)).cells
    with pytest.raises(GhashgenError, match=f"{kernel.name} gives a wrong GHASH for {size} bytes"):
        measured(kernel, folder, HASH, (mode,))


@pytest.mark.cpu
def test_a_read_past_the_end_faults_at_the_edge_alone(folder: Path, as_cpu: str) -> None:
    kernel = planted(folder, "reads_on", "    movzx eax, byte [rdx + rcx]\n")
    if left_out(as_cpu, kernel, folder):
        return
    assert measured(kernel, folder, HASH, ("edge-mapped",)).cells
    with pytest.raises(GhashgenError, match="ended by SIGSEGV in reads_on"):
        measured(kernel, folder, HASH, ("edge",))


IN_ENDS_A_PAGE = "lea rax, [r9]\n    add rax, [rsp + 8]\n    test eax, 4095"
OUT_ENDS_A_PAGE = "mov rax, [rsp + 16]\n    add rax, [rsp + 8]\n    test eax, 4095"
IN_STEP = "mov rax, [rsp + 16]\n    sub rax, r9\n    test eax, 4095"
IV = "xor byte [rsi + 11], 1"


@pytest.mark.cpu(AS_FOUND, NO_PCLMULQDQ)
@pytest.mark.parametrize(
    ("mode", "first"),
    [
        ("seal-aad-null", when("test rcx, rcx", "jnz", IV)),
        ("seal-aad-empty", when("test r8, r8", "jnz", IV)),
        ("seal-edge", when(IN_ENDS_A_PAGE, "jnz", IV)),
        ("seal-edge-mapped", when(IN_ENDS_A_PAGE, "jnz", IV)),
        ("open-edge", when(IN_ENDS_A_PAGE, "jnz", IV)),
        ("open-edge-mapped", when(OUT_ENDS_A_PAGE, "jnz", IV)),
        ("seal-out-edge", when(OUT_ENDS_A_PAGE, "jnz", IV)),
        ("seal-crossing", when("lea rax, [r9 + 8]\n    test eax, 4095", "jnz", IV)),
        ("seal-in-step", when(IN_STEP, "jnz", IV)),
        ("seal-key-crossing", when("test edi, 4095", "jz", IV)),
    ],
)
def test_what_is_wrong_in_a_mode_of_aes_gcm_ends_the_run(
    mode: str, first: str, folder: Path
) -> None:
    function = mode.partition("-")[0]
    kernel = benching_gcm.planted(folder, benching_gcm.KERNELS[0], function, first)
    if lacking(kernel.needs):
        assert kernel.name in measured(kernel, folder, AES_GCM, (mode,)).missing
        return
    assert measured(kernel, folder, AES_GCM, (function,)).cells
    with pytest.raises(GhashgenError, match="faulty gives a wrong AES-GCM for 16 bytes"):
        measured(kernel, folder, AES_GCM, (mode,))


# --- what is asked for


def refusal(monkeypatch: pytest.MonkeyPatch, *words: str) -> str:
    def unwanted(*arguments: object) -> None:
        raise AssertionError("something was built")

    monkeypatch.setattr(command, "build", unwanted)
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: {0, 1}, raising=False)
    answer = CliRunner().invoke(command.COMMAND, words)
    assert isinstance(answer.exception, GhashgenError), answer.output
    return str(answer.exception)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--sizes", "-1"), "sizes must be 1 byte to 256 MiB, not -1; choose --sizes in that"),
        (("--sizes", "16,512m"), "not 536870912"),
        (("--core", "999"), "no core 999: this process may run on 0, 1; choose --core among"),
        (("--core", "-2"), "no core -2"),
        (("--mode", "fast"), "no mode is named 'fast'"),
        (("--peer", "nobody"), "no peer is named 'nobody'"),
        (("--mode", "edge", "--sizes", "4k"), "mode edge is measured up to 2048 bytes"),
    ],
)
def test_what_cannot_be_is_refused_before_anything_is_built(
    words: tuple[str, ...], said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert said in refusal(monkeypatch, *words)


@pytest.mark.cpu(AS_FOUND)
def test_a_mode_without_a_size_is_named_where_others_have_one(folder: Path) -> None:
    arguments = {"peers": ("portable",), "sizes": (4096,), "runs": 1}
    results = bench([], modes=("throughput", "edge"), effort=ANY, out_dir=folder, **arguments)
    assert results.missing["edge"] == "measured up to 2048 bytes"


# --- shown


def by_hand(key: int, modes: dict[str, tuple[tuple[str, int], ...]]) -> Record:
    """A slow and a fast kernel of AVX-512, one of AVX, a peer; the fast one pays for the edge."""
    subjects = {
        name: Subject(name, "peer" if name == "p" else "kernel", 384, needs=needs, key=key)
        for name, needs in (
            ("slow", ("avx512f",)),
            ("fast", ("avx512f",)),
            ("v", ("avx",)),
            ("p", ()),
        )
    }
    factors = {"slow": (2.0, 2.0), "fast": (1.0, 10.0), "v": (3.0, 3.0), "p": (1.5, 3.0)}
    cells = [
        Cell(name, size, mode, (Run(cycles * 10, 9.0, 11.0, 9, 0),))
        for name, (mapped, edge_cycles) in factors.items()
        for at, cycles in (("mapped", mapped), ("edge", edge_cycles))
        for mode, size in modes[at]
    ]
    results = Results(Machine(CPU, ("avx",), 4.0, "abc"), subjects, tuple(cells), {})
    return Record("cpu", 1, "", results)


def test_a_page_shows_what_the_edge_costs() -> None:
    modes = {"mapped": (("seal-edge-mapped", 16), ("seal", 16)), "edge": (("seal-edge", 16),)}
    text = "\n".join(edge_parts([("AES-GCM", by_hand(128, modes))]))
    assert "| AES-GCM | kernels |  |  |  | 1.00–10.00 |  |" in text
    assert "| AES-GCM | fastest peer |  |  |  | 2.00 |  |" in text
    modes = {"mapped": (("empty", 0), ("throughput", 16)), "edge": (("null", 0),)}
    text = "\n".join(edge_parts([("GHASH", by_hand(0, modes))]))
    assert "| GHASH | kernels |  | 1.00–10.00 |  |  |  |" in text
    (row,) = edge_table(by_hand(0, modes).results).rows
    assert row == ("null", "0 B", "fast", "100.0", "10.00", "p", "30.0", "2.00")


def test_a_record_from_before_is_shown_without() -> None:
    record = by_hand(128, {"mapped": (("seal", 16),), "edge": ()})
    assert tuple(edge_parts([("AES-GCM", record)])) == ()
    assert edge(record.results, "kernel", "seal-edge", 16, 128) is None
    assert edge_table(record.results, 128).rows == ()


def test_an_older_record_is_read_and_may_not_lose_a_mode(tmp_path: Path) -> None:
    old = by_hand(128, {"mapped": (("seal", 16),), "edge": ()}).results
    path = write_record(old, "cpu", tmp_path)
    assert "seal-edge" not in json.loads(path.read_text())["subjects"]["fast"]
    modes = {"mapped": (("seal-edge-mapped", 16), ("seal", 16)), "edge": (("seal-edge", 16),)}
    write_record(by_hand(128, modes).results, "cpu", tmp_path)
    with pytest.raises(GhashgenError, match="holds 8 figures that this run lacks"):
        write_record(old, "cpu", tmp_path)

"""The benchmark: what is linked, checked, computed and stored. No timing decides a test."""

import csv
import io
import json
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest
from helpers.benching import ANY, NEEDS, left_out, output, planted
from helpers.cpus import AS_FOUND, CPUS, features, lacking
from helpers.verbs import called, refused

from ghashgen.arch.objects import read_object
from ghashgen.arch.x86_64.features import FEATURES
from ghashgen.cli.verbs import bench as verb
from ghashgen.lab.bench import Cell, Machine, Results, Run, Subject, bench
from ghashgen.lab.bench.build import Program, build
from ghashgen.lab.bench.export import COLUMNS, as_csv, as_plain
from ghashgen.lab.bench.peers import PEERS, Peer
from ghashgen.lab.bench.table import best_table, full_table, init_table
from ghashgen.lab.store import open_store
from ghashgen.lab.tune.measure import Host
from ghashgen.output.artefact import sha256
from ghashgen.records.core import ratio, size_name, summarise
from ghashgen.records.records import FOLDER, write_record
from ghashgen.support.archive import member
from ghashgen.support.errors import GhashgenError

# One byte of the state is changed, but only for messages of 48 bytes.
WRONG_AT_48 = "    cmp rcx, 48\n    jne .fine\n    xor byte [rsi], 1\n.fine:\n"


# --- the program


@pytest.mark.cpu
def test_everything_is_checked_and_measured(folder: Path, as_cpu: str) -> None:
    kernel = planted(folder, "plain", "")
    if left_out(as_cpu, kernel, folder):
        return
    done: list[Cell] = []
    modes = ("throughput", "latency", "init", "init-throughput")
    results = bench(
        [kernel],
        sizes=(16, 21),
        modes=modes,
        runs=2,
        on_done=done.append,
        effort=ANY,
        out_dir=folder,
    )
    assert {(cell.mode, cell.size) for cell in done} == {
        *((mode, size) for mode in modes[:2] for size in (16, 21)),
        *((mode, 0) for mode in modes[2:]),
    }
    measured_names = {cell.name for cell in done}
    assert {"plain", "ref_bitwise", "ref_4bit", "ref_ctmul64", "pyca_gmac"} <= measured_names
    for peer in PEERS:
        assert peer in results.missing or any(name.startswith(peer) for name in measured_names)
    code = read_object(kernel.obj.read_bytes()).code
    assert results.subjects["plain"].digest == sha256(code)
    assert all(run.low <= run.median <= run.high for cell in results.cells for run in cell.runs)
    assert all(cell.cycles > 0 for cell in results.cells)
    # Nothing is dropped where none is to be, whatever else the machine does meanwhile.
    assert all(run.dropped == 0 for cell in done for run in cell.runs)
    assert all(cell.runs for cell in done)


@pytest.mark.cpu
def test_a_wrong_kernel_ends_the_run_with_its_name(folder: Path, as_cpu: str) -> None:
    kernels = [planted(folder, "right", ""), planted(folder, "wrong48", WRONG_AT_48)]
    if left_out(as_cpu, kernels[1], folder):
        return
    arguments = {"peers": ("portable",), "modes": ("throughput",), "runs": 1}
    assert bench(kernels, sizes=(16, 64), effort=ANY, out_dir=folder, **arguments).cells
    with pytest.raises(GhashgenError, match="wrong48 gives a wrong GHASH for 48 bytes"):
        bench(kernels, sizes=(16, 48, 64), effort=ANY, out_dir=folder, **arguments)


@pytest.mark.cpu
def test_a_fault_is_reported_with_the_kernel(folder: Path, as_cpu: str) -> None:
    kernel = planted(folder, "faulty", "    ud2\n")
    if left_out(as_cpu, kernel, folder):
        return
    with pytest.raises(GhashgenError, match="ended by SIGILL in faulty"):
        bench([kernel], (), (16,), ("throughput",), 1, effort=ANY, out_dir=folder)


@pytest.mark.cpu(*(cpu for cpu in CPUS if cpu != AS_FOUND))
def test_what_this_cpu_lacks_is_named_and_left_out(folder: Path) -> None:
    kernel = replace(planted(folder, "demanding", "    ud2\n"), needs=FEATURES)
    results = bench([kernel], (), (16,), ("throughput",), 1, effort=ANY, out_dir=folder)
    assert results.missing["demanding"] == f"this CPU lacks {' '.join(lacking(FEATURES))}"
    assert all(cell.name != "demanding" for cell in results.cells)
    assert set(results.machine.features) == features()


@pytest.mark.cpu(AS_FOUND)
@pytest.mark.parametrize(
    "line", ["subject nobody", "size 0", "size x", "mode fast", "samples 0", "nonsense 1", "size"]
)
def test_a_plan_that_cannot_be_used_is_refused(folder: Path, line: str) -> None:
    program = build([], (), folder)
    answer = subprocess.run(
        [str(program.path)], input=f"{line}\n", capture_output=True, text=True, check=False
    )
    assert answer.returncode == 2
    assert answer.stderr == f"ghashgen-bench: plan: cannot use the line: {line}\n"


# --- building


@pytest.mark.cpu(AS_FOUND)
def test_an_absent_peer_is_named(folder: Path) -> None:
    def absent(cc: object, out: object) -> tuple[Path, ...]:
        raise GhashgenError("libnone.a is not installed", "apt-get install none")

    peers = {"openssl": Peer("openssl", absent)}
    program: Program = build([], ("openssl",), folder, known=peers)
    assert program.absent == {"openssl": "libnone.a is not installed; apt-get install none"}
    assert "openssl" not in output([str(program.path), "list"])


def test_refusals(folder: Path) -> None:
    kernel = planted(folder, "twice", "")
    with pytest.raises(GhashgenError, match="win64 convention"):
        build([replace(kernel, abi="win64")], (), folder)
    with pytest.raises(GhashgenError, match="more than one kernel is named twice"):
        build([kernel, kernel], (), folder)
    with pytest.raises(GhashgenError, match="no peer is named 'nobody'"):
        bench([kernel], ("nobody",), out_dir=folder)
    with pytest.raises(GhashgenError, match="no mode is named 'fast'"):
        bench([kernel], (), modes=("fast",), out_dir=folder)
    with pytest.raises(GhashgenError, match="sizes must be"):
        bench([kernel], (), sizes=(0,), out_dir=folder)


def _archive(*members: tuple[bytes, bytes]) -> bytes:
    out = b"!<arch>\n"
    for name, body in members:
        out += name.ljust(16) + b"0".ljust(32) + str(len(body)).encode().ljust(10) + b"`\n" + body
        out += b"\n" * (len(body) % 2)
    return out


def test_a_member_of_a_static_library(tmp_path: Path) -> None:
    library = tmp_path / "lib.a"
    names = b"a-name-longer-than-a-header.o/\nanother-long-name-ghash.o/\n"
    library.write_bytes(
        _archive(
            (b"/", b"index"),
            (b"//", names),
            (b"x.o/", b"odd"),
            (b"/0", b"long"),
            (b"/31", b"wanted"),
        )
    )
    assert member(library, "x.o") == b"odd"
    assert member(library, "header.o") == b"long"
    assert member(library, "ghash.o") == b"wanted"
    assert member(library, "absent.o") is None
    library.write_bytes(b"no archive")
    with pytest.raises(GhashgenError, match="is not a static library"):
        member(library, "x.o")


# --- figures


def test_statistics() -> None:
    assert summarise([5, 1, 2, 4, 3], 7) == Run(3, 2, 4, 5, 7)
    assert summarise([1.0, 2.0], 0) is None
    # A run that lost most of its samples to neighbours has no say.
    runs = (Run(10, 9, 11, 50, 0), Run(12, 11, 13, 26, 70), Run(99, 90, 120, 24, 80))
    cell = Cell("k", 32, "latency", runs)
    assert (cell.cycles, cell.per_byte, cell.spread) == (11, 11 / 32, (9, 13))


def _cell(name: str, size: int, mode: str, cycles: float) -> Cell:
    return Cell(name, size, mode, (Run(cycles, cycles - 1, cycles + 1, 11, 2),))


def _results() -> Results:
    subjects = (
        Subject("slow", "kernel", 32, "d1"),
        Subject("fast", "kernel", 64, "d2"),
        Subject("peer_a", "peer", 256),
        Subject("peer_b", "peer", 256),
        Subject("in_c", "portable", 16),
    )
    figures = {16: (20, 16, 24, 32, 9), 4096: (4096, 1024, 2048, 1536, 5)}
    cells = [
        _cell(subject.name, size, "throughput", cycles)
        for size, row in figures.items()
        for subject, cycles in zip(subjects, row, strict=True)
    ]
    cells.append(_cell("fast", 0, "init", 175))
    return Results(
        Machine("a CPU", NEEDS, 3.1, "abc+"),
        {subject.name: subject for subject in subjects},
        tuple(cells),
        {"other": "not installed"},
    )


def test_tables_name_the_best_kernel_and_the_best_peer() -> None:
    table = best_table(_results(), "throughput")
    assert [row[:3] + row[4:6] + row[7:] for row in table.rows] == [
        ("16 B", "fast", "16.0", "peer_a", "24.0", "1.50"),
        ("4 KiB", "fast", "0.2500", "peer_b", "0.3750", "1.50"),
    ]
    full = {row[0]: row[2:] for row in full_table(_results(), "throughput").rows}
    assert full["slow"] == ("20.0 (1.20)", "1.0000 (0.38)")
    assert full["peer_b"] == ("32.0 (0.75)", "0.3750 (1.00)")
    assert full["in_c"] == ("9.0", "0.0012")
    assert init_table(_results()).rows == (("fast", "kernel", "64", "175.0"),)
    assert [size_name(n) for n in (0, 1500, 4096, 1 << 20)] == ["key", "1500 B", "4 KiB", "1 MiB"]
    assert ratio(_cell("a", 16, "latency", 10), None) is None


def test_csv_and_json() -> None:
    rows = list(csv.DictReader(io.StringIO(as_csv(_results()))))
    assert tuple(rows[0]) == COLUMNS
    assert [row["peer_ratio"] for row in rows[:2]] == ["1.2", "1.5"]
    plain = json.loads(json.dumps(as_plain(_results())))
    assert plain["machine"]["cpu"] == "a CPU"
    assert plain["missing"] == {"other": "not installed"}
    assert len(plain["cells"]) == len(rows) == 11


def test_the_store_gives_back_what_it_was_given(tmp_path: Path) -> None:
    with open_store(tmp_path / "new" / "bench.sqlite") as store:
        first = store.add(_results())
        second = store.add(replace(_results(), cells=_results().cells[:2]))
        assert store.load(first) == _results()
        assert store.load().cells == _results().cells[:2]
        assert (first, second) == (1, 2)
        with pytest.raises(GhashgenError, match="no such measurement"):
            store.load(99)


# --- the command


@pytest.mark.cpu
def test_the_command_prints_json_and_stores(tmp_path: Path) -> None:
    store = tmp_path / "s.sqlite"
    arguments = "--multiply winograd --isa avx --blocks 1 --peer portable --sizes 16 --quick --json"
    result = called("bench", *arguments.split(), "--mode", "throughput", "--store", str(store))
    answer = json.loads(result.stdout)
    assert answer["machine"]["cpu"]
    assert {cell["size"] for cell in answer["cells"]} <= {16}
    assert set(answer["machine"]["features"]) == features()
    assert ("ghash_avx_winograd_clmul1_x1" in answer["missing"]) == bool(lacking(NEEDS))
    with open_store(store) as opened:
        assert opened.load(1).cells
        assert opened.last() == 1


def test_a_record_that_would_be_refused_is_refused_before_the_measurement(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_record(_results(), "cpu", tmp_path / FOLDER)
    monkeypatch.setattr(verb, "project_root", lambda: tmp_path)
    monkeypatch.setattr(verb, "describe", lambda: Host("a CPU", (), ""))
    monkeypatch.setattr(verb, "cpu_slug", lambda features: "cpu")
    monkeypatch.setattr(verb, "bench", lambda *_, **__: pytest.fail("it is measured"))
    fast = "--name paper_optimized --mode throughput --mode init --record --store"
    store = str(tmp_path / "s.sqlite")
    for sizes, lost in (("16", 8), ("16,4096", 5)):
        assert f"cpu.json holds {lost} figures that this run lacks" in refused(
            "bench", *fast.split(), store, "--sizes", sizes
        )


def test_the_command_refuses_sizes_that_are_none() -> None:
    assert "is not a list of sizes" in refused("bench", "--sizes", "16,many")

"""Records of measurements, one for each CPU; and peers that are given as files."""

import json
import math
from dataclasses import replace
from pathlib import Path

import pytest
from helpers.benching import ANY, NEEDS, left_out, planted

from ghashgen.lab.bench import bench
from ghashgen.lab.bench.objects import load_objects
from ghashgen.records.core import Cell, Machine, Results, Run, Subject
from ghashgen.records.cpus import core_of, lacking, slug_of, title_of
from ghashgen.records.records import FOLDER, load_record, load_records, write_record
from ghashgen.support.errors import GhashgenError
from ghashgen.support.paths import project_root

CPU = "Intel(R) Xeon(R) (cpu family 6, model 85, stepping 7)"


def measured(sizes: tuple[int, ...] = (16, 1024)) -> Results:
    cells = [
        Cell(name, size, "throughput", (Run(size * rate, size * rate - 1, size * rate + 2, 9, 1),))
        for name, rate in (("k", 0.25), ("p", 0.375))
        for size in sizes
    ]
    cells.append(Cell("k", 0, "init", (Run(170.46, 169, 172, 9, 0), Run(171, 170, 175, 9, 0))))
    subjects = {
        "k": Subject("k", "kernel", 128, "abc", ("avx", "pclmulqdq")),
        "p": Subject("p", "peer", 256),
    }
    machine = Machine(CPU, ("avx", "sse2"), 3.012, "0123")
    return Results(machine, subjects, tuple(cells), {"q": "not installed"})


# --- CPUs


@pytest.mark.parametrize(
    ("place", "title", "uarch"),
    [
        ("cpu family 6, model 85, stepping 4", "Skylake server", "skylake-avx512"),
        ("cpu family 6, model 85, stepping 7", "Cascade Lake", "skylake-avx512"),
        ("cpu family 25, model 17, stepping 1", "Zen 4", "zen4"),
        ("cpu family 26, model 2, stepping 1", "Zen 5", "zen5"),
        ("cpu family 26, model 36, stepping 0", "Zen 5", ""),
        ("cpu family 6, model 60, stepping 3", "Haswell", ""),
        ("cpu family 6, model 158, stepping 9", "Kaby Lake", ""),
        ("cpu family 6, model 158, stepping 12", "Coffee Lake", ""),
        ("cpu family 6, model 151, stepping 2", "Alder Lake", ""),
        ("cpu family 23, model 49, stepping 0", "Zen 2", ""),
    ],
)
def test_a_core_is_known_by_family_model_and_stepping(place: str, title: str, uarch: str) -> None:
    core = core_of(f"Some name ({place})")
    assert core is not None
    assert (core.title, core.uarch) == (title, uarch)


def test_a_title_says_what_a_machine_lacks_of_its_core() -> None:
    zen4 = "Some name (cpu family 25, model 17, stepping 1)"
    core = core_of(zen4)
    assert core
    for lacks, title in (
        (set(), "Zen 4"),
        ({"gfni"}, "Zen 4 without GFNI"),
        ({"vaes", "gfni"}, "Zen 4 without GFNI, VAES"),
        ({"avx512vbmi"}, "Zen 4 without AVX512VBMI"),
        ({"avx512f", "avx512vl", "gfni"}, "Zen 4 without AVX-512"),
    ):
        assert set(lacking(zen4, core.features - lacks)) == lacks
        assert title_of(zen4, core.features - lacks) == title
    # A machine that does not say what it has, and one whose core nobody knows.
    assert title_of(zen4) == "Zen 4"
    assert title_of("aarch64", ("sse2",)) == "aarch64"


def test_an_unknown_cpu_has_a_slug_and_no_core() -> None:
    assert core_of("Some (cpu family 5, model 1, stepping 0)") is None
    assert core_of("aarch64") is None
    assert slug_of(CPU, "GenuineIntel") == "intel-6-85-7"
    assert slug_of("X (cpu family 7, model 1)", "Shanghai  !") == "shanghai-7-1-0"
    assert slug_of("aarch64", "aarch64") == "aarch64-unknown"


def test_a_machine_that_hides_features_has_records_of_its_own() -> None:
    zen4 = "Some name (cpu family 25, model 17, stepping 1)"
    core = core_of(zen4)
    assert core
    for lacks, suffix in (
        (set(), ""),
        ({"gfni"}, "-without-gfni"),
        ({"avx512f", "avx512vl", "gfni"}, "-without-avx-512"),
    ):
        assert slug_of(zen4, "AuthenticAMD", core.features - lacks) == f"amd-25-17-1{suffix}"


# --- records


def test_what_was_recorded_is_read_back(tmp_path: Path) -> None:
    path = write_record(measured(), "cpu", tmp_path / "deep" / "er", "a note")
    record = load_record(path)
    assert (record.slug, record.core, record.runs, record.note) == (
        "cpu",
        "Cascade Lake",
        2,
        "a note",
    )
    results = record.results
    assert results.subjects == measured().subjects
    assert results.missing == {"q": "not installed"}
    cell = results.cell("p", 1024, "throughput")
    assert cell is not None
    assert (cell.cycles, cell.spread) == (384.0, (383.0, 386.0))
    assert results.cell("k", 0, "init") is not None
    assert [path.name for path in path.parent.iterdir()] == ["cpu.json"]


def test_the_same_results_give_the_same_bytes(tmp_path: Path) -> None:
    first = write_record(measured(), "a", tmp_path).read_bytes()
    assert write_record(load_record(tmp_path / "a.json").results, "b", tmp_path).read_bytes() != b""
    assert write_record(measured(), "c", tmp_path).read_bytes() == first


def test_a_run_on_one_cpu_leaves_the_others_records_alone(tmp_path: Path) -> None:
    first = write_record(measured(), "one", tmp_path)
    before = first.read_bytes()
    write_record(replace(measured(), machine=Machine("other", (), 1.0, "")), "two", tmp_path)
    assert first.read_bytes() == before
    assert [record.slug for record in load_records(tmp_path)] == ["one", "two"]
    assert load_records(tmp_path / "none") == ()


def test_a_partial_run_does_not_replace_a_record(tmp_path: Path) -> None:
    path = write_record(measured(), "cpu", tmp_path)
    before = path.read_bytes()
    with pytest.raises(GhashgenError, match="holds 2 figures that this run lacks, such as k"):
        write_record(measured((16,)), "cpu", tmp_path)
    assert path.read_bytes() == before
    write_record(measured((16, 64, 1024)), "cpu", tmp_path)


def test_a_quartile_that_is_not_known_is_no_number(tmp_path: Path) -> None:
    path = write_record(measured(), "cpu", tmp_path)
    body = json.loads(path.read_text(encoding="utf-8"))
    body["subjects"]["k"]["throughput"][0] = [4.0, None, None]
    path.write_text(json.dumps(body), encoding="utf-8")
    cell = load_record(path).results.cell("k", 16, "throughput")
    assert cell is not None
    assert cell.cycles == 4.0
    assert all(map(math.isnan, cell.spread))


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"schema": 2}', '{"schema": 1, "sizes": []}'])
def test_what_is_no_record_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "cpu.json").write_text(text, encoding="utf-8")
    with pytest.raises(GhashgenError, match="is no record of a measurement"):
        load_records(tmp_path)


def test_without_a_kernel_there_is_nothing_to_record(tmp_path: Path) -> None:
    peers = tuple(cell for cell in measured().cells if cell.name == "p")
    with pytest.raises(GhashgenError, match="no kernel was measured"):
        write_record(replace(measured(), cells=peers), "cpu", tmp_path)


def test_the_records_here_are_named_after_their_cpus() -> None:
    records = load_records(project_root() / FOLDER)
    assert records
    for record in records:
        machine = record.results.machine
        vendor = {"intel": "GenuineIntel", "amd": "AuthenticAMD"}[record.slug.partition("-")[0]]
        assert record.slug == slug_of(machine.cpu, vendor, machine.features)


# --- peers given as files


def listed(where: Path, **changes: object) -> Path:
    row = {
        "name": "given",
        "files": ["given_source.o"],
        "way": "ghashgen",
        "init": "given_source_init",
        "update": "given_source_update",
        "needs": list(NEEDS),
        **changes,
    }
    path = where / "peers.toml"
    path.write_text(
        "[[peer]]\n" + "".join(f"{key} = {json.dumps(value)}\n" for key, value in row.items())
    )
    return path


@pytest.mark.cpu
def test_two_versions_of_one_symbol_stand_in_one_program(as_cpu: str, tmp_path: Path) -> None:
    kernel = planted(tmp_path, "given_source", "")
    if left_out(as_cpu, kernel, tmp_path):
        return
    (peer,) = load_objects(listed(tmp_path))
    other = replace(peer, name="again")
    results = bench(
        [kernel],
        (),
        (16, 21),
        ("throughput",),
        1,
        effort=ANY,
        out_dir=tmp_path / "out",
        given=(peer, other),
    )
    kinds = {name: subject.kind for name, subject in results.subjects.items()}
    assert kinds == {"given_source": "kernel", "given": "peer", "again": "peer"}
    assert {cell.name for cell in results.cells} == set(kinds)


@pytest.mark.cpu
def test_a_peer_with_a_wrong_result_is_named(as_cpu: str, tmp_path: Path) -> None:
    kernel = planted(tmp_path, "given_source", "    xor byte [rsi], 1\n")
    if left_out(as_cpu, kernel, tmp_path):
        return
    given = load_objects(listed(tmp_path))
    with pytest.raises(GhashgenError, match="given gives a wrong GHASH for 16 bytes"):
        bench([], (), (16,), ("throughput",), 1, effort=ANY, out_dir=tmp_path / "out", given=given)


def test_a_function_that_is_not_in_the_files_is_refused(tmp_path: Path) -> None:
    planted(tmp_path, "given_source", "")
    given = load_objects(listed(tmp_path, update="nowhere"))
    with pytest.raises(GhashgenError, match=r"peer given: .*nowhere"):
        bench([], (), (16,), ("throughput",), 1, effort=ANY, out_dir=tmp_path / "out", given=given)


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"way": "libfoo"}, "no way is called 'libfoo'"),
        ({"needs": ["amx"]}, "no CPU feature is called 'amx'"),
        ({"files": ["absent.o"]}, "absent.o is not a file"),
        ({"name": "a b"}, "a peer's name is made of letters"),
        ({"nmae": "x"}, r"peer\[0\]: unknown key 'nmae'"),
        ({"needs": "avx"}, r"peer\[0\].needs: expected a list, got str"),
    ],
)
def test_a_list_of_peers_that_cannot_be_used_is_refused(
    tmp_path: Path, changes: dict[str, object], why: str
) -> None:
    (tmp_path / "given_source.o").write_bytes(b"")
    with pytest.raises(GhashgenError, match=why):
        load_objects(listed(tmp_path, **changes))


@pytest.mark.parametrize("text", ["", "[[peer]]\n", "not toml", 'peer = "x"'])
def test_a_file_without_peers_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "peers.toml"
    path.write_text(text)
    with pytest.raises(GhashgenError, match=r"peers\.toml"):
        load_objects(path)
    with pytest.raises(GhashgenError, match="No such file"):
        load_objects(tmp_path / "none.toml")

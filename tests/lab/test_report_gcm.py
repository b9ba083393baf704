"""AES-GCM has a page of its own in the report: by size of key, with the ways to call it."""

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner
from helpers.reporting import NAMES, Folder, keep, make_folder
from helpers.verbs import called

from ghashgen.cli.verbs import report as command
from ghashgen.lab.report import choice
from ghashgen.lab.report.data import Report
from ghashgen.lab.report.families.gcm import TOPIC as AES_GCM
from ghashgen.lab.report.families.hash import TOPIC as HASH
from ghashgen.lab.report.gather import gather
from ghashgen.lab.report.page import Links, page, write
from ghashgen.lab.report.plots import plots
from ghashgen.lab.report.speed import read, speeds
from ghashgen.lab.report.topics import topics
from ghashgen.lab.standing import Standing
from ghashgen.records.core import IMIX_BYTES, Cell, Machine, Results, Run, Subject
from ghashgen.records.records import write_record
from ghashgen.support.errors import GhashgenError
from ghashgen.support.paths import project_root

KERNELS = (
    "gcm128_avx_winograd_clmul1_x8",
    "gcm128_avx_k_clmul1_x8",
    "gcm256_avx_winograd_clmul1_x8",
    "gcm128_sse_winograd_clmul1_x8_wipe",
)
SIZES = (16, 64, 1024, 16384)
RATES = {
    KERNELS[0]: ("kernel", 128, 1.0),
    KERNELS[2]: ("kernel", 256, 1.5),
    "some_peer_128": ("peer", 128, 2.0),
    "some_peer_256": ("peer", 256, 1.2),
    "ghash_avx_k_clmul1_x8": ("kernel", 0, 0.25),
}


def measured() -> Results:
    """Cells of whole messages, and one GHASH kernel that has no business on the page."""
    cells = []
    for name, (_, key, rate) in RATES.items():
        modes = ("seal", "open", "seal-latency") if key else ("throughput",)
        factor = {"open": 0.5, "seal-latency": 3.0}
        cells += [
            Cell(name, size, mode, (_run(rate * factor.get(mode, 1.0) * size),))
            for mode in modes
            for size in SIZES
        ]
        if key:
            cells.append(Cell(name, IMIX_BYTES, "imix", (_run(rate * IMIX_BYTES),)))
    subjects = {
        name: Subject(name, kind, 560, needs=("avx",), key=key)
        for name, (kind, key, _) in RATES.items()
    }
    return Results(
        Machine("a core", ("aesni", "avx", "pclmulqdq"), 2.5, "abc"), subjects, tuple(cells), {}
    )


def _run(cycles: float) -> Run:
    return Run(cycles, cycles * 0.9, cycles * 1.1, 11, 0)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Folder:
    root = tmp_path_factory.mktemp("report")
    made = make_folder(root, False, (*KERNELS, NAMES[2]))
    keep(measured(), made.bench)
    return made


@pytest.fixture(scope="module")
def report(folder: Folder, tmp_path_factory: pytest.TempPathFactory) -> Report:
    path = write_record(measured(), "some-cpu", tmp_path_factory.mktemp("records"))
    return gather(replace(folder.sources(path), topic=AES_GCM))


def test_only_kernels_of_the_family_are_on_it(report: Report, folder: Folder) -> None:
    assert [variant.name for variant in report.variants] == sorted(KERNELS)
    assert {"key", "multiply", "wipe"} <= set(choice.axes(report.variants))
    hashes = gather(folder.sources(None))
    assert [variant.name for variant in hashes.variants] == [NAMES[2]]
    with pytest.raises(GhashgenError, match="has no AES-GCM kernel"):
        gather(replace(_without(folder), topic=AES_GCM))


def _without(folder: Folder) -> object:
    body = json.loads((folder.kernels / "MANIFEST.json").read_text())
    body["kernels"] = [e for e in body["kernels"] if e["axes"].get("family") != "gcm"]
    other = folder.root / "hashes"
    other.mkdir()
    (other / "MANIFEST.json").write_text(json.dumps(body))
    return replace(folder.sources(None), kernels=other)


def test_a_record_is_one_measurement_for_each_size_of_key(report: Report, folder: Folder) -> None:
    assert [(s.key, s.slug, s.title) for s in report.speeds] == [
        (128, "some-cpu-128", "a core, AES-128"),
        (256, "some-cpu-256", "a core, AES-256"),
    ]
    small, large = report.speeds
    assert small.names("kernel") == (KERNELS[0],)
    assert large.names("peer") == ("some_peer_256",)
    assert "seal, kernels and peers in turns" in small.method
    source = read(folder.bench, "x")
    one = Standing(source.record, lambda size, mode, key: "")
    printed = speeds(source, one, AES_GCM)
    assert [[(t.name, t.size) for t in s.timings] for s in printed] == [
        [(t.name, t.size) for t in s.timings] for s in report.speeds
    ]
    (hashes,) = speeds(source, one, HASH)
    assert hashes.names("kernel") == ("ghash_avx_k_clmul1_x8",)


def test_other_ways_stand_beside_the_first(report: Report) -> None:
    ways = {way.title: way.rows for way in report.speeds[0].others}
    assert list(ways) == ["opened", "sealed, chained", "IMIX, sealed"]
    assert ways["opened"][0] == (16, KERNELS[0], "8.0", "some_peer_128", "2.00")
    assert ways["IMIX, sealed"] == ((IMIX_BYTES, KERNELS[0], "1.000/B", "some_peer_128", "2.00"),)


def test_bounds_and_instructions_are_those_of_the_text_loop(report: Report) -> None:
    for variant in report.variants:
        assert variant.instructions > 0
        assert variant.examined is not None
        assert variant.examined.bounds["zen4"].per_block > 0
    # One size of key is compared.
    assert {v.axes["key"] for v in choice.costs(report)} == {128}


def test_the_page_says_what_is_not_proved_and_who_wins(report: Report, folder: Folder) -> None:
    pages = (HASH, AES_GCM)
    drawn = plots(report)
    html = page(report, drawn, Links(folder.root, folder.kernels, project_root(), pages))
    text = re.sub(r"\s+", " ", html)
    assert "<h1>AES-GCM kernels: what is proved" in text
    assert '<a href="report.html">a page of their own</a>' in text
    assert "0 <small>of 4 kernels" in text
    assert "a core, AES-256" in text
    # AES-256 is slower than its peer here: said, and not in bold.
    assert '<td class="num">0.80</td>' in text
    assert '<td class="num faster">2.00</td>' in text
    assert 'href="gcm-speed-some-cpu-128.png"' in html
    assert not re.search(r'href="speed-', html)


def test_neither_page_removes_what_the_other_drew(report: Report, folder: Folder) -> None:
    out = folder.root / "both"
    links = Links(out, folder.kernels, project_root(), (HASH, AES_GCM))
    hashes = gather(replace(folder.sources(folder.bench), topic=HASH))
    first = write(hashes, links)
    (out / "gcm-speed-of-another-cpu.png").write_bytes(b"old")
    second = write(report, links)
    write(hashes, links)
    assert all(path.exists() for path in (*first, *second))
    assert not (out / "gcm-speed-of-another-cpu.png").exists()
    assert {path.name for path in second} >= {"report-gcm.html", "gcm-instructions.png"}


def test_the_verb_writes_a_page_for_each_family(folder: Folder, tmp_path: Path) -> None:
    where = ["--kernels", str(folder.kernels), "--bench", str(folder.bench)]
    done = called("report", *where, "--out", str(tmp_path))
    written = {path.name for path in tmp_path.iterdir()}
    # A family has its page if the folder has kernels of it.
    assert {t.page for t in topics().values()} & written == {"report.html", "report-gcm.html"}
    assert "AES-GCM: There is no PROOFS.json" in done.stderr
    told = CliRunner().invoke(command.COMMAND, [*where, "--family", "gcm", "--json"])
    body = json.loads(told.stdout)
    assert (body["topic"], len(body["variants"])) == ("gcm", len(KERNELS))
    default = json.loads(called("report", *where, "--json").stdout)
    assert (default["topic"], len(default["variants"])) == ("hash", 1)

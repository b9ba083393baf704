"""The report's data agree with their sources, say what is missing, and give the same bytes."""

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner
from helpers.reporting import NAMES, STALE, UNPROVED, Folder, entries, keep, make_folder, results

from ghashgen.cli.verbs import report as command
from ghashgen.lab.report import bounds, choice
from ghashgen.lab.report.bounds import levelled
from ghashgen.lab.report.data import Report, Speed
from ghashgen.lab.report.families.hash import TOPIC as HASH
from ghashgen.lab.report.gather import gather
from ghashgen.lab.report.page import PLOTS, Links, page, policy, write
from ghashgen.lab.report.plots import Plot, plots
from ghashgen.lab.report.speed import read, speeds
from ghashgen.lab.standing import Standing
from ghashgen.records.records import write_record
from ghashgen.support.errors import GhashgenError
from ghashgen.support.paths import project_root


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Folder:
    made = make_folder(tmp_path_factory.mktemp("report"))
    report = gather(made.sources(None))
    keep(results(report), made.bench)
    return made


@pytest.fixture(scope="module")
def report(folder: Folder) -> Report:
    return gather(folder.sources(folder.bench))


def read_speed(path: Path, shown: str, session: int | None = None) -> Speed:
    source = read(path, shown, session)
    (speed,) = speeds(source, Standing(source.record, lambda size, mode, key: ""), HASH)
    return speed


def links(folder: Folder, out: Path) -> Links:
    return Links(out, folder.kernels, project_root())


# -- data -----------------------------------------------------------------------------------------


def test_counts_are_the_manifests(report: Report, folder: Folder) -> None:
    assert [variant.name for variant in report.variants] == sorted(NAMES)
    for entry in entries(folder.kernels)["kernels"]:
        variant = report.variant(entry["name"])
        assert variant is not None
        assert variant.total_per_block * variant.blocks == entry["counts"]["group"]["instructions"]
        assert sum(variant.per_block.values()) == variant.total_per_block
        assert variant.table_bytes == entry["table"]["bytes"]


def test_a_proof_of_other_bytes_proves_nothing_here(report: Report) -> None:
    states = {variant.name: variant.proof for variant in report.variants}
    expected = dict.fromkeys(NAMES, "proved") | {STALE: "stale", UNPROVED: "missing"}
    assert states == expected
    table = choice.proof_table(report)
    assert table.kernels == len(NAMES) - 2
    # Four kinds for each of three functions, and wipe for the one kernel that wipes.
    assert table.theorems == 12 * (len(NAMES) - 2) + 3
    assert {STALE, UNPROVED} <= {n for n in NAMES if any(n in note for note in report.notes)}


def test_bounds_are_missing_only_where_the_cpu_lacks_instructions(report: Report) -> None:
    wide, narrow = report.variant(NAMES[0]), report.variant("ghash_avx_k_clmul1_x8")
    assert wide is not None
    assert narrow is not None
    assert wide.examined is not None
    assert narrow.examined is not None
    assert set(narrow.examined.bounds) == set(report.uarches)
    assert "VPCLMULQDQ" in wide.examined.lacks["skylake-avx512"]
    assert "skylake-avx512" not in wide.examined.bounds
    for bound in narrow.examined.bounds.values():
        assert max(*bound.load.values(), bound.front_end) == pytest.approx(bound.per_block)


def test_uops_are_spread_as_evenly_as_their_ports_allow() -> None:
    found = levelled({("p5",): 8, ("p0", "p5"): 4, ("p0", "p1"): 2, ("p2", "p3"): 3})
    assert found == {"p5": 8, "p0": 4, "p1": 2, "p2": 1.5, "p3": 1.5}
    assert levelled({}) == {}


def test_axes_are_what_the_kernels_differ_in(report: Report) -> None:
    varying, same = set(choice.axes(report.variants)), choice.constants(report.variants)
    assert varying >= {"isa", "multiply", "reduce", "blocks", "op", "wipe"}
    assert same["abi"] == "sysv"
    assert varying.isdisjoint(same)
    assert varying | set(same) == set(report.variants[0].axes)
    assert choice.filters(report.variants)["blocks"] == ("1", "4", "8", "16")


# -- speed ----------------------------------------------------------------------------------------


def test_a_session_of_a_store_is_chosen(folder: Folder, tmp_path: Path) -> None:
    store = tmp_path / "bench.sqlite"
    measured = results(gather(folder.sources(None)))
    for cells in (measured.cells[:5], measured.cells):
        keep(replace(measured, cells=cells), store)
    stored, first = read_speed(store, "x"), read_speed(store, "x", 1)
    assert first.names("kernel") == ("ghash_avx_winograd_clmul1_x16",)
    assert stored.best("kernel", 16384) == stored.of("ghash_avx_winograd_clmul1_x16")[-1]
    assert {t.level for t in stored.timings} == {0, 1}
    assert read_speed(store, "x", 2).timings == stored.timings
    with pytest.raises(GhashgenError, match="no such measurement"):
        read_speed(store, "x", 3)


def test_a_record_gives_the_same_and_says_where_spread_is_not_known(
    folder: Folder, tmp_path: Path
) -> None:
    path = write_record(results(), "some-cpu", tmp_path)
    found = gather(folder.sources(path))
    (speed,) = found.speeds
    assert [line.kind for line in choice.lines(speed)] == ["kernel", "peer", "peer"]
    assert not any("without spread" in note for note in found.notes)
    body = json.loads(path.read_text(encoding="utf-8"))
    for row in body["subjects"].values():
        row["throughput"] = [cell and [cell[0], None, None] for cell in row["throughput"]]
    path.write_text(json.dumps(body), encoding="utf-8")
    assert any("without spread" in note for note in gather(folder.sources(path)).notes)


def test_a_measurement_of_other_bytes_is_said(folder: Folder, tmp_path: Path) -> None:
    measured = results(gather(folder.sources(None)))
    subjects = {n: replace(s, digest=s.digest and "0" * 64) for n, s in measured.subjects.items()}
    path = write_record(replace(measured, subjects=subjects), "old", tmp_path)
    assert any("2 kernels measured as other" in n for n in gather(folder.sources(path)).notes)
    assert not any("measured as" in n for n in gather(folder.sources(folder.bench)).notes)


@pytest.mark.parametrize("text", ["", "[]", '{"cells": [{}]}'])
def test_what_is_no_measurement_is_refused(text: str, tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(GhashgenError, match=r"is no record of a measurement: .*; name a store"):
        read_speed(path, "x")


def test_every_record_has_its_place(folder: Folder, tmp_path: Path) -> None:
    one, two = (write_record(results(), slug, tmp_path) for slug in ("cpu-a", "cpu-b"))
    found = gather(folder.sources(one, two))
    assert [speed.slug for speed in found.speeds] == ["cpu-a", "cpu-b"]
    assert {"speed-cpu-a", "speed-cpu-b"} <= set(plots(found))
    html = page(found, plots(found), links(folder, tmp_path))
    assert html.count('<div data-cpu="cpu-b">') == 2
    keys = re.findall(r'data-key="(cpu-[^"]+)"', html)
    assert keys == [f"cpu-{cpu}-{size}" for cpu in "ab" for size in (64, 1024, 16384)]


def test_narrow_kernels_are_held_against_narrow_peers(folder: Folder, tmp_path: Path) -> None:
    measured = results()
    wide = replace(measured.subjects["openssl_avx"], needs=("avx512f", "vpclmulqdq"))
    subjects = {**measured.subjects, "openssl_avx": wide}
    path = write_record(replace(measured, subjects=subjects), "cpu", tmp_path)
    found = gather(folder.sources(path))
    (speed,) = found.speeds
    fastest, like = speed.best("peer", 16384), speed.best("peer", 16384, 1)
    assert fastest is not None
    assert like is not None
    assert (fastest.name, like.name) == ("openssl_avx", "ipsecmb_avx_safe")
    html = page(found, plots(found), links(folder, tmp_path))
    # A name may break behind each of its parts.
    first = html.partition('<section id="take"')[2].partition("</section>")[0].replace("<wbr>", "")
    assert "ipsecmb_avx_safe" in first
    assert "openssl_avx" not in first


def test_the_headline_has_the_fewest_of_its_own_table(
    report: Report, written: dict[str, bytes]
) -> None:
    least = min(v.total_per_block for v in report.variants if v.name.startswith(("ghash", "paper")))
    html = written[HASH.page].decode()
    assert f"<dd>{float(least):.2f} <small>instructions per block</small>" in html


def test_a_range_is_called_what_it_is_of() -> None:
    assert choice.of_lengths("0 to 63…1567") == "0 to 63…1567 bytes"
    assert choice.of_lengths("m = 0 to 2") == "m = 0 to 2"
    assert choice.of_lengths("") == "no length"


# -- page -----------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def written(report: Report, folder: Folder) -> dict[str, bytes]:
    """The files of the report, by name; they lie in folder.root/a/report."""
    paths = write(report, links(folder, folder.root / "a" / "report"))
    return {path.name: path.read_bytes() for path in paths}


def test_same_data_same_bytes(report: Report, folder: Folder, written: dict[str, bytes]) -> None:
    drawn = plots(report)
    again = {f"{name}.png": plot.png for name, plot in drawn.items()}
    again[HASH.page] = page(report, drawn, links(folder, folder.root / "a" / "report")).encode()
    assert again == written
    assert set(written) == {HASH.page, *(f"{name}.png" for name in ("speed-measured", *PLOTS))}
    assert {path.name for path in (folder.root / "a" / "report").iterdir()} == set(written)


def test_links_lead_somewhere_and_nowhere_outside(
    folder: Folder, written: dict[str, bytes]
) -> None:
    out, html = folder.root / "a" / "report", written[HASH.page].decode()
    targets = re.findall(r'href="([^"#:]+)"', html)
    assert sum(target.endswith(".asm") for target in targets) == len(NAMES)
    assert [target for target in targets if not (out / target).exists()] == []
    ids = re.findall(r'\bid="([^"]+)"', html)
    assert len(ids) == len(set(ids))
    assert re.findall(r"(?:src|href|action)=\"?(?:https?:)?//", html) == []


def test_what_is_missing_stands_on_the_page(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GHASHGEN_NASM", str(tmp_path / "none"))
    bare = make_folder(tmp_path, proofs=False)
    found = gather(bare.sources(None))
    assert [v for v in found.variants if v.examined or v.theorems] == []
    drawn = {"instructions": Plot("instructions", b"", {"wide": "", "narrow": ""})}
    html = page(found, drawn, links(bare, tmp_path))
    for text in ("No port bounds", "nothing is recorded as proved", "No measurement"):
        assert text in html
    assert "speed-" not in html.partition("<main>")[2].replace("speed-title", "")


def test_the_policy_names_the_script_that_stands_there(written: dict[str, bytes]) -> None:
    html = written[HASH.page].decode()
    script = html.partition("<script>\n")[2].partition("</script>")[0]
    assert policy(script) != policy(script + " ")
    assert policy(script).replace("'", "&#39;") in html


def test_an_unwritable_folder_leaves_nothing(
    report: Report, folder: Folder, tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(GhashgenError, match="file"):
        write(report, links(folder, tmp_path / "file"))
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_the_verb_writes_and_prints(folder: Folder, tmp_path: Path) -> None:
    options = ["--kernels", str(folder.kernels), "--bench", str(folder.bench)]
    told = CliRunner().invoke(command.COMMAND, [*options, "--json"], catch_exceptions=False)
    assert [v["name"] for v in json.loads(told.stdout)["variants"]] == sorted(NAMES)
    with pytest.raises(GhashgenError, match="is not a file"):
        CliRunner().invoke(
            command.COMMAND, ["--bench", str(tmp_path / "x")], catch_exceptions=False
        )
    with pytest.raises(GhashgenError, match="has no"):
        CliRunner().invoke(command.COMMAND, ["--kernels", str(tmp_path)], catch_exceptions=False)


# -- plots ----------------------------------------------------------------------------------------


def test_ranges_of_lengths_and_of_exponents_are_told_in_a_phrase() -> None:
    phrase = choice._lengths
    assert phrase(["0..287", "0..1567", "none"]) == "0 to 287…1567"
    assert phrase(["m = 3..18446744073709551615"]) == "m = 3 to 2^64 − 1"
    assert phrase(["none"]) == ""


def test_what_is_missing_stands_behind_the_results(folder: Folder, tmp_path: Path) -> None:
    report = gather(folder.sources(folder.bench))
    assert report.notes
    write(report, Links(tmp_path, folder.kernels, project_root()))
    text = (tmp_path / "report.html").read_text(encoding="utf-8")
    places = [text.index(f'id="{name}"') for name in ("take", "speed", "variants", "notes")]
    assert places == sorted(places)
    assert '<a href="#notes">' in text


def test_objects_are_examined_once(folder: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    first = gather(folder.sources(folder.bench))
    monkeypatch.setattr(bounds, "_said", lambda *given: pytest.fail("examined again"))
    # In this process, where it is seen.
    monkeypatch.setattr("ghashgen.support.parallel.workers", lambda: 1)
    assert gather(folder.sources(folder.bench)) == first
    monkeypatch.setattr(bounds, "foundation", lambda: "another program")
    with pytest.raises(pytest.fail.Exception):
        gather(folder.sources(folder.bench))
    # What is no measurement is refused before.
    with pytest.raises(GhashgenError, match="is no record of a measurement"):
        gather(folder.sources(Path(__file__)))

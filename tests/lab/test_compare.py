"""Comparisons of papers: how ratios are taken, and how they are written down."""

import csv
import io
import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from msgspec.structs import replace as changed

from ghashgen.cli.verbs import compare as command
from ghashgen.lab.bench import Cell, Machine, Results, Run, Subject
from ghashgen.lab.compare.core import Group, PaperRow, Study, Variant
from ghashgen.lab.compare.document import NAME, block, current, markers, rendered
from ghashgen.lab.compare.measure import combine, figure, measure
from ghashgen.lab.compare.record import FOLDER, Record, as_json, load, path_of, records_of
from ghashgen.lab.compare.registry import studies
from ghashgen.lab.compare.table import as_csv, missing, table
from ghashgen.lab.pages import read_page
from ghashgen.support.errors import GhashgenError
from ghashgen.support.paths import project_root

ROOT = project_root()

STUDY = Study(
    name="toy",
    title="a toy",
    source="papers/toy",
    mode="throughput",
    sizes=(16, 32),
    groups=(
        Group("one", (Variant("old", "ref_bitwise", 8.0), Variant("new", "ref_4bit", 2.0, False))),
        Group("two", (Variant("base", "ref_ctmul64"), Variant("gone", "ref_branching"))),
    ),
    paper_rows=(PaperRow("theirs", "papers/toy, Table 1", {32: 1.25}),),
    time_source="papers/toy",
    differs=("Everything.",),
)


def process(figures: dict[tuple[str, int], float], kept: int = 50) -> Results:
    """One process's results, from core cycles per call by name and size."""
    cells = tuple(
        Cell(name, size, "throughput", (Run(cycles, cycles - 1, cycles + 2, kept, 3),))
        for (name, size), cycles in figures.items()
    )
    names = dict.fromkeys(name for name, _ in figures)
    return Results(
        Machine("a core", (), 3.0, "abc"),
        {name: Subject(name, "portable", 16) for name in names},
        cells,
        {"ref_branching": "this CPU lacks courage"},
    )


def processes() -> list[Results]:
    """Three processes; the core was three times as slow during the second."""
    return [
        process(
            {
                ("ref_bitwise", 16): 100 * slow,
                ("ref_bitwise", 32): 200 * slow,
                ("ref_4bit", 16): quarter * slow,
                ("ref_4bit", 32): 40 * slow,
                ("ref_ctmul64", 16): 7,
            }
        )
        for slow, quarter in ((1, 25), (3, 20), (1, 24))
    ]


RECORD = combine(STUDY, processes(), samples=51)


# --- how ratios are taken


def test_ratios_are_taken_within_a_process() -> None:
    new = RECORD.rows[1].figure(16)
    assert new is not None
    # 100/25, 300/60, 100/24: medians over all processes would give 100/25 and hide their spread.
    assert (new.ratio_low, new.ratio, new.ratio_high) == (4.0, 4.1667, 5.0)
    assert (new.cycles, new.low, new.high) == (25, 23, 62)
    assert new.processes == 3
    assert (new.kept, new.dropped) == (150, 9)
    old = RECORD.rows[0].figure(32)
    assert old is not None
    assert (old.ratio_low, old.ratio, old.ratio_high) == (1, 1, 1)
    assert old.per_byte == 200 / 32


def test_a_process_that_lost_most_of_its_samples_has_no_say() -> None:
    disturbed = process({("ref_bitwise", 16): 500, ("ref_4bit", 16): 5}, kept=24)
    found = combine(STUDY, [*processes()[:1], disturbed], 51).rows[1].figure(16)
    assert found is not None
    assert (found.ratio, found.processes) == (4.0, 1)


def test_a_ratio_needs_both_in_the_same_process() -> None:
    run = Run(10, 9, 11, 50, 0)
    alone = figure(16, [run, None], [None, run])
    assert alone is not None
    assert (alone.cycles, alone.ratio, alone.ratio_low) == (10, None, None)
    assert figure(16, [None, None], [run, run]) is None


def test_what_was_not_measured_says_why() -> None:
    gone = RECORD.rows[3]
    assert (gone.figures, gone.missing) == ((), "this CPU lacks courage")
    assert missing(RECORD) == (("this CPU lacks courage", "ref_branching"),)
    base = changed(RECORD.rows[2], figures=(), missing=gone.missing)
    whole = changed(RECORD, rows=(*RECORD.rows[:2], base, gone))
    assert missing(whole) == (("this CPU lacks courage", "two"),)


def test_nothing_is_measured_without_a_run(tmp_path: Path) -> None:
    with pytest.raises(GhashgenError, match="nothing to measure"):
        measure(STUDY, (), (16,), 0, command.QUICK, tmp_path)


# --- tables


def test_the_table() -> None:
    found = table(STUDY, RECORD)
    assert found.columns == (
        *("group", "variant", "measured", ">table bytes", "time", ">the paper's"),
        *(">16 B", ">32 B", ">spread", ">ratio ±"),
    )
    assert found.rows == (
        (
            *("one", "old", "ref_bitwise", "16", "constant", "8.00 s ×1.00"),
            *("6.250 ×1.00", "6.250 ×1.00", "203.0%", "0.0%"),
        ),
        (
            *("one", "new", "ref_4bit", "16", "variable", "2.00 s ×4.00"),
            *("1.562 ×4.17", "1.250 ×5.00", "207.5%", "20.0%"),
        ),
        ("two", "base", "ref_ctmul64", "16", "constant", "–", "0.438 ×1.00", "–", "42.9%", "0.0%"),
        ("two", "gone", "ref_branching", "–", "constant", "–", "not measured", "–", "–", "–"),
        ("the paper's", "theirs", "papers/toy, Table 1", "–", "–", "–", "–", "×1.25", "–", "–"),
    )


def test_columns_that_would_say_nothing_are_left_out() -> None:
    rows = tuple(changed(row, table_bytes=0) for row in RECORD.rows if row.group == "two")
    plain = replace(STUDY, groups=STUDY.groups[1:], paper_rows=())
    found = table(plain, changed(RECORD, rows=rows, processes=1))
    assert found.columns == ("variant", "measured", ">16 B", ">32 B", ">spread", ">ratio ±")
    assert {len(row) for row in found.rows} == {len(found.columns)}


def test_csv() -> None:
    rows = list(csv.DictReader(io.StringIO(as_csv(STUDY, RECORD))))
    assert [(r["label"], r["size"], r["ratio"], r["paper_ratio"]) for r in rows] == [
        ("old", "16", "1.0", "1.0"),
        ("old", "32", "1.0", "1.0"),
        ("new", "16", "4.1667", "4.0"),
        ("new", "32", "5.0", "4.0"),
        ("base", "16", "1.0", ""),
        ("gone", "", "", ""),
    ]
    assert rows[-1]["missing"] == "this CPU lacks courage"


# --- what is kept


def test_a_record_comes_back_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "r.json"
    path.write_text(as_json(RECORD), encoding="utf-8")
    assert load(path) == RECORD


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"rows": [{}], "sizes": []}'])
def test_a_file_that_is_no_record_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "r.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(GhashgenError, match="is no stored comparison"):
        load(path)


def test_the_block_says_how_and_what_differs() -> None:
    text = block(STUDY, [RECORD])
    assert text.startswith(
        "### a core\n\nMeasured on a core, 3.00 GHz, sources abc, in 3 processes"
    )
    assert "up to 51 samples: independent calls of one `update`." in " ".join(text.split())
    assert "| two | base | ref_ctmul64 | 16 | constant |" in text
    assert "Not measured: ref_branching: this CPU lacks courage." in text
    assert "- Everything." in text
    assert "ghashgen compare toy --record" in block(STUDY, ())


def test_only_the_block_is_replaced() -> None:
    begin, end = (f"{marker}\n" for marker in markers(STUDY))
    text = f"before\n{begin}old\n{end}after\n"
    assert rendered(text, [(STUDY, ())]) == f"before\n{begin}{block(STUDY, ())}{end}after\n"
    for broken in ("before\n", f"{end}{begin}", f"{text}{text}"):
        with pytest.raises(GhashgenError, match="once each"):
            rendered(broken, [(STUDY, ())])


def test_the_document_is_current() -> None:
    assert read_page(ROOT / NAME) == current(ROOT)


def test_what_a_paper_states_in_cycles_a_byte() -> None:
    row = PaperRow("theirs", "papers/toy, Table 2", {32: 1.5}, {16: 6.4, 32: 2.8})
    in_cycles = replace(STUDY, paper_rows=(row,), time_unit="c/B")
    found = table(in_cycles, RECORD)
    assert found.rows[-1][6:8] == ("6.4", "2.8 ×1.50")
    assert found.rows[0][5] == "8.0 c/B ×1.00"


# --- the command


@pytest.fixture
def clone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The document and the records alone, as the command sees them."""
    shutil.copytree(ROOT / FOLDER, tmp_path / FOLDER)
    shutil.copy(ROOT / NAME, tmp_path / NAME)
    monkeypatch.setattr(command, "project_root", lambda: tmp_path)
    return tmp_path


def call(*options: str) -> Any:
    return CliRunner().invoke(command.COMMAND, options, catch_exceptions=False)


def test_a_stale_document_is_noticed_and_written_again(clone: Path) -> None:
    assert "is current" in call("--check").output
    path = clone / NAME
    right = path.read_text(encoding="utf-8")
    edited = right.replace("×1.00", "×9.99", 1)
    assert edited != right
    path.write_text(edited, encoding="utf-8")
    with pytest.raises(GhashgenError, match="is stale; run ghashgen compare --write"):
        call("--check")
    assert json.loads(call("--write", "--json").stdout) == {"file": NAME, "changed": True}
    assert path.read_text(encoding="utf-8") == right
    assert sorted(found.name for found in (clone / "docs").iterdir()) == [
        "compare",
        Path(NAME).name,
    ]


def test_record_keeps_the_result_and_writes_the_document(
    clone: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    study = studies()["solaris"]
    result = combine(study, processes(), 51)
    monkeypatch.setattr(command, "_measured", lambda *arguments: result)
    monkeypatch.setattr(command, "cpu_slug", lambda: "new-cpu")
    others = records_of(clone, study)
    answer = json.loads(call("solaris", "--record", "--json").stdout)
    assert answer["machine"] == "a core"
    assert answer["paper"]["times"]["school book"] == 1.18
    assert load(path_of(clone, study, "new-cpu")) == result
    assert records_of(clone, study) == (*others, result)
    assert read_page(clone / NAME) == current(clone)
    assert "a core, 3.00 GHz" in read_page(clone / NAME)


def test_record_refuses_before_it_measures(clone: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def measured(*arguments: object) -> Record:
        raise AssertionError("measured")

    monkeypatch.setattr(command, "_measured", measured)
    (clone / NAME).write_text("no markers\n", encoding="utf-8")
    with pytest.raises(GhashgenError, match="once each"):
        call("solaris", "--record")


@pytest.mark.parametrize(
    ("options", "why"),
    [
        (
            (),
            "no comparison is named; choose one of intel-2010, intel-2023, intel-2023-ghash, "
            "kryptus, solaris, tls",
        ),
        (("nonesuch",), "no comparison is named 'nonesuch'"),
        (("--write", "--check"), "exclude each other"),
        (("solaris", "--write"), "exclude each other"),
    ],
)
def test_refusals(options: tuple[str, ...], why: str) -> None:
    with pytest.raises(GhashgenError, match=why):
        call(*options)

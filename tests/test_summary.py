"""README's block is what `ghashgen summary` prints, and an edit of it is noticed."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from ghashgen import identities
from ghashgen.catalogue import catalogue
from ghashgen.commands import summary as command
from ghashgen.errors import GhashgenError
from ghashgen.paths import project_root
from ghashgen.summary import BEGIN, END, RESULTS, Summary, block_of, gather, markdown, replaced

README = project_root() / "README.md"
ROW = {"size": 16384, "kernel": "k", "cycles_per_byte": 0.25, "peer": "p", "ratio": 1.5}
BENCH = {"machine": "a core", "method": "median of 9", "rows": [ROW]}


@pytest.fixture(scope="module")
def current() -> Summary:
    return gather(project_root())


@pytest.fixture
def clone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """README, manifest and stored results alone, as the command sees them."""
    shutil.copy(README, tmp_path)
    (tmp_path / "docs").mkdir()
    (tmp_path / "generated").mkdir()
    for name in ("MANIFEST.json", "PROOFS.json"):
        shutil.copy(project_root() / "generated" / name, tmp_path / "generated")
    if (project_root() / RESULTS).exists():
        shutil.copy(project_root() / RESULTS, tmp_path / "docs")
    monkeypatch.setattr(command, "project_root", lambda: tmp_path)
    return tmp_path


def call(*options: str) -> str:
    result = CliRunner().invoke(command.COMMAND, options, catch_exceptions=False)
    assert result.exit_code == 0
    return result.output


def edit_manifest(root: Path, name: str, instructions: int) -> None:
    path = root / "generated" / "MANIFEST.json"
    body = json.loads(path.read_text(encoding="utf-8"))
    (entry,) = (entry for entry in body["kernels"] if entry["name"] == name)
    entry["counts"]["group"]["instructions"] = instructions
    path.write_text(json.dumps(body), encoding="utf-8")


def test_readme_holds_what_the_command_prints(clone: Path) -> None:
    printed = call()
    assert printed
    assert block_of(README.read_text(encoding="utf-8")) == printed


def test_figures_are_those_of_the_project(current: Summary) -> None:
    assert sum(shelf.kernels for shelf in current.shelves) == len(catalogue())
    assert sum(f.theorems for f in current.families) == len(identities.theorems())
    # papers/intel-2023, Table 11.
    assert [(s.instructions, dict(s.classes)) for s in current.singles] == [
        (18, {"clmul": 7, "xor": 6, "shuffle": 5}),
        (10, {"clmul": 5, "xor": 4, "shuffle": 1}),
    ]


def test_a_family_is_a_pattern_that_selects_its_theorems(current: Summary) -> None:
    for family in current.families:
        word = family.name.removesuffix("*")
        selected = [t for t in identities.theorems() if t.name.partition("-")[0] == word]
        assert len(selected or identities.selected(family.name)) == family.theorems


def test_costs_are_the_fewest_of_their_kind(clone: Path, current: Summary) -> None:
    entries = json.loads((clone / "generated" / "MANIFEST.json").read_text(encoding="utf-8"))
    assert current.costs
    for cost in current.costs:
        same = [
            entry["counts"]["group"]["instructions"]
            for entry in entries["kernels"]
            if entry["axes"]["isa"] == cost.isa
            and entry["axes"]["multiply"] == cost.multiply
            and entry["axes"]["blocks"] == cost.group_blocks
            and entry["name"].startswith("ghash_")
        ]
        assert cost.instructions == min(same)


def test_check_passes_on_a_current_readme(clone: Path) -> None:
    assert "is current" in call("--check")


def test_check_notices_an_edit_of_the_readme(clone: Path) -> None:
    text = (clone / "README.md").read_text(encoding="utf-8")
    edited = text.replace(BEGIN + "\n", BEGIN + "\nFastest ever.\n")
    (clone / "README.md").write_text(edited, encoding="utf-8")
    with pytest.raises(GhashgenError, match="is stale; run ghashgen summary --write"):
        call("--check")
    call("--write")
    assert (clone / "README.md").read_text(encoding="utf-8") == text


def test_check_notices_a_change_of_the_manifest(clone: Path, current: Summary) -> None:
    edit_manifest(clone, current.costs[0].kernel, 1)
    with pytest.raises(GhashgenError, match="is stale"):
        call("--check")


def test_write_changes_nothing_outside_the_block(clone: Path) -> None:
    text = (clone / "README.md").read_text(encoding="utf-8")
    (clone / "README.md").write_text(replaced(text, ""), encoding="utf-8")
    call("--write")
    assert (clone / "README.md").read_text(encoding="utf-8") == text
    assert sorted(path.name for path in clone.iterdir()) == ["README.md", "docs", "generated"]


@pytest.mark.parametrize(
    "text", ["", f"{BEGIN}\n", f"{END}\n{BEGIN}\n", f"{BEGIN}\n{BEGIN}\n{END}\n"]
)
def test_a_readme_without_its_markers_is_refused(text: str) -> None:
    with pytest.raises(GhashgenError, match="once each"):
        replaced(text, "block\n")


def test_write_and_check_exclude_each_other(clone: Path) -> None:
    with pytest.raises(GhashgenError, match="exclude each other"):
        call("--write", "--check")


def test_json_has_the_same_figures(clone: Path, current: Summary) -> None:
    body = json.loads(call("--json"))
    assert [cost["instructions"] for cost in body["costs"]] == [
        cost.instructions for cost in current.costs
    ]


def test_speed_is_not_invented(clone: Path) -> None:
    (clone / RESULTS).unlink(missing_ok=True)
    assert gather(clone).speed is None
    assert "Speed: not measured yet: `ghashgen bench`." in markdown(gather(clone))


def test_speed_comes_from_the_stored_measurement(clone: Path) -> None:
    (clone / RESULTS).write_text(json.dumps(BENCH), encoding="utf-8")
    text = markdown(gather(clone))
    assert "Speed on a core; median of 9:" in text
    assert "| k | p | 16384 | 0.250 |  | 1.50 |  |" in text
    assert "not measured" not in text
    assert "key set-up" not in text


def test_spread_chained_calls_and_key_set_up_are_shown_where_stored(clone: Path) -> None:
    init = [{"name": "k", "table_bytes": 384, "cycles": 170.4}]
    full = {**BENCH, "rows": [{**ROW, "spread": 0.034}], "latency": [{**ROW, "ratio": 1.2}]}
    (clone / RESULTS).write_text(json.dumps({**full, "init": init}), encoding="utf-8")
    text = markdown(gather(clone))
    assert "| k | p | 16384 | 0.250 | 3.4% | 1.50 | 1.20 |" in text
    assert "| k | 384 | 170 |" in text


@pytest.mark.parametrize(
    "body",
    [
        {},
        {**BENCH, "rows": 1},
        {**BENCH, "rows": [{**ROW, "ratio": "fast"}]},
        {**BENCH, "rows": [{key: ROW[key] for key in ROW if key != "peer"}]},
        [],
    ],
)
def test_a_malformed_measurement_is_refused(clone: Path, body: Any) -> None:
    (clone / RESULTS).write_text(json.dumps(body), encoding="utf-8")
    with pytest.raises(GhashgenError, match="is not a stored measurement"):
        gather(clone)


def test_a_folder_without_a_manifest_is_refused(tmp_path: Path) -> None:
    with pytest.raises(GhashgenError, match="run ghashgen generate"):
        gather(tmp_path)


def test_proofs_are_counted_and_their_absence_is_said(clone: Path) -> None:
    assert "kernels from their assembled bytes" in markdown(gather(clone))
    (clone / "generated" / "PROOFS.json").unlink()
    assert "not recorded yet: `ghashgen prove --write`" in markdown(gather(clone))
    (clone / "generated" / "PROOFS.json").write_text("{}", encoding="utf-8")
    with pytest.raises(GhashgenError, match="no list of proofs"):
        gather(clone)

"""README's block is what `ghashgen summary` prints, and an edit of it is noticed."""

import json
from pathlib import Path

import pytest
from helpers.summarizing import PAGES, copied
from helpers.verbs import called

from ghashgen.algebra import identities
from ghashgen.check.ledger import dump, load
from ghashgen.cli.verbs import summary as command
from ghashgen.kernels.selection import catalogue
from ghashgen.lab.pages import BEGIN, END, README, block_of, replaced
from ghashgen.lab.summary import RESULTS, Summary, blocks, gather
from ghashgen.records.records import FOLDER
from ghashgen.support.errors import GhashgenError
from ghashgen.support.paths import project_root


@pytest.fixture(scope="module")
def current() -> Summary:
    return gather(project_root())


@pytest.fixture
def clone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(command, "project_root", lambda: tmp_path)
    return copied(project_root(), tmp_path)


@pytest.fixture(scope="module")
def cut(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A clone with the shortest record of each family, and what is written of these."""
    root = copied(project_root(), tmp_path_factory.mktemp("cut"))
    for folder in (root / FOLDER, *(path for path in (root / FOLDER).iterdir() if path.is_dir())):
        for longer in sorted(folder.glob("*.json"), key=lambda path: path.stat().st_size)[1:]:
            longer.unlink()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(command, "project_root", lambda: root)
        call("--write")
    return root


@pytest.fixture
def small(cut: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of it; most of the time of every command is for records."""
    monkeypatch.setattr(command, "project_root", lambda: tmp_path)
    return copied(cut, tmp_path)


def call(*options: str) -> str:
    result = called("summary", *options)
    return result.output


def edit_manifest(root: Path, name: str, instructions: int) -> None:
    path = root / "generated" / "MANIFEST.json"
    body = json.loads(path.read_text(encoding="utf-8"))
    (entry,) = (entry for entry in body["kernels"] if entry["name"] == name)
    entry["counts"]["group"]["instructions"] = instructions
    path.write_text(json.dumps(body), encoding="utf-8")


def test_pages_hold_what_the_command_prints(small: Path) -> None:
    printed = call()
    shown = [block_of((small / page).read_text(encoding="utf-8")) for page in PAGES]
    assert all(shown)
    assert "\n".join(shown) == printed


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


def test_costs_are_the_fewest_of_their_kind(small: Path, current: Summary) -> None:
    entries = json.loads((small / "generated" / "MANIFEST.json").read_text(encoding="utf-8"))
    assert current.costs
    for cost in current.costs:
        same = [
            entry["counts"]["group"]["instructions"]
            for entry in entries["kernels"]
            if entry["axes"]["isa"] == cost.isa
            and entry["axes"].get("multiply") == cost.multiply
            and entry["axes"]["blocks"] == cost.group_blocks
            and entry["name"].startswith("ghash_")
        ]
        assert cost.instructions == min(same)


def test_check_passes_on_a_current_readme(clone: Path) -> None:
    assert "are current" in call("--check")


@pytest.mark.parametrize("page", PAGES)
def test_check_notices_an_edit_of_a_page(small: Path, page: str) -> None:
    text = (small / page).read_text(encoding="utf-8")
    edited = text.replace(BEGIN + "\n", BEGIN + "\nFastest ever.\n")
    (small / page).write_text(edited, encoding="utf-8")
    with pytest.raises(GhashgenError, match="is stale; run ghashgen summary --write"):
        call("--check")
    call("--write")
    assert (small / page).read_text(encoding="utf-8") == text


def test_nothing_is_written_if_a_page_cannot_be(small: Path) -> None:
    first, *_, last = (small / page for page in PAGES)
    text = first.read_text(encoding="utf-8")
    edited = text.replace(BEGIN + "\n", BEGIN + "\nFastest ever.\n")
    first.write_text(edited, encoding="utf-8")
    last.write_text(last.read_text(encoding="utf-8").replace(BEGIN, ""), encoding="utf-8")
    with pytest.raises(GhashgenError, match="does not have the lines"):
        call("--write")
    assert first.read_text(encoding="utf-8") == edited


def test_check_notices_a_change_of_the_manifest(small: Path, current: Summary) -> None:
    edit_manifest(small, current.costs[0].kernel, 1)
    with pytest.raises(GhashgenError, match="is stale"):
        call("--check")


def test_write_changes_nothing_outside_the_block(small: Path) -> None:
    text = (small / "README.md").read_text(encoding="utf-8")
    (small / "README.md").write_text(replaced(text, ""), encoding="utf-8")
    call("--write")
    assert (small / "README.md").read_text(encoding="utf-8") == text
    assert sorted(path.name for path in small.iterdir()) == ["README.md", "docs", "generated"]


@pytest.mark.parametrize(
    "text", ["", f"{BEGIN}\n", f"{END}\n{BEGIN}\n", f"{BEGIN}\n{BEGIN}\n{END}\n"]
)
def test_a_readme_without_its_markers_is_refused(text: str) -> None:
    with pytest.raises(GhashgenError, match="once each"):
        replaced(text, "block\n")


def test_write_and_check_exclude_each_other(small: Path) -> None:
    with pytest.raises(GhashgenError, match="exclude each other"):
        call("--write", "--check")


def test_json_has_the_same_figures(small: Path, current: Summary) -> None:
    body = json.loads(call("--json"))
    assert [cost["instructions"] for cost in body["costs"]] == [
        cost.instructions for cost in current.costs
    ]


def test_a_folder_without_a_manifest_is_refused(tmp_path: Path) -> None:
    with pytest.raises(GhashgenError, match="run ghashgen generate"):
        gather(tmp_path)


def test_proofs_are_counted_and_their_absence_is_said(small: Path) -> None:
    assert "kernels from their assembled bytes" in blocks(gather(small))[README]
    (small / "generated" / "PROOFS.json").unlink()
    assert "not recorded yet: `ghashgen prove --write`" in blocks(gather(small))[README]
    (small / "generated" / "PROOFS.json").write_text("{}", encoding="utf-8")
    with pytest.raises(GhashgenError, match="no list of proofs"):
        gather(small)


def test_a_record_of_other_code_is_not_called_current(small: Path) -> None:
    path = small / "generated" / "PROOFS.json"
    text = path.read_text(encoding="utf-8")
    code = json.loads(text)["proofs"][0]["code_sha256"]
    path.write_text(text.replace(code, "0" * 64), encoding="utf-8")
    with pytest.raises(GhashgenError, match="was changed: its hash"):
        call("--check")
    path.write_text(text, encoding="utf-8")
    manifest = small / "generated" / "MANIFEST.json"
    entry = json.loads(text)["proofs"][0]["text_sha256"]
    manifest.write_text(manifest.read_text(encoding="utf-8").replace(entry, "0" * 64))
    with pytest.raises(GhashgenError, match="disagree about the code of"):
        call("--check")


def test_a_kernel_without_a_recorded_proof_is_not_among_the_proved(small: Path) -> None:
    path = small / "generated" / "PROOFS.json"
    verdicts = load(path)
    before = gather(small).proved
    first, *others = verdicts
    path.write_text(dump(others), encoding="utf-8")
    after = gather(small).proved
    assert before
    assert after
    assert first.proved
    assert after.kernels == before.kernels - 1
    assert after.theorems < before.theorems
    assert set(after.unrecorded) == {*before.unrecorded, first.kernel}
    for page in (README, RESULTS):
        text = " ".join(blocks(gather(small))[page].split())
        assert f"`ghashgen prove` proves {after.kernels} kernels" in text
        said = text.partition("No proof is recorded yet of ")[2].partition(": `ghashgen")[0]
        assert said.startswith(f"{len(after.unrecorded)} more checked-in kernel")
        named = [f"`{name}`" in said for name in after.unrecorded]
        assert all(named) if page == RESULTS else not any(named)

"""`ghashgen vendor --add`, `--dry-run`, and the names of what is removed."""

import json
from pathlib import Path

import pytest
from helpers.verbs import called, refused

from ghashgen.check import evidence
from ghashgen.output import vendored

pytestmark = pytest.mark.usefixtures("own_cache")

ONE, TWO, THREE = "ghash_sse_k_clmul1_x1", "ghash_avx_k_clmul1_x1", "ghash_avx_k_clmul1_x8"


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


def options_in(folder: Path) -> tuple[str, ...]:
    record = vendored.read(folder)
    assert record is not None
    return record.options


@pytest.fixture
def into(tmp_path: Path) -> Path:
    folder = tmp_path / "third_party"
    called("vendor", "--into", folder, "--name", ONE)
    return folder


def test_removed_files_are_named(into: Path) -> None:
    lines = called("vendor", "--into", into, "--name", TWO).stdout.splitlines()
    assert lines[0].startswith(f"1 proved kernel in {into}: 1 new, 6 rewritten, 2 unchanged, 1 r")
    assert lines[1:] == [f"removed: {ONE}.asm"]
    assert "removed:" not in called("vendor", "--into", into).stdout


def test_add_makes_the_folder_that_naming_all_makes(into: Path, tmp_path: Path) -> None:
    said = called("vendor", "--into", into, "--add", "--name", TWO).stdout
    assert "removed:" not in said
    whole = tmp_path / "whole"
    called("vendor", "--into", whole, "--name", ONE, "--name", TWO)
    assert contents(into) == contents(whole)
    assert options_in(into) == ("--name", ONE, "--name", TWO)
    # Adding what is there changes nothing, and updates work as ever.
    assert "12 unchanged" in called("vendor", "--into", into, "--add", "--name", ONE).stdout
    assert "12 unchanged" in called("vendor", "--into", into).stdout


def test_add_to_kernels_chosen_by_axes_names_each(tmp_path: Path) -> None:
    """A union of choices is no choice by axes: --isa avx --name sse… would be empty."""
    words = ("--isa", "avx", "--multiply", "k", "--reduce", "clmul1", "--blocks", 1, "--op")
    called("vendor", "--into", tmp_path, *words, "ghash", "--family", "hash", "--plain")
    called("vendor", "--into", tmp_path, "--add", "--name", ONE)
    assert options_in(tmp_path) == ("--name", TWO, "--name", "paper_optimized", "--name", ONE)


def test_add_keeps_how_the_others_are_made(tmp_path: Path) -> None:
    called("vendor", "--into", tmp_path, "--name", ONE, "--format", "macho64")
    before = contents(tmp_path)
    said = refused("vendor", "--into", tmp_path, "--add", "--name", TWO, "--format", "elf64")
    assert f"--format elf64 is not what {tmp_path / 'VENDORED'} has" in said
    assert "leave out --format" in said
    assert contents(tmp_path) == before
    called("vendor", "--into", tmp_path, "--add", "--name", TWO, "--format", "macho64")
    assert options_in(tmp_path) == ("--name", ONE, "--name", TWO, "--format", "macho64")


def test_add_takes_a_flag_more(into: Path) -> None:
    called("vendor", "--into", into, "--add", "--name", TWO, "--unproved")
    assert options_in(into) == ("--name", ONE, "--name", TWO, "--unproved")
    called("vendor", "--into", into, "--add", "--name", THREE, "--unproved")
    assert options_in(into) == ("--name", ONE, "--name", TWO, "--name", THREE, "--unproved")


def test_add_overwrites_no_edited_file_and_believes_no_edited_record(into: Path) -> None:
    path = into / f"{ONE}.asm"
    text = path.read_text()
    path.write_text(f"; mine\n{text}")
    assert f"{path} was edited by hand" in refused("vendor", "--into", into, "--add", "--name", TWO)
    called("vendor", "--into", into, "--add", "--name", TWO, "--force")
    assert path.read_text() == text
    record = into / "VENDORED"
    record.write_text(record.read_text().replace("0.", "1.", 1))
    assert "does not trust it" in refused("vendor", "--into", into, "--add", "--name", THREE)


def test_a_kernel_outside_the_catalogue_is_added_by_its_options_or_its_name(
    into: Path, tmp_path: Path
) -> None:
    made = "ghash_avx_k_clmul1_x7"
    axes = ("--isa", "avx", "--multiply", "k", "--blocks", 7, "--reduce", "clmul1", "--op", "ghash")
    called("vendor", "--into", into, "--add", *axes, "--no-wipe")
    assert options_in(into) == ("--name", ONE, "--name", made)
    other = tmp_path / "other"
    called("vendor", "--into", other, "--name", ONE, "--name", made)
    assert contents(other) == contents(into)


def test_what_cannot_be_added(into: Path, tmp_path: Path) -> None:
    assert "--add needs a choice of kernels" in refused("vendor", "--into", into, "--add")
    said = refused("vendor", "--into", tmp_path / "none", "--add", "--name", ONE)
    assert "has no VENDORED, so there is nothing to add to; leave out --add" in said
    assert not (tmp_path / "none").exists()
    assert options_in(into) == ("--name", ONE)


@pytest.mark.parametrize("words", [("--name", TWO), ("--add", "--name", TWO), ()])
def test_a_dry_run_writes_and_proves_nothing(
    into: Path, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...]
) -> None:
    def proves(*_: object) -> None:
        raise AssertionError("it proves")

    monkeypatch.setattr(evidence, "prove", proves)
    before = contents(into)
    found = called("vendor", "--into", into, *words, "--dry-run")
    assert contents(into) == before
    assert "nothing was written or proved" in found.stderr
    fates = dict(line.split("\t") for line in found.stdout.splitlines() if ".asm\t" in line)
    expected = {
        ("--name", TWO): {f"{ONE}.asm": "removed", f"{TWO}.asm": "new"},
        ("--add", "--name", TWO): {f"{ONE}.asm": "unchanged", f"{TWO}.asm": "new"},
        (): {f"{ONE}.asm": "unchanged"},
    }
    assert fates == expected[words]


def test_a_dry_run_says_what_the_run_does(into: Path, tmp_path: Path) -> None:
    words = ("--into", into, "--name", TWO, "--table-align", 64, "--json")
    would = json.loads(called("vendor", *words, "--dry-run").stdout)
    assert would["dry_run"] is True
    assert would["to_prove"] == [TWO]
    done = json.loads(called("vendor", *words).stdout)
    assert done["files"] == {**would["files"], "VENDORED": "rewritten"}
    assert "--dry-run" not in options_in(into)
    new = tmp_path / "new"
    would = json.loads(called("vendor", "--into", new, "--name", ONE, "--dry-run", "--json").stdout)
    assert set(would["files"].values()) == {"new"}
    assert would["to_prove"] == []
    assert not new.exists()


def test_a_dry_run_refuses_what_the_run_refuses(into: Path) -> None:
    path = into / f"{ONE}.asm"
    path.write_text("; mine\n")
    said = refused("vendor", "--into", into, "--name", TWO, "--dry-run")
    assert f"{path} was edited by hand" in said
    assert path.read_text() == "; mine\n"

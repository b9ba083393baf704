"""What must be proved and what is recorded as proved: whatever differs is refused, by name."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import pytest
from click.testing import CliRunner, Result

from ghashgen.check import ledger, ranges
from ghashgen.check.proofs import Proved
from ghashgen.check.verdicts import Verdict
from ghashgen.cli.verbs import prove as command
from ghashgen.cli.verbs.options import default_out
from ghashgen.kernels import manifest
from ghashgen.kernels.hash.kernel import Kernel
from ghashgen.kernels.selection import Choice, Selection, catalogue, choose_of, look_up
from ghashgen.lab.pages import block_of
from ghashgen.lab.summary import RESULTS
from ghashgen.run.built import Built
from ghashgen.support.errors import GhashgenError
from ghashgen.support.paths import project_root

NAMES = ("ghash_avx_k_clmul1_x1", "ghash_avx_winograd_clmul1_x16_wipe", "ghash_sse_k_clmul1_x1")
FIRST, WIPES, _ = NAMES
LONGEST = 2**62 - 1
SMALL = choose_of(Kernel, Choice(name=NAMES))
RECORD = {verdict.kernel: verdict for verdict in ledger.load(default_out() / ledger.NAME)}
LISTED = "init mul update = function memory constant-time abi"

Change = Callable[[dict[str, Any]], None]


def verdicts_of(proofs: Any) -> list[Verdict]:
    return msgspec.convert(proofs, list[Verdict])


def test_the_list_names_the_catalogue_and_is_what_is_recorded_of_it() -> None:
    """A kernel without a recorded proof is listed all the same, and the pages name it."""
    names = {kernel.name for kernel in catalogue()}
    path = project_root() / ledger.EXPECTED
    lost = ledger.mismatches([], path, names, True)
    assert {item.kernel for item in lost} == names
    assert ledger.mismatches(list(RECORD.values()), path, names, False) == []
    missing = ledger.unrecorded(path, RECORD.values(), manifest.load(default_out()))
    assert set(missing) == names - RECORD.keys()
    page = block_of((project_root() / RESULTS).read_text(encoding="utf-8"), name=RESULTS)
    said = (
        " ".join(page.split())
        .partition("No proof is recorded yet of ")[2]
        .partition(": `ghashgen")[0]
    )
    assert {name for name in names if f"`{name}`" in said} == set(missing)


class Project:
    """The verb in a project of three kernels, with verdicts as they are recorded."""

    def __init__(self, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.verdicts = ledger.recorded(RECORD[kernel.name] for kernel in SMALL)
        self.list, self.record = root / ledger.EXPECTED, root / ledger.NAME
        self.list.parent.mkdir()
        self.lengths = root / ranges.EXPECTED
        self.lengths.write_text((project_root() / ranges.EXPECTED).read_text())
        self.list.write_text(
            "".join(f"{name}: {LISTED}{' wipe' * (name == WIPES)}\n" for name in NAMES)
        )
        entries = manifest.load(default_out())
        body = manifest.dump([entries[kernel.name] for kernel in SMALL], {})
        (root / manifest.NAME).write_text(body)
        monkeypatch.setattr(command, "project_root", lambda: root)
        monkeypatch.setattr(command, "default_out", lambda: root)
        monkeypatch.setattr(command, "build_folder", lambda name: root / name)
        monkeypatch.setattr(command, "catalogue", lambda: SMALL)
        monkeypatch.setattr(
            command,
            "chosen_kernels",
            lambda choice, facet: look_up(choice, facet) if choice.name else Selection(SMALL),
        )
        monkeypatch.setattr(command, "build", lambda kernels, *rest: tuple(kernels))
        monkeypatch.setattr(command.proofs, "prove", self.prove)
        assert self.run("--write").exit_code == 0

    def prove(self, kernels: tuple[Built, ...], *rest: object, **how: bool) -> Proved:
        names = {kernel.name for kernel in kernels}  # type: ignore[attr-defined]
        found = [verdict for verdict in self.verdicts if verdict["kernel"] in names]
        return Proved(verdicts_of(found), 0, (), "")

    def run(self, *options: str) -> Result:
        return CliRunner().invoke(command.COMMAND, options)

    def refused(self, *options: str) -> tuple[str, str]:
        """Return the refusal and what stands above it; nothing may be written."""
        before = self.record.read_bytes()
        result = self.run(*options)
        assert isinstance(result.exception, GhashgenError), result.output
        assert self.record.read_bytes() == before
        return str(result.exception), result.stderr


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    return Project(tmp_path, monkeypatch)


WAYS = [(), ("--write",), ("--json",), ("--report",)]


@pytest.mark.parametrize("way", [way for way in WAYS if way != ("--report",)])
def test_agreement_passes(project: Project, way: tuple[str, ...]) -> None:
    assert project.run(*way).exit_code == 0


@pytest.mark.parametrize("way", WAYS[:3])
def test_a_kernel_that_is_proved_and_not_listed_is_refused(
    project: Project, way: tuple[str, ...]
) -> None:
    text = project.list.read_text()
    line = f"{WIPES}: {LISTED} wipe"
    project.list.write_text(text.replace(f"{line}\n", ""))
    why, lines = project.refused(*way)
    assert f"were proved for {WIPES};" in why
    assert lines.splitlines()[-2:] == [f"proved and not listed: {line}", f"  + {line}"]
    # The line that is printed is the one that mends it.
    project.list.write_text(project.list.read_text() + lines.splitlines()[-1].strip(" +") + "\n")
    assert project.run(*way).exit_code == 0


@pytest.mark.parametrize("way", WAYS[:3])
def test_a_kernel_that_is_listed_and_not_proved_is_refused(
    project: Project, way: tuple[str, ...]
) -> None:
    line = f"ghash_avx_k_clmul1_x3: {LISTED}"
    project.list.write_text(f"{project.list.read_text()}{line}  # gone\n")
    why, lines = project.refused(*way)
    assert "were proved for ghash_avx_k_clmul1_x3;" in why
    assert lines.splitlines()[-2:] == [f"listed and not proved: {line}", f"  - {line}  # gone"]


@pytest.mark.parametrize("way", WAYS[:3])
def test_a_theorem_that_is_listed_and_not_proved_is_refused(
    project: Project, way: tuple[str, ...]
) -> None:
    text = project.list.read_text()
    project.list.write_text(text.replace(f"{FIRST}: {LISTED}", f"{FIRST}: {LISTED} wipe"))
    _, lines = project.refused(*way)
    assert lines.splitlines()[-3:] == [
        f"listed and not proved: {FIRST}: init mul update = wipe",
        f"  - {FIRST}: {LISTED} wipe",
        f"  + {FIRST}: {LISTED}",
    ]


@pytest.mark.parametrize("way", WAYS[:3])
def test_a_theorem_that_is_proved_and_not_listed_is_refused(
    project: Project, way: tuple[str, ...]
) -> None:
    update = project.verdicts[0]["functions"][2]
    extra = {**update["theorems"][0], "what": "patience"}
    update["theorems"].append(extra)
    _, lines = project.refused(*way)
    name = project.verdicts[0]["kernel"]
    assert f"proved and not listed: {name}: update = patience\n" in lines
    assert f"  + {name}: update = function memory constant-time abi" in lines


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("update: 0..4611686018427387903 by", "update: 0..461168601842738790 by"),
        ("update: ", "updates: "),
        ("init: none by certificate", "init: none by execution"),
    ],
)
def test_a_theorem_of_other_lengths_is_refused(project: Project, old: str, new: str) -> None:
    text = project.lengths.read_text()
    project.lengths.write_text(text.replace(old, new, 1))
    why, lines = project.refused("--write")
    # Four theorems of each kernel, and one that wipes.
    assert f"13 theorems for other lengths than {ranges.EXPECTED} lists" in why
    assert f"{FIRST}_{old.partition(':')[0]}: function was proved of " in lines


def test_a_theorem_shown_of_fewer_lengths_is_refused(project: Project) -> None:
    """What is named is proved, but not of all that it was."""
    for verdict in project.verdicts:
        for function in verdict["functions"]:
            for theorem in function["theorems"]:
                theorem["lengths"] = theorem["lengths"].replace(str(LONGEST), "63")
    why, lines = project.refused("--write")
    assert "13 theorems for other lengths" in why
    assert f"{FIRST}_update: memory was proved of 0..63 by certificate; expected-lengths" in lines


@pytest.mark.parametrize(
    ("said", "fits"),
    [
        ("0..63 by execution; 64..99 by induction", True),
        ("0..63 by execution; 65..99 by induction", False),
        ("0..63 by execution; 64..98 by induction", False),
        ("0..63 by execution", False),
        ("0..63 by execution; 64..99 by induction; 5..6 by induction", False),
        ("", False),
    ],
)
def test_the_parts_of_a_proof_meet(said: str, fits: bool) -> None:
    assert ranges.fits(said, "0..n by execution; n+1..99 by induction") is fits


@pytest.mark.parametrize("line", ["update", "update:", ": 0..n by execution", "init: again"])
def test_a_list_of_lengths_that_has_no_meaning_is_refused(project: Project, line: str) -> None:
    project.lengths.write_text(f"{project.lengths.read_text()}{line}\n")
    why, _ = project.refused()
    assert "write function: lengths by method" in why


@pytest.mark.parametrize("way", WAYS[:3])
def test_a_kernel_that_is_not_proved_is_refused(project: Project, way: tuple[str, ...]) -> None:
    project.verdicts[1] |= {"proved": False, "functions": [], "report": "NOT proved: a fault"}
    why, lines = project.refused(*way)
    assert "not proved: 1 of 3 kernels" in why
    assert "NOT proved: a fault" in lines


def test_a_choice_of_kernels_speaks_of_those_alone(project: Project) -> None:
    text = project.list.read_text()
    project.list.write_text(text.replace(f"{FIRST}: ", "ghash_of_nobody: "))
    assert project.run("--name", WIPES).exit_code == 0
    assert project.run("--name", WIPES, "--abi", "win64").exit_code == 0
    why, _ = project.refused("--name", WIPES, "--name", FIRST)
    assert "were proved for ghash_avx_k_clmul1_x1;" in why
    why, _ = project.refused()
    assert "were proved for 2 kernels, first " in why
    # What is recorded is the business of a run of everything.
    project.list.write_text(text)
    project.record.write_text("{}")
    assert project.run("--name", WIPES).exit_code == 0
    assert project.run("--abi", "win64").exit_code == 0
    assert "no list of proofs" in project.refused()[0]
    assert "records the whole catalogue" in project.refused("--write", "--name", WIPES)[0]
    assert "records the whole catalogue" in project.refused("--write", "--abi", "win64")[0]


def test_a_kernel_of_no_catalogue_need_not_be_listed(project: Project) -> None:
    verdicts = verdicts_of([{**project.verdicts[0], "kernel": "ghash_on_demand"}])
    names = [kernel.name for kernel in SMALL]
    assert ledger.mismatches(verdicts, project.list, names, False) == []


def zeroed(body: dict[str, Any]) -> None:
    for verdict in body["proofs"]:
        verdict["code_sha256"] = "0" * 64


def text_zeroed(body: dict[str, Any]) -> None:
    for verdict in body["proofs"]:
        verdict["text_sha256"] = "0" * 64


def shorter(body: dict[str, Any]) -> None:
    body["proofs"].pop()


def fewer_lengths(body: dict[str, Any]) -> None:
    theorems = body["proofs"][0]["functions"][2]["theorems"]
    assert {theorem["lengths"] for theorem in theorems} == {f"0..{LONGEST}"}
    for theorem in theorems:
        theorem["lengths"] = "0..63"


def unsealed(body: dict[str, Any]) -> None:
    del body["sha256"]


CHANGES: list[Change] = [zeroed, text_zeroed, shorter, fewer_lengths, unsealed]


@pytest.mark.parametrize("change", CHANGES)
def test_an_edited_record_is_not_read(project: Project, change: Change) -> None:
    body = json.loads(project.record.read_text())
    change(body)
    project.record.write_text(json.dumps(body))
    with pytest.raises(GhashgenError, match=r"was changed: its hash|no list of proofs"):
        ledger.load(project.record)
    project.refused()
    assert project.run("--write").exit_code == 0
    assert project.run().exit_code == 0


def test_what_no_type_reads_is_under_the_hash_too(project: Project) -> None:
    body = json.loads(project.record.read_text())
    body["proofs"][0]["functions"][0]["seen"] = "by nobody"
    project.record.write_text(json.dumps(body))
    with pytest.raises(GhashgenError, match="was changed: its hash differs"):
        ledger.load(project.record)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("[]", "expected a table, got a list"),
        ('{"sha256": "0"}', "lacks 'proofs'"),
        (
            '{"sha256": "0", "proofs": [{"kernel": 1}]}',
            r"proofs\[0\].kernel: expected str, got int",
        ),
        ('{"sha256": "0", "proofs": [', "truncated"),
    ],
)
def test_what_is_no_record_is_refused_in_one_line_that_says_where(
    tmp_path: Path, text: str, why: str
) -> None:
    path = tmp_path / ledger.NAME
    path.write_text(text)
    with pytest.raises(GhashgenError, match=why) as refusal:
        ledger.load(path)
    assert str(refusal.value).startswith(f"{path} is no list of proofs: ")
    assert refusal.value.remedy == ledger.WRITE


@pytest.mark.parametrize("change", CHANGES[:4])
def test_a_record_that_was_written_anew_is_not_what_was_proved(
    project: Project, change: Change
) -> None:
    """With a right hash of itself: only proving again tells."""
    body = json.loads(project.record.read_text())
    change(body)
    project.record.write_text(ledger.dump(verdicts_of(body["proofs"])))
    why, _ = project.refused()
    assert "differs from what was proved now" in why
    assert why.endswith("run ghashgen prove --write")


def test_the_record_says_nothing_of_what_proofs_cost(project: Project) -> None:
    before = project.record.read_text()
    assert "seconds" not in before
    assert "instructions" not in before
    costly = []
    for verdict in verdicts_of(project.verdicts):
        functions = tuple(replace(f, seconds=7.0, instructions=7) for f in verdict.functions)
        costly.append(msgspec.structs.replace(verdict, seconds=7.0, functions=functions))
    assert ledger.dump(costly) == ledger.dump(verdicts_of(project.verdicts))
    ledger.require_same(project.record, costly)


def test_a_record_of_other_code_than_the_manifest_lists_is_refused(project: Project) -> None:
    path = project.record.parent / manifest.NAME
    body = json.loads(path.read_text())
    body["kernels"][2]["object"]["text_sha256"] = "1" * 64
    path.write_text(json.dumps(body))
    for way in WAYS[:2]:
        why, _ = project.refused(*way)
        assert f"disagree about the code of {body['kernels'][2]['name']}" in why
    entries = manifest.load(path.parent)
    with pytest.raises(GhashgenError, match="of 2 kernels, first"):
        ledger.require_fresh(project.record, verdicts_of(project.verdicts[1:]), entries)
    with pytest.raises(GhashgenError, match=f"about the code of {body['kernels'][2]['name']}:"):
        ledger.unrecorded(project.record, verdicts_of(project.verdicts[1:]), entries)


def test_a_kernel_that_the_record_says_nothing_of_is_named(project: Project) -> None:
    entries = manifest.load(project.record.parent)
    verdicts = verdicts_of(project.verdicts)
    assert ledger.unrecorded(project.record, verdicts, entries) == ()
    first = verdicts[0].kernel
    assert ledger.unrecorded(project.record, verdicts[1:], entries) == (first,)
    # One that is recorded and not listed is of other code.
    del entries[first]
    with pytest.raises(GhashgenError, match=f"about the code of {first}:"):
        ledger.unrecorded(project.record, verdicts, entries)

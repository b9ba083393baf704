"""README's block is what `ghashgen summary` prints, and an edit of it is noticed."""

import json
import shutil
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from helpers.verbs import called

from ghashgen.algebra import identities
from ghashgen.check.ledger import dump, load
from ghashgen.cli.verbs import summary as command
from ghashgen.kernels.manifest import Entry
from ghashgen.kernels.manifest import load as load_manifest
from ghashgen.kernels.selection import catalogue
from ghashgen.lab.bench.families.gcm import CONTEST as AES_GCM
from ghashgen.lab.figures import four, ports
from ghashgen.lab.figures.gallery import FOLDER as FIGURES
from ghashgen.lab.hosts import PAGE as HOSTS
from ghashgen.lab.pages import BEGIN, END, README, block_of, replaced
from ghashgen.lab.standing import MARK, Standing, load_standings
from ghashgen.lab.summary import RESULTS, Summary, blocks, gather
from ghashgen.records.core import IMIX_BYTES, Cell, Machine, Results, Run, Subject
from ghashgen.records.cpus import core_of
from ghashgen.records.records import FOLDER, write_record
from ghashgen.support.errors import GhashgenError
from ghashgen.support.paths import project_root

PAGES = (README, RESULTS, HOSTS)


@pytest.fixture(scope="module")
def current() -> Summary:
    return gather(project_root())


def copied(root: Path, to: Path) -> Path:
    """The pages, manifest and stored results alone, as the command sees them."""
    entries = gather_entries()
    drawn = [Path("generated") / entries[of.KERNEL].file for of in (ports, four)]
    for each in (FOLDER, FIGURES, Path(HOSTS).with_suffix("")):
        shutil.copytree(root / each, to / each)
    for each in (*PAGES, "generated/MANIFEST.json", "generated/PROOFS.json", *drawn):
        (to / each).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(root / each, to / each)
    return to


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


@pytest.fixture
def first_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    """The kernel to take is the first of a record, so that a page's figures can be planted."""

    def loaded(*given: Any) -> tuple[Standing, ...]:
        return tuple(replace(one, takes=_first(one)) for one in load_standings(*given))

    def _first(one: Standing) -> Callable[[int, str, int], str]:
        subjects = one.record.results.subjects.items()
        name = next(name for name, subject in subjects if subject.kind == "kernel")
        return lambda size, mode, key: name

    monkeypatch.setattr("ghashgen.lab.speeds.core.load_standings", loaded)


def gather_entries() -> Mapping[str, Entry]:
    return load_manifest(project_root() / "generated")


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


CPU = "a core (cpu family 26, model 2, stepping 1)"
CORE = core_of(CPU)
assert CORE
WHOLE = tuple(sorted(CORE.features))


def measured(*figures: tuple[str, str, int, float]) -> Results:
    """A measurement: (name, mode, size, cycles); names that begin with p are peers'."""
    cells = tuple(
        Cell(name, size, mode, (Run(cycles, 0.98 * cycles, 1.02 * cycles, 9, 0),))
        for name, mode, size, cycles in figures
    )
    kinds = {name: "peer" if name[0] == "p" else "kernel" for name, *_ in figures}
    subjects = {name: Subject(name, kind, 384) for name, kind in kinds.items()}
    return Results(Machine(CPU, WHOLE, 3.0, "abc"), subjects, cells, {})


def test_speed_is_not_invented(clone: Path) -> None:
    shutil.rmtree(clone / FOLDER)
    assert not any(one.standings for one in gather(clone).measured.values())
    assert "**Fast.** Not measured yet: `ghashgen bench --record`." in blocks(gather(clone))[README]


@pytest.mark.usefixtures("first_taken")
def test_speed_comes_from_the_record_of_each_cpu(clone: Path) -> None:
    shutil.rmtree(clone / FOLDER)
    both = (("k", "throughput", 64, 10.0), ("p", "throughput", 64, 15.0))
    write_record(measured(*both), "amd-26-2-1", clone / FOLDER)
    write_record(measured(*both, ("k", "init", 0, 170.4)), "other", clone / FOLDER)
    pages = blocks(gather(clone))
    assert pages[README].count("| GHASH | Zen 5 | 1.50 to 1.50 | 1.50 (10.0) |  |  |") == 2
    assert pages[RESULTS].count("| 64 | `k` | 10.0 | 4.0% | p | 1.50 |  |  |") == 2
    assert pages[RESULTS].count("| `k` | 384 |  | 170 |") == 1


@pytest.mark.usefixtures("first_taken")
def test_chained_calls_and_whole_messages_are_shown_where_measured(clone: Path) -> None:
    shutil.rmtree(clone / FOLDER)
    figures = [
        (name, mode, 1024, cycles * factor)
        for mode, factor in (("throughput", 1), ("latency", 2), ("gcm", 3))
        for name, cycles in (("k", 256.0), ("q", 256.5), ("p", 256.0 * (1 + factor / 10)))
    ]
    write_record(measured(*figures), "x", clone / FOLDER)
    row = "| 1024 | `k` | 0.250/B | 4.0% | p | 1.10 | 1.20 | 1.30 |"
    assert row in blocks(gather(clone))[RESULTS]


@pytest.mark.usefixtures("first_taken")
def test_aes_gcm_has_a_table_of_its_own(clone: Path) -> None:
    shutil.rmtree(clone / FOLDER)
    assert "Speed of AES-GCM" not in blocks(gather(clone))[RESULTS]
    figures = [
        *(("k", "seal", 16, 40.0), ("q", "seal", 16, 44.0), ("p", "seal", 16, 50.0)),
        *(("k", "open", 16, 50.0), ("p", "open", 16, 55.0)),
        *(("k", "imix", IMIX_BYTES, IMIX_BYTES / 4), ("p", "imix", IMIX_BYTES, IMIX_BYTES / 2)),
        *(("k", "seal-burst", 64, 20.0), ("q", "seal-burst", 64, 50.0)),
        *(("p", "seal-burst", 64, 60.0), ("k", "open-burst", 64, 20.0)),
        ("p", "open-burst", 64, 90.0),
        ("k", "init", 0, 251.3),
    ]
    results = measured(*figures)
    keyed = {name: replace(subject, key=256) for name, subject in results.subjects.items()}
    write_record(replace(results, subjects=keyed), "x", clone / AES_GCM.folder)
    page = blocks(gather(clone))[RESULTS]
    assert "## Speed of AES-GCM on Zen 5" in page
    assert "| 256 | 16 | `k` | 40.0 | 4.0% | p | 1.25 | 1.10 |  |  |" in page
    assert "| 256 | IMIX | `k` | 0.250/B | 4.0% | p | 2.00 |  |  |  |" in page
    # The kernel for packets is the same: it has no figure of its own for messages one by one.
    assert "| 256 | 64 | `k` | 20.0 | 4.0% | p | 3.00 | 4.50 |  |" in page
    assert "| `k` | 384 | 251 |" in page


@pytest.mark.usefixtures("first_taken")
def test_lengths_with_one_kernel_share_a_row(clone: Path) -> None:
    """Their figures are the first and the last, or the lowest and the highest."""
    shutil.rmtree(clone / FOLDER)
    figures = [
        *(("k", "seal", size, cycles) for size, cycles in ((16, 40.0), (64, 50.0), (256, 80.0))),
        *(("k", "seal", size, size / 4) for size in (512, 1024)),
        *(("p", "seal", size, cycles) for size, cycles in ((16, 50.0), (64, 55.0), (256, 96.0))),
        *(("p", "seal", size, size / 2) for size in (512, 1024)),
        *(("q", "seal", 1024, 300.0), ("k", "open", 64, 10.0), ("p", "open", 64, 20.0)),
    ]
    results = measured(*figures)
    keyed = {name: replace(subject, key=256) for name, subject in results.subjects.items()}
    write_record(replace(results, subjects=keyed), "x", clone / AES_GCM.folder)
    page = blocks(gather(clone))[RESULTS]
    assert "| 256 | 16–256 | `k` | 40.0–80.0 | 4.0% | p | 1.10–1.25 | 2.00 |  |  |  |" in page
    assert "| 256 | 512–1024 | `k` | 0.250/B | 4.1% | p | 2.00 |  |  |  |  |" in page


@pytest.mark.usefixtures("first_taken")
def test_readme_shows_aes_gcm_under_keys_of_128_bits(clone: Path) -> None:
    figures = (("k", "seal", 64, 40.0), ("p", "seal", 64, 50.0))
    for key, shown in ((128, True), (256, False)):
        shutil.rmtree(clone / FOLDER)
        results = measured(*figures)
        keyed = {name: replace(subject, key=key) for name, subject in results.subjects.items()}
        write_record(replace(results, subjects=keyed), "x", clone / AES_GCM.folder)
        page = blocks(gather(clone))[README]
        # The range covers both.
        single = "1.25 (40.0)" if shown else ""
        assert f"| AES-GCM | Zen 5 | 1.25 to 1.25 | {single} |  |  |" in page
        assert "AES-GCM is 1.25 to 1.25 times as fast as" in " ".join(page.split())


@pytest.mark.usefixtures("first_taken")
def test_readme_says_where_its_claim_of_speed_ends(clone: Path) -> None:
    shutil.rmtree(clone / FOLDER)
    figures = [
        *(("k", "throughput", 16, 10.0), ("p", "throughput", 16, 20.0)),
        *(("k", "throughput", 64, 10.0), ("p", "throughput", 64, 9.0)),
        *(("k", "latency", 16, 10.0), ("p", "latency", 16, 12.0)),
        *(("k", "latency", 64, 10.0), ("p", "latency", 64, 8.0)),
    ]
    write_record(measured(*figures), "x", clone / FOLDER)
    page = " ".join(blocks(gather(clone))[README].split())
    assert "GHASH is 0.90 to 2.00 times as fast as the fastest other library" in page
    assert "From 16 B to 64 B, GHASH is" in page
    assert "From 1 KiB up" not in page
    assert "We measured Zen 5." in page
    assert (
        "GHASH is slower on Zen 5 at 64 B. Dependent calls are slower at some lengths: see the last"
        in page
    )
    assert "| GHASH | Zen 5 | 0.90 to 2.00 | 0.90 (10.0) | | 0.80 to 1.20 |" in page


@pytest.mark.usefixtures("first_taken")
def test_readme_names_slow_lengths_in_a_row_by_the_first_and_the_last(clone: Path) -> None:
    shutil.rmtree(clone / FOLDER)
    slow = {16: 9.0, 32: 20.0, 64: 9.0, 128: 9.0, 256: 9.0, 512: 20.0, 1024: 9.0, 4096: 9.0}
    figures = [
        *(("k", "throughput", size, 10.0) for size in slow),
        *(("p", "throughput", size, cycles) for size, cycles in slow.items()),
    ]
    write_record(measured(*figures), "x", clone / FOLDER)
    page = " ".join(blocks(gather(clone))[README].split())
    assert "GHASH is slower on Zen 5 at 16 B, 64 B to 256 B, 1 KiB and 4 KiB. See [all" in page
    assert "Dependent calls" not in page.partition("| function |")[0].partition("Each figure")[0]


@pytest.mark.parametrize("same", [True, False])
@pytest.mark.usefixtures("first_taken")
def test_figures_of_other_code_are_marked(clone: Path, same: bool) -> None:
    """On both pages: where the kernel is named, and beside the CPU."""
    shutil.rmtree(clone / FOLDER)
    kernel, old = "ghash_avx_k_clmul1_x8", MARK if not same else ""
    figures = [(kernel, mode, 64, 10.0) for mode in ("throughput", "latency")]
    results = measured(*figures, ("p", "throughput", 64, 15.0), ("p", "latency", 64, 15.0))
    digest = gather_entries()[kernel].object.text_sha256 if same else "0" * 64
    subjects = {**results.subjects, kernel: replace(results.subjects[kernel], digest=digest)}
    write_record(replace(results, subjects=subjects), "x", clone / FOLDER)
    pages = blocks(gather(clone))
    assert f"| 64 | `{kernel}`{old} | 10.0 |" in pages[RESULTS]
    assert f"| GHASH | Zen 5{old} | 1.50 to 1.50 |" in pages[README]
    for page, words in (
        (RESULTS, "The code of 1 kernel has changed since this measurement."),
        (README, f"We measured Zen 5{MARK}."),
        (README, f"{MARK} The code of some kernels has changed since."),
    ):
        assert (words in " ".join(pages[page].split())) is not same


@pytest.mark.usefixtures("first_taken")
def test_a_lesser_machine_is_called_what_it_is(clone: Path) -> None:
    """It has a row of its own, and the page of results says what it lacked."""
    shutil.rmtree(clone / FOLDER)
    results = measured(("k", "throughput", 64, 10.0), ("p", "throughput", 64, 15.0))
    write_record(results, "whole", clone / FOLDER)
    lesser = replace(results.machine, features=tuple(f for f in WHOLE if "avx512" not in f))
    absent = {**{f"k{n}": "this CPU lacks avx512f" for n in range(8)}, "q": "not installed"}
    write_record(replace(results, machine=lesser, missing=absent), "lesser", clone / FOLDER)
    pages = blocks(gather(clone))
    for title in ("Zen 5", "Zen 5 without AVX-512"):
        assert pages[README].count(f"| GHASH | {title} | 1.50 to 1.50 |") == 1
        assert pages[RESULTS].count(f"## Speed on {title}\n") == 1
    text = " ".join(pages[RESULTS].split())
    names = "avx512bw avx512dq avx512f avx512vbmi avx512vl"
    assert text.count(f"The machine lacked {names}, which Zen 5 has.") == 1
    assert "k0, k1 and 6 more: the CPU lacks features that they need; q: not installed." in text


@pytest.mark.usefixtures("first_taken")
def test_the_front_page_counts_goals_that_are_reached(clone: Path) -> None:
    figures = (("k", "seal", 64, 40.0), ("p", "seal", 64, 50.0))
    results = measured(*figures)
    keyed = {name: replace(subject, key=128) for name, subject in results.subjects.items()}
    for ratio, reached in ((1.2, 1), (1.3, 0)):
        shutil.rmtree(clone / FOLDER)
        path = write_record(replace(results, subjects=keyed), "x", clone / AES_GCM.folder)
        goals = f'[[goals]]\nfeatures = ["vaes"]\ncore = "Zen 4"\n[[goals.goal]]\nratio = {ratio}\n'
        (path.parent / "goals.toml").write_text(f"{goals}sizes = [64]\nkeys = [128]\n")
        page = " ".join(blocks(gather(clone))[README].split())
        assert f"for AES-GCM before we measured it, and reached {reached}." in page


@pytest.mark.usefixtures("first_taken")
def test_the_front_page_has_a_figure_for_long_messages_and_says_which_cpu(clone: Path) -> None:
    shutil.rmtree(clone / FOLDER)
    peers = ((512, 20.0), (1024, 12.0), (4096, 13.0))
    figures = [
        *(("k", "throughput", size, 10.0) for size, _ in peers),
        *(("p", "throughput", size, cycles) for size, cycles in peers),
    ]
    write_record(measured(*figures), "x", clone / FOLDER)
    sealed = measured(("k", "seal", 64, 40.0), ("p", "seal", 64, 50.0))
    keyed = {name: replace(subject, key=128) for name, subject in sealed.subjects.items()}
    other = replace(sealed.machine, cpu="a core (cpu family 6, model 85, stepping 7)")
    write_record(replace(sealed, subjects=keyed, machine=other), "y", clone / AES_GCM.folder)
    page = " ".join(blocks(gather(clone))[README].split())
    assert "From 1 KiB up, GHASH is 1.20 to 1.30 times as fast as" in page
    assert "We measured Cascade Lake (AES-GCM only) and Zen 5 (GHASH only)." in page
    assert "slower" not in page


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

"""What README and docs/results.md say about speed comes from the records, and is not invented."""

import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from helpers.summarizing import copied, gather_entries

from ghashgen.lab.bench.families.gcm import CONTEST as AES_GCM
from ghashgen.lab.pages import README
from ghashgen.lab.standing import MARK, Standing, load_standings
from ghashgen.lab.summary import RESULTS, blocks, gather
from ghashgen.records.core import IMIX_BYTES, Cell, Machine, Results, Run, Subject
from ghashgen.records.cpus import core_of
from ghashgen.records.records import FOLDER, write_record
from ghashgen.support.paths import project_root

CPU = "a core (cpu family 26, model 2, stepping 1)"
CORE = core_of(CPU)
assert CORE
WHOLE = tuple(sorted(CORE.features))


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    return copied(project_root(), tmp_path)


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
    written = blocks(gather(clone))
    told = " ".join(written[README].split())
    assert "messages](docs/gcm-many.md), AES-GCM is 3.00 to 3.00 times as fast at 64 B." in told
    page = written[RESULTS]
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

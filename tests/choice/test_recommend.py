"""`ghashgen recommend` names the dispatcher's kernel, and its figures are those on record."""

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from helpers.dispatching import AVX, AVX512, CASCADE_LAKE, ZEN4, ZEN5, entry, record, shipped
from helpers.verbs import called, refused
from msgspec import structs

from ghashgen.choice.candidate import Candidate, candidates
from ghashgen.choice.choice import Chooser
from ghashgen.choice.classes import CLASSES
from ghashgen.choice.cores import host_of
from ghashgen.choice.families.hash import LASTING, ONCE, QUESTION
from ghashgen.choice.questions import Use
from ghashgen.choice.recommend import Advice, Machine, machine
from ghashgen.choice.recommend import recommend as asked
from ghashgen.cli.verbs import recommend as verb
from ghashgen.cli.verbs.recommend import lines
from ghashgen.output.dispatcher import recorded
from ghashgen.records.cpus import CORES, core_of
from ghashgen.records.records import FOLDER, Record, load_records
from ghashgen.support.errors import GhashgenError
from ghashgen.support.paths import project_root

SMALL = entry("avx", AVX, blocks=4, table=192)
LARGE = entry("avx", AVX, blocks=16, table=768)
SIZES = tuple(size for item in CLASSES for size in item.sizes)


def planted(cpu: str = ZEN5, features: tuple[str, ...] = AVX) -> Record:
    """x4 is the fastest to 64 bytes, x16 beyond; a peer takes twice as long, a wide one half."""
    cells: dict[tuple[str, str, int], float] = {}
    for size in SIZES:
        cells[SMALL.name, "throughput", size] = size * (0.5 if size <= 64 else 1.0)
        cells[LARGE.name, "throughput", size] = size * (1.0 if size <= 64 else 0.5)
        cells["peer_avx", "throughput", size] = size * 1.0
        cells["peer_wide", "throughput", size] = size * 0.25
    cells |= {(SMALL.name, "init", 0): 100.0, (LARGE.name, "init", 0): 400.0}
    one = record(cpu, features, cells, peers=("peer_avx", "peer_wide"))
    subjects = dict(one.results.subjects)
    subjects["peer_wide"] = replace(subjects["peer_wide"], needs=AVX512)
    return replace(one, results=replace(one.results, subjects=subjects))


MASKED = "Zen 5 without AVX-512"
"""The machine of that record."""

POOL = candidates([SMALL, LARGE])


def recommend(
    here: Machine,
    pool: Iterable[Candidate],
    records: Sequence[Record],
    use: Use = LASTING,
    size: int | None = None,
) -> tuple[Advice, ...]:
    return asked(here, pool, records, QUESTION, use, size=size)


def words(advice: Advice) -> str:
    return "\n".join(lines(advice))


def test_kernel_speed_table_set_up_and_why_are_named() -> None:
    short, long = recommend(machine(MASKED, [planted()]), POOL, [planted()])
    assert [a.candidate.name for a in (short, long)] == [SMALL.name, LARGE.name]
    text = words(short)
    assert text.startswith(f"to 64 B: {SMALL.name}")
    assert "32.0 core cycles (0.500 per byte) at 64 B, messages back to back" in text
    assert "the best peer there, peer_avx, takes 2.00 times as long" in text
    assert "the fastest of 2 measured at 32 B, 48 B, 64 B (docs/bench/amd-26-2-1.json)" in text
    assert words(long).startswith(f"more than 64 B: {LARGE.name}")
    assert "8192 core cycles (0.500 per byte) at 16 KiB" in words(long)


def test_sizes_and_set_up_stand_beside_the_name() -> None:
    advice = recommend(machine(MASKED, [planted()]), POOL, [planted()])
    table = verb._table(QUESTION, {"ghash": advice})
    first = dict(zip((name.strip(">") for name in table.columns), table.rows[0], strict=True))
    (small,) = (c for c in POOL if c.name == SMALL.name)
    assert first == {
        "length": "to 64 B",
        "kernel": SMALL.name,
        "op": "ghash",
        "cycles": "32.0",
        "peer's time": "2.00",
        "measured on": MASKED,
        "code bytes": str(small.code_bytes),
        "table bytes": "192",
        "key set-up": "100",
        "needs": "avx pclmulqdq",
    }


def test_messages_under_a_key_share_its_set_up() -> None:
    """100 and 400 cycles of set-up, 256 and 128 of a message."""
    for messages, winner in ((1, SMALL), (3, SMALL), (100, LARGE)):
        use = replace(LASTING, messages=messages)
        (advice,) = recommend(machine(MASKED, [planted()]), POOL, [planted()], use, size=256)
        assert advice.candidate.name == winner.name, messages
    assert "1/100 of key set-up and messages" in words(advice)


def test_a_peer_that_the_cpu_cannot_run_is_no_measure() -> None:
    (advice,) = recommend(machine(MASKED, [planted()]), POOL, [planted()], size=1024)
    assert advice.speed
    assert (advice.speed.peer, advice.speed.ratio) == ("peer_avx", 2.0)
    wide = planted(features=(*AVX, *AVX512))
    (advice,) = recommend(machine("Zen 5", [wide]), POOL, [wide], size=1024)
    assert advice.speed
    assert (advice.speed.peer, advice.speed.ratio) == ("peer_wide", 0.5)


@pytest.mark.parametrize(
    ("size", "at", "name"),
    [
        (0, 16, SMALL),
        (16, 16, SMALL),
        (64, 64, SMALL),
        (65, 64, LARGE),
        (1400, 1500, LARGE),
        (1 << 30, 16384, LARGE),
    ],
)
def test_a_length_gets_the_nearest_figure(size: int, at: int, name: dict[str, Any]) -> None:
    (advice,) = recommend(machine(MASKED, [planted()]), POOL, [planted()], size=size)
    assert advice.candidate.name == name.name
    assert advice.speed
    assert advice.speed.size == at


def test_key_set_up_is_counted_where_each_message_has_a_key() -> None:
    (advice,) = recommend(machine(MASKED, [planted()]), POOL, [planted()], size=256, use=ONCE)
    # 400 + 128 against 100 + 256 cycles.
    assert advice.candidate.name == SMALL.name
    assert advice.speed
    assert advice.speed.cycles == 356.0
    assert "356 core cycles (1.391 per byte) at 256 B, key set-up and messages" in words(advice)


def test_what_was_not_measured_there_is_said() -> None:
    for name, where in (("Cascade Lake", MASKED), ("avx,pclmulqdq", MASKED)):
        records = [planted()]
        (advice, _) = recommend(machine(name, records), POOL, records)
        assert not advice.own
        text = words(advice)
        assert f"no record of this CPU decides it: {where} is the nearest that does" in text
        assert f"core cycles on {where} (0.500 per byte) at 64 B" in text
    (advice,) = recommend(machine("avx,pclmulqdq", []), POOL, [])
    text = words(advice)
    assert "nothing was measured: by convention the widest registers" in text
    assert "its speed is not on record" in text


def test_polyval_says_whose_figures_those_are() -> None:
    pool = candidates([entry("avx", AVX, blocks=16, table=768, op="polyval")])
    (advice,) = recommend(machine("Zen 5", [planted()]), pool, [planted()])
    assert f"as {LARGE.name}, which swaps bytes besides" in words(advice)


def test_a_use_without_a_length_has_a_figure_too() -> None:
    text = run("--cpu", "Zen 4", "--use", "segments")
    assert re.search(r"any length: ghash_\w+_segments", text)
    assert re.search(r" core cycles( on Zen \d)?, key set-up, from call to result", text)


def test_a_cpu_without_products_is_refused() -> None:
    with pytest.raises(GhashgenError, match="can run no kernel: each needs PCLMULQDQ"):
        recommend(machine("avx,avx2", []), POOL, [])


def test_a_core_is_more_than_a_lesser_machine_on_record(monkeypatch: pytest.MonkeyPatch) -> None:
    """Asked for by the core's name it has all its features; by the record's, what was measured."""

    def without_the_whole(folder: Path) -> list[Record]:
        return [one for one in load_records(folder) if one.title != "Zen 4"]

    monkeypatch.setattr(verb, "load_records", without_the_whole)
    known = without_the_whole(project_root() / FOLDER)
    for name in ("zen4", "Zen 4"):
        assert machine(name, known) == machine(name, [])
    core = core_of(ZEN4)
    assert core
    assert machine("zen4", known).features == core.features
    lesser = machine("Zen 4 without AVX-512", known)
    assert (lesser.core, lesser.features & set(AVX512)) == ("Zen 4", {"vpclmulqdq"})
    assert lesser == machine("amd-25-17-1-without-avx-512", known)
    for name, own in (("Zen 4", False), ("Zen 4 without AVX-512", True)):
        for given in ((), ("--key", "128")):
            answer = json.loads(run("--cpu", name, *given, "--json"))
            assert {item["own_record"] for item in answer["kernels"]} == {own}
            assert ("avx512" in {item["isa"] for item in answer["kernels"]}) is not own
    assert "no record of this CPU decides it" in run("--cpu", "avx,pclmulqdq")
    first = run("--cpu", "amd-25-17-1-without-avx-512").splitlines()[0]
    assert first.endswith(": Zen 4 without AVX-512")


def test_a_core_without_a_record_gets_kernels_that_it_can_run() -> None:
    pool = [c for c in candidates(shipped()) if c.given == "ghash"]
    titles = {core.title for core in CORES} - {one.core for one in recorded()}
    cores = [machine(title, recorded()) for title in titles]
    # One of those with the same features and maker: they get the same kernels.
    for here in {(one.vendor, one.features): one for one in cores}.values():
        advice = recommend(here, pool, recorded())
        assert advice
        for item in advice:
            assert item.candidate.needs <= here.features
            assert not item.own


def test_a_length_that_no_message_has_is_refused() -> None:
    assert recommend(machine("Zen 5", [planted()]), POOL, [planted()], size=(1 << 61) - 1)
    for size in (1 << 61, 10**23):
        with pytest.raises(GhashgenError, match=f"at most 2305843009213693951 bytes, not {size};"):
            recommend(machine("Zen 5", [planted()]), POOL, [planted()], size=size)


def test_a_peer_elsewhere_is_no_peer_here(monkeypatch: pytest.MonkeyPatch) -> None:
    every = tuple(map(of_any_code, recorded()))
    monkeypatch.setattr(verb, "load_records", lambda folder: every)
    text = run("--cpu", "Sapphire Rapids", "--bytes", "16384")
    assert "no record of this CPU decides it" in text
    (near,) = set(re.findall(r"core cycles on (Zen \d|\w+ Rapids) .* at 16 KiB", text))
    assert re.search(rf"the best peer on {near}, \w+, takes [\d.]+ times as long there", text)


@pytest.mark.parametrize("op", ["ghash", "polyval"])
def test_what_is_recommended_is_what_the_dispatcher_takes(op: str) -> None:
    pool = [c for c in candidates(shipped()) if c.given == op]
    chooser = Chooser(pool, recorded())
    for one in recorded():
        here = machine(one.slug, recorded())
        host = host_of(chooser.hosts, here.cpu, here.vendor)
        assert host.title == one.core
        for use in (LASTING, ONCE):
            picks = chooser.picks(host, here.features, use)
            every = len(picks) if op == "polyval" else 3
            for pick in (*picks[:-1:every], *picks[-1:]):
                size = (1 << 20) if pick.up_to is None else pick.up_to
                (advice,) = recommend(here, pool, recorded(), use=use, size=size)
                assert advice.candidate == pick.candidate


def run(*arguments: str) -> str:
    result = called("recommend", *arguments)
    return result.stdout if "--json" in arguments else result.output


def of_any_code(one: Record) -> Record:
    """A record that does not say which code it has measured: all its figures count."""
    subjects = {name: replace(s, digest="") for name, s in one.results.subjects.items()}
    return replace(one, results=replace(one.results, subjects=subjects))


def test_the_verb(monkeypatch: pytest.MonkeyPatch) -> None:
    every = tuple(map(of_any_code, recorded()))
    monkeypatch.setattr(verb, "load_records", lambda folder: every)
    for one in every:
        text = run("--cpu", one.slug)
        assert one.title in text
        assert f"docs/bench/{one.slug}.json" in text
        answer = json.loads(run("--cpu", one.title, "--bytes", "16384", "--json"))
        (kernel,) = answer["kernels"]
        assert kernel["own_record"]
        assert f" {kernel['kernel']} (generated/{kernel['isa']}/)" in text
    once = json.loads(
        run("--cpu", "Cascade Lake", "--bytes", "512", "--messages-per-key", "1", "--json")
    )
    assert once["kernels"][0]["speed"]["with_key_setup"]
    assert "polyval_" in run("--cpu", "Zen 5", "--op", "polyval")


def test_figures_of_other_code_are_left_out_and_that_is_said_in_a_line(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The kernel that it makes the fastest by far was other code when it was measured."""
    (measured,) = (one for one in recorded() if one.title == "Zen 5")
    zen5, said = of_any_code(measured), measured.results.subjects
    fastest = "ghash_sse_schoolbook_shiftxor_x1"
    cells = tuple(
        structs.replace(c, runs=tuple(structs.replace(r, median=1.0) for r in c.runs))
        if c.name == fastest
        else c
        for c in zen5.results.cells
    )
    subjects = dict(zen5.results.subjects)
    assert said[fastest].digest
    for digest, wins in ((said[fastest].digest, True), ("0" * 64, False)):
        subjects[fastest] = replace(subjects[fastest], digest=digest)
        doctored = replace(zen5, results=replace(zen5.results, cells=cells, subjects=subjects))
        monkeypatch.setattr(verb, "load_records", lambda folder, one=doctored: (one,))
        done = called("recommend", "--cpu", "zen5", "--bytes", "1024")
        assert (f"\t{fastest}\t" in done.stdout) is wins
        assert done.stderr.count("since they were measured: 1 on Zen 5;") == (not wins)


def test_a_key_size_that_no_kernel_serves_is_left_out_unless_it_is_asked_for() -> None:
    done = called("recommend", "--cpu", "Zen 4", "--use", "pieces")
    assert {line.split("\t")[2] for line in done.stdout.splitlines()[1:]} == {"128", "256"}
    assert "left out: key 192, for which no kernel serves use pieces\n" in done.stderr
    said = refused("recommend", "--cpu", "Zen 4", "--key", "192", "--use", "pieces")
    assert "no kernel of the catalogue for key 192 has aad, decrypt_more" in said


def test_neither_compiler_nor_assembler_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    assert "ghash_" in run("--cpu", "avx,pclmulqdq", "--bytes", "64")


def test_an_empty_folder_is_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(verb, "CATALOGUE", str(tmp_path))
    assert "lists no kernel for op ghash" in refused("recommend", "--cpu", "avx,pclmulqdq")


def test_records_of_two_cpus_are_kept_apart() -> None:
    records = [planted(), planted(CASCADE_LAKE)]
    for name, slug in (("zen5", "amd-26-2-1"), ("Cascade Lake", "intel-6-85-7")):
        assert {a.record for a in recommend(machine(name, records), POOL, records)} == {slug}

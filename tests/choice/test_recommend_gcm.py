"""`ghashgen recommend` chooses AES-GCM kernels by size of key and use, from their own records."""

import json
import math
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from helpers.dispatching import AVX, AVX2, AVX512, CASCADE_LAKE, SSE, ZEN5, entry, gcm_entry, record
from helpers.verbs import called

from ghashgen.choice.candidate import Candidate, candidates
from ghashgen.choice.classes import CLASSES
from ghashgen.choice.families.gcm import (
    BULK,
    BURSTS,
    MIXED,
    ONCE,
    PACKETS,
    PARTS,
    QUESTION,
    RECORDS,
    SHORT,
)
from ghashgen.choice.families.registry import questions
from ghashgen.choice.questions import Use
from ghashgen.choice.recommend import Advice, machine, recommend
from ghashgen.cli.verbs import recommend as verb
from ghashgen.cli.verbs.recommend import COMMAND, lines, told_beside
from ghashgen.kernels.families import families
from ghashgen.kernels.manifest import Entry
from ghashgen.records.core import FIXED_SIZES, IMIX_BYTES, MODES, SEAL_BURSTS, TIE
from ghashgen.records.records import Record, folder_of
from ghashgen.support.errors import GhashgenError

SMALL = gcm_entry("avx", AVX, blocks=8)
LARGE = gcm_entry("avx512", (*AVX512, "vaes"), blocks=32)
PART = gcm_entry("avx", AVX, blocks=8, messages=False)
SSE_ALONE = gcm_entry("sse", (*SSE, "sse4_1"), blocks=8)
OTHER = gcm_entry("avx", AVX, key=256, blocks=8)
ENTRIES = (SMALL, LARGE, PART, SSE_ALONE, OTHER)
ALL = (*SSE, *AVX2, *AVX512, "aesni", "avx512vbmi", "bmi2", "gfni", "sse4_1", "vaes")
SIZES = (*(size for item in CLASSES for size in item.sizes), 65536, 1 << 20)


def cells(rates: Mapping[str, tuple[float, float]]) -> dict[tuple[str, str, int], float]:
    """Of (cycles a call, cycles a byte) by kernel: every mode of whole messages."""
    found = {}
    for name, (call, byte) in rates.items():
        for size in SIZES:
            for mode in ("seal", "open", "seal-latency", "text"):
                found[name, mode, size] = call + byte * size
        found[name, "imix", IMIX_BYTES] = 12 * call + byte * IMIX_BYTES
        found[name, "init", 0] = 2 * call
    return found


def planted(cpu: str = ZEN5, **rates: tuple[float, float]) -> Record:
    """x8 is the faster to some 100 bytes; a peer of another size of key is faster than all."""
    given = {
        SMALL.name: (60.0, 1.0),
        LARGE.name: (150.0, 0.1),
        "peer_128": (100.0, 0.5),
        "peer_256": (1.0, 0.01),
    } | rates
    keys = {name: 256 if name == "peer_256" else 128 for name in given}
    return record(cpu, ALL, cells(given), peers=("peer_128", "peer_256"), keys=keys)


def pool(key: int = 128) -> list[Candidate]:
    return [c for c in candidates(ENTRIES, "gcm") if c.given == key]


def advised(
    use: Use, size: int | None = None, cpu: str = "Zen 5", *records: Record
) -> tuple[Advice, ...]:
    known = records or (planted(),)
    return recommend(machine(cpu, known), pool(), known, QUESTION, use, size=size)


def names(advice: tuple[Advice, ...]) -> list[str]:
    return [item.candidate.name for item in advice]


def test_lengths_take_the_kernel_that_seals_and_opens_them_fastest() -> None:
    (short,), (long,) = advised(SHORT, 64), advised(RECORDS)
    assert (short.candidate.name, long.candidate.name) == (SMALL.name, LARGE.name)
    text = "\n".join(lines(short))
    assert text.startswith(f"to 256 B: {SMALL.name}")
    assert "124 core cycles (1.938 per byte) at 64 B, messages sealed back to back" in text
    assert "124 core cycles (1.938 per byte) at 64 B, messages opened back to back" in text
    # Of peers, those with a key of this size: 100 + 32 cycles.
    assert text.count("the best peer there, peer_128, takes 1.06 times as long") == 2
    assert "(docs/bench/gcm/amd-26-2-1.json)" in text


def test_a_score_is_the_mean_of_both_ways() -> None:
    """Fast one way and slow the other is no better than what lies between."""
    sizes = (65536, 1 << 20)
    one = planted()
    base = {(c.name, c.mode, c.size): c.cycles for c in one.results.cells}
    for factor, winner in ((TIE**-2.5, SMALL), (TIE**2.5, LARGE)):
        figures = dict(base)
        for size in sizes:
            figures[SMALL.name, "seal", size] = base[LARGE.name, "seal", size] * 4 * factor
            figures[SMALL.name, "open", size] = base[LARGE.name, "open", size] / 4
        keys = {name: s.key for name, s in one.results.subjects.items()}
        doctored = record(ZEN5, ALL, figures, peers=("peer_128", "peer_256"), keys=keys)
        (advice,) = advised(BULK, None, "Zen 5", doctored)
        assert advice.candidate.name == winner.name, factor


def test_each_use_rests_on_its_own_figures() -> None:
    asked = {"packets": ("imix",), "records": ("seal", "open"), "bulk": ("seal", "open")}
    for use in (PACKETS, RECORDS, BULK):
        (advice,) = advised(use)
        assert tuple(speed.mode for speed in advice.speeds) == asked[use.name]
        assert advice.own
    (packets,) = advised(PACKETS)
    # 12 · 60 + 4342 against 12 · 150 + 434 cycles.
    assert packets.candidate.name == LARGE.name
    (slower,) = advised(PACKETS, None, "Zen 5", planted(**{LARGE.name: (400.0, 0.1)}))
    assert slower.candidate.name == SMALL.name
    assert "7 messages of 64 bytes, 4 of 594 and one of 1518" in "\n".join(lines(slower))
    assert " at IMIX" in slower.why


MANY = gcm_entry("avx512", ALL, blocks=16, many="alike")


def bursts(*entries: Entry, **rates: float) -> tuple[tuple[Advice, ...], tuple[Advice, ...]]:
    """Advice for bursts and for packets, with cycles of one message of a burst by kernel."""
    given = {
        (name, mode, size): cycles
        for name, cycles in {**rates, "peer_128": 80.0}.items()
        for mode in SEAL_BURSTS
        for size in SIZES
    }
    wide = gcm_entry("avx512", ALL, blocks=32)
    imix = {(wide.name, "imix", IMIX_BYTES): 100.0, (MANY.name, "imix", IMIX_BYTES): 200.0}
    names = (*rates, "peer_128", wide.name, MANY.name)
    one = record(ZEN5, ALL, given | imix, peers=("peer_128",), keys=dict.fromkeys(names, 128))
    known = candidates((wide, *entries), "gcm")
    here = machine("Zen 5", (one,))
    found = [recommend(here, known, (one,), QUESTION, use) for use in (BURSTS, PACKETS)]
    return found[0], found[1]


def test_bursts_take_a_kernel_that_has_the_functions() -> None:
    wide = gcm_entry("avx512", ALL, blocks=32).name
    # Nothing measured: the widest kernel with the functions, not the conventional one without.
    (advice,), (packets,) = bursts(MANY)
    assert (advice.candidate.name, packets.candidate.name) == (MANY.name, wide)
    assert "nothing was measured" in advice.why
    assert packets.beside
    assert packets.beside.ratio is None
    # Measured: by its figures, which are told at 64 bytes, and packets tell of it.
    (advice,), (packets,) = bursts(MANY, **{MANY.name: 20.0, wide: 50.0})
    assert advice.candidate.name == MANY.name
    assert advice.speed
    assert (advice.speed.mode, advice.speed.size, advice.speed.ratio) == ("seal-burst", 64, 4.0)
    assert packets.beside
    assert packets.beside.advice == advice
    assert packets.beside.ratio == 2.5
    text = "\n".join(told_beside(packets))
    assert text.startswith("use bursts (")
    assert f"{wide}, called for each message, takes 2.50 times as long there" in text
    # Without such a kernel any may be taken, and packets tell of none.
    (advice,), (packets,) = bursts()
    assert advice.candidate.name == wide
    assert packets.beside is None


@pytest.mark.parametrize(
    ("cpu", "kernel"),
    [
        ("Zen 4", "avx512_k_clmul1_x16_alike"),
        ("Zen 3", "avx2_winograd_clmul1_x16_short_alike"),
        ("Haswell", "avx_winograd_clmul1_x8_short_alike"),
        ("aesni,pclmulqdq,sse2,ssse3,sse4_1", "sse_winograd_clmul1_x8_short_alike"),
    ],
)
def test_the_catalogue_has_kernels_for_bursts(cpu: str, kernel: str) -> None:
    asked = ["--use", "packets", "--cpu", cpu, "--json"]
    found = json.loads(called("recommend", "--family", "gcm", *asked).stdout)["kernels"]
    beside = {packets["key"]: packets.get("beside") for packets in found}
    assert beside[192] is None
    for key in (128, 256):
        assert (beside[key]["use"], beside[key]["kernel"]) == ("bursts", f"gcm{key}_{kernel}")


def test_key_set_up_is_in_the_time_of_a_message_with_a_key_of_its_own() -> None:
    (advice,) = advised(ONCE, 256)
    # 120 + 60 + 256 against 300 + 150 + 26 cycles.
    assert advice.candidate.name == SMALL.name
    assert advice.speed
    assert (advice.speed.messages, advice.speed.cycles) == (1, 436.0)


def test_messages_under_a_key_share_its_set_up() -> None:
    """120 or 300 cycles of set-up; a message of 256 bytes takes 316 or 175.6."""
    for messages, winner in ((1, SMALL), (100, LARGE)):
        (advice,) = advised(replace(ONCE, messages=messages), 256)
        assert advice.candidate.name == winner.name, messages


def test_packets_share_the_set_up_of_their_key_twelve_at_a_time() -> None:
    (advice,) = advised(replace(PACKETS, messages=6))
    # Two keys of 300 cycles each, and twelve messages.
    assert advice.speed
    assert advice.speed.cycles == 2 * 300 + 12 * 150 + 0.1 * IMIX_BYTES
    assert "2 key set-ups and sealing 7 messages" in "\n".join(lines(advice))


def test_parts_are_for_kernels_without_whole_messages_too() -> None:
    figures = planted(**{PART.name: (30.0, 0.05)})
    assert names(advised(PARTS, None, "Zen 5", figures)) == [PART.name]
    assert PART.name not in names(advised(MIXED, None, "Zen 5", figures))


def test_where_nothing_was_measured_the_convention_says_so() -> None:
    lone = record(CASCADE_LAKE, ALL, cells({"peer_128": (1.0, 1.0)}), peers=("peer_128",))
    (advice,) = advised(SHORT, 64, "Zen 4", lone)
    assert advice.candidate.name == LARGE.name
    assert advice.speeds == ()
    assert "nothing was measured: by convention the widest registers" in advice.why
    assert "its speed is not on record" in "\n".join(lines(advice))
    (advice,) = advised(SHORT, 64, "avx,aesni,pclmulqdq", planted(CASCADE_LAKE))
    assert not advice.own
    assert "no record of this CPU decides it: Cascade Lake is the nearest that does" in advice.why


def test_a_peer_is_compared_where_the_cpu_has_all_that_it_may_have_taken() -> None:
    records = [planted()]
    (own,) = advised(SHORT, 64, "Zen 5", *records)
    assert own.speed
    assert (own.speed.peer, own.speed.ratio) == ("peer_128", 132 / 124)
    (other,) = advised(SHORT, 64, "avx,aesni,pclmulqdq", *records)
    assert other.speed
    assert (other.candidate, other.speed.cycles) == (own.candidate, own.speed.cycles)
    assert (other.speed.peer, other.speed.ratio) == ("", None)
    text = "\n".join(lines(other))
    assert "no peer was measured on Zen 5 that took only what this CPU has" in text


def test_a_twin_that_does_more_is_not_the_fastest_by_noise() -> None:
    every = (SMALL, gcm_entry("avx", AVX, blocks=8, streams=True))
    kernels = candidates(every, "gcm")
    for rate, why in ((0.97, "one of 2 within 5% of the fastest"), (0.9, "the fastest of 2")):
        records = [planted(**{every[1].name: (60 * rate, rate)})]
        found = recommend(machine("Zen 5", records), kernels, records, QUESTION, RECORDS)
        assert names(found) == [every[rate < 0.95].name]
        assert why in found[0].why


@pytest.mark.parametrize(
    ("slow", "slow_twin", "winner"),
    [({16384: 1.07}, {}, 0), ({16384: 1.09}, {}, 1), ({16384: 1.09}, {1500: 1.09}, 0)],
    ids=["kept", "broken", "broken by both"],
)
def test_a_kernel_for_records_is_not_slow_at_a_single_length(
    slow: dict[int, float], slow_twin: dict[int, float], winner: int
) -> None:
    """On average over the lengths both are equal, so the least code would decide."""
    twin = gcm_entry("avx", AVX, blocks=8, streams=True)
    factors = {SMALL.name: slow, twin.name: slow_twin}
    one = planted(**{twin.name: (60.0, 1.0)})
    figures = {
        (c.name, c.mode, c.size): c.cycles * factors.get(c.name, {}).get(c.size, 1.0)
        for c in one.results.cells
    }
    known = [record(ZEN5, ALL, figures)]
    kernels = candidates((SMALL, twin), "gcm")
    for use, best in ((RECORDS, (SMALL, twin)[winner]), (MIXED, SMALL)):
        (advice,) = recommend(machine("Zen 5", known), kernels, known, QUESTION, use)
        assert advice.candidate.name == best.name
        said = "1 of them too slow at one of these lengths" in advice.why
        assert said == (use is RECORDS and bool(winner))


def test_a_message_longer_than_the_standard_has_is_refused() -> None:
    (advice,) = advised(BULK, 2**36 - 32)
    assert advice.candidate.name == LARGE.name
    with pytest.raises(
        GhashgenError, match="at most 68719476704 bytes, not 68719476705;"
    ) as caught:
        advised(BULK, 2**36 - 31)
    assert len(str(caught.value).splitlines()) == 1


def test_a_cpu_without_aes_is_refused() -> None:
    with pytest.raises(GhashgenError, match=r"each needs AES-NI, PCLMULQDQ and SSE4\.1;"):
        advised(MIXED, None, "avx,pclmulqdq")


def test_a_use_that_no_kernel_is_for_is_refused() -> None:
    alone = [c for c in pool() if not c.exports({"seal"})]
    with pytest.raises(GhashgenError, match="catalogue for key 128 has open and seal"):
        recommend(machine("Zen 5", [planted()]), alone, [planted()], QUESTION, MIXED)


def test_every_question_is_of_a_family_that_has_its_axis_modes_and_convention() -> None:
    for name, question in questions().items():
        family = families()[name]
        axis = next(axis for axis in family.axes if axis.name == question.given)
        assert set(question.values) == set(axis.values())
        assert set(question.asked) <= set(question.values)
        assert family.preference
        assert question.folder == folder_of(name)
        assert len({use.name for use in question.uses}) == len(question.uses)
        for use in question.uses:
            assert use.exports <= family.functions().keys()
            modes = [mode for group in use.modes for mode in group]
            assert set(modes) <= set(MODES)
            assert set(modes) <= question.ways.keys()
            limits = [item.up_to for item in use.classes]
            assert limits == sorted(limits, key=lambda end: math.inf if end is None else end)
            assert limits[-1] is None
            if fixed := {FIXED_SIZES[mode] for mode in modes if mode in FIXED_SIZES}:
                assert {size for item in use.classes for size in item.sizes} == fixed


def ask(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> Any:
    manifest = {item.name: item for item in (*ENTRIES, entry("avx", AVX))}
    monkeypatch.setattr(verb.manifest, "load", lambda folder: manifest)
    own = (planted(),)
    monkeypatch.setattr(verb, "load_records", lambda folder: own)
    return CliRunner().invoke(COMMAND, ["--cpu", "zen5", *arguments])


def test_the_verb_takes_the_family_that_has_what_is_given(monkeypatch: pytest.MonkeyPatch) -> None:
    for given in (("--family", "gcm", "--key", "128"), ("--key", "128")):
        answer = json.loads(ask(monkeypatch, *given, "--bytes", "16384", "--json").output)
        assert (answer["family"], answer["use"]) == ("gcm", "records")
        (kernel,) = answer["kernels"]
        assert (kernel["key"], kernel["kernel"]) == (128, LARGE.name)
        assert kernel["record"] == "docs/bench/gcm/amd-26-2-1.json"
        assert (kernel["speed"]["mode"], kernel["also"][0]["mode"]) == ("seal", "open")
    answer = json.loads(ask(monkeypatch, "--bytes", "64", "--json").output)
    assert answer["family"] == "hash"


def test_the_verb_shows_sizes_of_keys_apart_and_says_what_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(verb, "questions", lambda: {"gcm": QUESTION})
    text = ask(monkeypatch, "--key", "128", "--key", "256", "--use", "bulk").output
    assert "use bulk (long messages: 64 KiB and more)\nkey 128:\nany length: gcm128_" in text
    assert f"key 256:\nany length: {OTHER.name}" in text


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--family", "hash", "--key", "128"), "family hash has no --key"),
        (("--op", "ghash", "--key", "128"), "no family of kernels has both --op and --key"),
        (("--op", "ghash", "--use", "bulk"), "family hash has no use 'bulk'"),
        (
            ("--use", "segments", "--messages-per-key", "2"),
            "use segments is decided by key set-up alone; leave out --messages-per-key",
        ),
        (("--family", "gcm", "--use", "bilk"), "family gcm has no use 'bilk'; did you mean bulk"),
        (("--use", "bilk"), "no family has a use 'bilk'; did you mean bulk? choose one of "),
        (("--key", "192",), "lists no kernel for key 192"),
        (("--use", "bulk"), "lists no kernel for key 192"),
    ],
)  # fmt: skip
def test_what_makes_no_sense_is_refused(
    monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...], said: str
) -> None:
    assert said in str(ask(monkeypatch, *arguments).exception)


def test_the_folder_of_a_family(tmp_path: Path) -> None:
    assert (folder_of("hash"), folder_of("gcm")) == ("docs/bench", "docs/bench/gcm")

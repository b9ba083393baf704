"""Goals beside what was measured: read, chosen by CPU, reached or missed, and remarked upon."""

import math
from dataclasses import replace

import pytest

from ghashgen.kernels import manifest
from ghashgen.lab.reached import REACHED, goal_parts, verdicts
from ghashgen.lab.standing import Standing, standings
from ghashgen.records.core import (
    IMIX_BURST_BYTES,
    IMIX_BURSTS,
    SEAL_BURSTS,
    Cell,
    Machine,
    Results,
    Run,
    Subject,
)
from ghashgen.records.cpus import core_of
from ghashgen.records.goals import Book, load_goals, parse
from ghashgen.records.levels import LEVELS
from ghashgen.records.records import Record, folder_of
from ghashgen.support.errors import GhashgenError
from ghashgen.support.paths import project_root

TEXT = """
[[goals]]
features = []
core = "Cascade Lake"
[[goals.goal]]
sizes = [16]
keys = [128, 256]
ratio = 1.5
cycles = { 128 = 50 }
chained = { 128 = 75 }
[[goals]]
features = ["vaes"]
core = "Zen 4"
[[goals.goal]]
sizes = [16384, 65536]
keys = [128]
ratio = 1.2
per_byte = { 128 = 0.25 }
within = 0.02
[[remark]]
core = "Zen 4"
sizes = [65536]
said = \"\"\"
two
lines\"\"\"
"""
ZEN4 = "CPU (cpu family 25, model 17, stepping 1)"
CORE = core_of(ZEN4)
assert CORE
WHOLE = tuple(sorted(CORE.features))


Figures = dict[tuple[str, int, str], float]


def record(cpu: str, features: tuple[str, ...], figures: Figures) -> Standing:
    cells = tuple(
        Cell(name, size, mode, (Run(cycles, cycles, cycles, 9, 0),))
        for (name, size, mode), cycles in figures.items()
    )
    subjects = {"own": Subject("own", "kernel", key=128), "peer": Subject("peer", "peer", key=128)}
    one = Record("x", 1, "", Results(Machine(cpu, features, 3.0, ""), subjects, cells, {}))
    return Standing(one, lambda size, mode, key: "own")


def said(book: Book, one: Standing) -> list[tuple[int, str]]:
    goals = book.of(one.record.results.machine.features)
    assert goals is not None
    return [(verdict.goal.size, verdict.said) for verdict in verdicts(one, goals)]


def test_bursts_have_goals_and_a_table_of_their_own() -> None:
    """The same sizes as single messages, and remarks that are about bursts alone."""
    bursts = (
        TEXT
        + """
[[goals]]
title = "Bursts"
features = []
core = "Zen 4"
[[goals.goal]]
modes = ["seal-burst", "open-burst"]
sizes = [65536]
keys = [128]
ratio = 3.0
[[remark]]
core = "Zen 4"
modes = ["open-burst"]
sizes = [65536]
said = "about opening"
"""
    )
    figures = {
        (name, 65536, mode): cycles
        for mode, cycles in (("seal-burst", 100.0), ("open-burst", 200.0))
        for name, cycles in (("own", cycles), ("peer", 300.0))
    }
    one = record(ZEN4, WHOLE, long(4000, 16000) | figures)
    text = "\n".join(goal_parts((one,), parse(bursts, "toy.toml")))
    single, _, burst = text.partition("### Bursts: CPUs without VAES")
    assert "seal-burst" not in single
    assert "Goals reached: 1 of 2 on Zen 4." in burst
    assert "| seal-burst | 128 | 64 KiB | 3.00 |" in burst
    assert "3.00, reached" in burst
    assert "1.50, missed by 50.0%" in burst
    assert "about opening" in burst
    assert "two lines" not in burst
    with pytest.raises(GhashgenError, match="no mode 'burst'"):
        parse(bursts.replace("seal-burst", "burst", 1), "toy.toml")


def test_goals_of_a_level_leave_out_newer_code() -> None:
    """The record's fastest kernel and fastest peer need AVX-512; the goal is about less."""
    text = """
[[goals]]
title = "Bursts"
features = []
level = "AVX2"
core = "Zen 4"
[[goals.goal]]
modes = ["seal-burst"]
sizes = [64]
keys = [128]
ratio = 1.5
[[remark]]
core = "Zen 4"
modes = ["seal-burst"]
sizes = [64]
said = "about AVX-512"
[[remark]]
core = "Zen 4"
modes = ["seal-burst"]
sizes = [64]
level = "AVX2"
said = "about AVX2"
"""
    entries = tuple(manifest.load(project_root() / "generated").values())
    wide, narrow = (
        next(
            entry
            for entry in entries
            if entry.axes.get("isa") == isa
            and entry.axes.get("key") == 128
            and "seal" in entry.symbols
        )
        for isa in ("avx512", "avx")
    )
    cycles = {wide.name: 10.0, narrow.name: 50.0, "new": 20.0, "old": 60.0}
    kinds = {"new": ("avx512f", "vpclmulqdq"), "old": ("avx2",)}
    subjects = {
        entry.name: Subject(entry.name, "kernel", needs=entry.cpu_features, key=128)
        for entry in (wide, narrow)
    }
    subjects |= {name: Subject(name, "peer", needs=needs, key=128) for name, needs in kinds.items()}
    cells = tuple(
        Cell(name, 64, "seal-burst", (Run(taken, taken, taken, 9, 0),))
        for name, taken in cycles.items()
    )
    one = Record("amd-x", 1, "", Results(Machine(ZEN4, WHOLE, 3.0, ""), subjects, cells, {}))
    (standing,) = standings((one,), (wide, narrow), "gcm")
    shown = "\n".join(goal_parts((standing,), parse(text, "toy.toml")))
    assert "### Bursts: code for AVX2" in shown
    assert "| 128 | 64 B | 1.50 | 50.0 | 1.20, missed by 20.0% |" in shown
    assert "about AVX2" in shown
    assert "about AVX-512" not in shown
    unknown = replace(standing, up_to=None)
    assert not [*goal_parts((unknown,), parse(text, "toy.toml"))]
    with pytest.raises(GhashgenError, match="no level 'AVX3'"):
        parse(text.replace("AVX2", "AVX3", 1), "toy.toml")


def long(first: float, second: float) -> Figures:
    return {
        ("own", 16384, "seal"): first,
        ("peer", 16384, "seal"): 5000,
        ("own", 65536, "seal"): second,
        ("peer", 65536, "seal"): 20000,
    }


def test_the_goals_of_a_cpu_are_those_of_the_features_that_it_has() -> None:
    book = parse(TEXT, "toy.toml")
    assert [book.of(has).core for has in ((), ("avx",), ("avx", "vaes"))] == [  # type: ignore[union-attr]
        *("Cascade Lake", "Cascade Lake", "Zen 4")
    ]
    assert Book().of(("vaes",)) is None


def test_ratio_and_on_its_own_core_cycles_must_be_reached() -> None:
    book = parse(TEXT, "toy.toml")
    # 1.25 of 1.2; 0.25 cycles per byte and 2% are 4177.92 of 16 KiB; 1.19 of 1.2.
    one = record(ZEN4, WHOLE, long(4000, 16807))
    assert said(book, one) == [(16384, REACHED), (65536, "missed by 0.8%")]
    one = record(ZEN4, WHOLE, {**long(4200, 16000), ("peer", 16384, "seal"): 9000})
    assert said(book, one) == [(16384, "missed by 0.5%"), (65536, REACHED)]
    # Cycles are of no other core.
    other = record("CPU (cpu family 26, model 2, stepping 1)", ("vaes",), long(4160, 99999))
    assert said(book, other) == [(16384, REACHED), (65536, "missed by 83.3%")]


def test_of_a_lesser_machine_only_ratios_count() -> None:
    """A goal in cycles is of the whole core; a ratio is to peers that lacked the same."""
    book = parse(TEXT, "toy.toml")
    figures = {**long(4100, 16000), ("peer", 16384, "seal"): 9000, ("own", 16384, "seal"): 4200}
    for features, reached in ((WHOLE, "missed by 0.5%"), (("aesni", "vaes"), REACHED)):
        one = record(ZEN4, features, figures)
        assert said(book, one) == [(16384, reached), (65536, REACHED)]
    text = " ".join("\n".join(goal_parts((one,), book)).split())
    assert "Goals reached: 2 of 2 on Zen 4 without AVX-512." in text
    assert "The goals in cycles are meant for Zen 4 with all its features." in text


def test_what_waits_for_the_tag_before_counts_too() -> None:
    figures = {
        ("own", 16, "seal"): 40.0,
        ("peer", 16, "seal"): 80.0,
        ("own", 16, "seal-latency"): 100.0,
    }
    one = record("CPU (cpu family 6, model 85, stepping 7)", (), figures)
    assert said(parse(TEXT, "toy.toml"), one) == [(16, "missed by 25.0%")]


def test_goals_in_cycles_alone_ask_nothing_of_another_core() -> None:
    book = parse(TEXT.replace("ratio = 1.2\n", ""), "toy.toml")
    other = record("CPU (cpu family 26, model 2, stepping 1)", ("vaes",), long(4160, 99999))
    assert said(book, other) == [(16384, ""), (65536, "")]
    goals = book.of(("vaes",))
    assert goals is not None
    assert all(math.isnan(verdict.share) for verdict in verdicts(other, goals))


def test_the_page_counts_goals_and_remarks_on_those_missed() -> None:
    book = parse(TEXT, "toy.toml")
    missing = record(ZEN4, WHOLE, long(4000, 16807))
    other = record("CPU (cpu family 26, model 2, stepping 1)", ("vaes",), long(4160, 99999))
    text = "\n".join(goal_parts((missing, other), book))
    assert "### CPUs with VAES" in text
    assert "1 of 2 on Zen 4, 1 of 2 on Zen 5" in " ".join(text.split())
    assert "Zen 4, at 64 KiB: two lines" in text
    row = "| 128 | 64 KiB | 1.20 | 0.250/B + 2% | 0.256/B | 1.19, missed by 0.8% |"
    assert f"{row} 1.526/B | 0.20, missed by 83.3% |" in text
    text = "\n".join(goal_parts((record(ZEN4, WHOLE, long(4000, 16000)),), book))
    assert "2 of 2 on Zen 4" in text
    assert "meant for Zen 4" not in text
    assert "two lines" not in text
    assert tuple(goal_parts((record(ZEN4, WHOLE, {}),), book)) == ()


def test_a_chained_goal_has_a_column_of_its_own() -> None:
    figures = {
        ("own", 16, "seal"): 40.0,
        ("peer", 16, "seal"): 80.0,
        ("own", 16, "seal-latency"): 100.0,
    }
    one = record("CPU (cpu family 6, model 85, stepping 7)", (), figures)
    text = "\n".join(goal_parts((one,), parse(TEXT, "toy.toml")))
    assert "### CPUs without VAES" in text
    assert "cycles on Cascade Lake | chained on Cascade Lake |" in text
    row = "| 128 | 16 B | 1.50 | 50 | 75 | 40.0, chained 100.0 | 2.00, missed by 25.0% |"
    assert row in text


@pytest.mark.parametrize(
    ("old", "new", "named"),
    [
        ("sizes = [16]", "sizes = [16, 16]", "two goals of one size and key"),
        ("cycles = { 128", "cycles = { 192", "cycles of the key 192"),
        ("ratio = 1.5", 'ratio = "fast"', "expected float"),
        ("ratio = 1.5", "ration = 1.5", "unknown key 'ration'"),
        ('core = "Zen 4"\n[[goals.goal]]', "[[goals.goal]]", "lacks 'core'"),
        ("[[goals]]", "[[goals]", "holds no goals"),
    ],
)
def test_a_bad_file_is_refused_by_name(old: str, new: str, named: str) -> None:
    assert old in TEXT
    with pytest.raises(GhashgenError, match=named) as refusal:
        parse(TEXT.replace(old, new, 1), "toy.toml")
    assert refusal.value.cause.startswith("toy.toml")


def test_the_goals_that_are_held_are_whole() -> None:
    book = load_goals(project_root() / folder_of("gcm"))
    whole = [kind for kind in book.kinds if not kind.title]
    assert [kind.core for kind in whole] == ["Cascade Lake", "Zen 4"]
    sizes = (16, 64, 256, 1024, 1500, 16384, 65536, 1 << 20)
    for kind in whole:
        assert {(goal.key, goal.size) for goal in kind.each} == {
            (key, size) for key in (128, 256) for size in sizes
        }
        assert all(goal.ratio is not None or goal.cycles is not None for goal in kind.each)
    wide = book.of(WHOLE, "Bursts of 32 messages")
    assert wide
    assert {(goal.mode, goal.size) for goal in wide.each} == {
        *((mode, size) for mode in SEAL_BURSTS for size in (16, 64, 128, 256, 512, 1500)),
        *((mode, IMIX_BURST_BYTES) for mode in IMIX_BURSTS),
    }
    others = [kind for kind in book.kinds if kind.level is not None]
    assert [LEVELS[kind.level or 0] for kind in others] == ["VPCLMULQDQ, 256 bits", "AVX2", "SSE"]
    assert all({goal.size for goal in kind.each} == {16, 64, 128} for kind in others)
    assert load_goals(project_root() / folder_of("hash")) == Book()
    moved = replace(book.remarks[0], sizes=(1,))
    assert not moved.about("Zen 5", book.kinds[0].each[0])

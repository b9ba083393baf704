"""The choice follows the figures, the rule and, where nothing was measured, the convention."""

import itertools
import random
from collections.abc import Iterable, Mapping
from dataclasses import replace

import pytest
from helpers.dispatching import (
    AVX,
    AVX2,
    AVX512,
    CASCADE_LAKE,
    SSE,
    ZEN4,
    ZEN5,
    entry,
    record,
    shipped,
)
from msgspec import structs

from ghashgen.arch.registry import DEFAULT, isas
from ghashgen.choice.candidate import candidates, without_needless_wipes
from ghashgen.choice.choice import Chooser, Pick
from ghashgen.choice.classes import CLASSES
from ghashgen.choice.families.hash import LASTING, ONCE, SEGMENTS
from ghashgen.choice.figures import changed_since, of_other_code
from ghashgen.choice.questions import Use
from ghashgen.choice.rule import TIE, cover, level
from ghashgen.kernels.hash.preference import PREFERENCE
from ghashgen.records.cpus import core_of
from ghashgen.records.records import Record

SIZES = tuple(size for item in CLASSES for size in item.sizes)
SMALL = entry("avx", AVX, blocks=4, table=192)
LARGE = entry("avx", AVX, blocks=16, table=768)
WIDE = entry("avx512", AVX512, blocks=16, table=896)
ALL = frozenset((*SSE, *AVX, *AVX2, *AVX512, "bmi2"))


def flat(rates: Mapping[str, float], mode: str = "throughput") -> dict[tuple[str, str, int], float]:
    """The same cycles per byte at every size."""
    cells = {(name, mode, size): size * rate for name, rate in rates.items() for size in SIZES}
    return {**cells, **{(name, "init", 0): 100.0 for name in rates}}


def taken(
    entries: Iterable[dict[str, object]],
    records: Iterable[Record],
    title: str,
    features: Iterable[str],
    use: Use = LASTING,
) -> tuple[Pick, ...]:
    chooser = Chooser(candidates(entries), tuple(records))
    (host,) = (host for host in chooser.hosts if host.title == title)
    return chooser.picks(host, frozenset(features), use)


def names(picks: Iterable[Pick]) -> list[str]:
    return [pick.candidate.name for pick in picks]


# --- The rule


def simple(name: str) -> tuple[int, int, int, str]:
    return len(name), 0, 0, name


def test_a_difference_under_five_per_cent_is_none() -> None:
    assert level({"a": 100.0, "b": 104.9, "c": 105.0, "d": 200.0}) == ["a", "b"]
    assert TIE == 1.05


def test_cover_is_the_least_that_serves_every_class() -> None:
    """Against all ways to choose, tried one by one."""
    rng = random.Random(4)
    for _ in range(200):
        items = ["x" * size for size in rng.sample(range(1, 12), 6)]
        classes = [rng.sample(items, rng.randrange(1, 5)) for _ in range(5)]
        chosen = cover(classes, simple)
        assert all(item in group for item, group in zip(chosen, classes, strict=True))
        least = min(sum(map(len, set(way))) for way in itertools.product(*map(tuple, classes)))
        assert sum(map(len, set(chosen))) == least


def test_cover_refuses_a_class_without_anything() -> None:
    with pytest.raises(ValueError, match="nothing to choose from"):
        cover([["a"], []], simple)


def test_the_smaller_code_wins_among_equals_and_the_faster_one_otherwise() -> None:
    for rate, winner in ((0.96, SMALL), (0.94, LARGE)):
        figures = flat({SMALL.name: 1.0, LARGE.name: rate})
        picks = taken([SMALL, LARGE], [record(CASCADE_LAKE, AVX, figures)], "Cascade Lake", AVX)
        assert names(picks) == [winner.name] * len(CLASSES)


def test_the_smaller_code_then_the_smaller_table_then_the_fewer_axes() -> None:
    bulky = entry("avx", AVX, "k", table=96, code=2000)
    odd = entry("avx", AVX, blocks=4, table=192, suffix="_a", pipeline="ahead")
    for other in (bulky, odd):
        figures = flat({SMALL.name: 1.0, other.name: 0.97})
        picks = taken([SMALL, other], [record(CASCADE_LAKE, AVX, figures)], "Cascade Lake", AVX)
        assert set(names(picks)) == {SMALL.name}


# --- Which figures


def test_measured_figures_outweigh_the_convention() -> None:
    """A CPU on which wide registers are slower takes narrow ones."""
    figures = flat({SMALL.name: 1.0, WIDE.name: 1.2})
    picks = taken([SMALL, WIDE], [record(ZEN5, AVX512, figures)], "Zen 5", ALL)
    assert set(names(picks)) == {SMALL.name}


def test_all_ways_to_call_count_equally_where_all_were_measured() -> None:
    figures = {
        **flat({SMALL.name: 1.0, LARGE.name: 2.0}),
        **flat({SMALL.name: 4.0, LARGE.name: 1.0}, "gcm"),
    }
    for more, winner in (({}, SMALL), (flat({SMALL.name: 1.0, LARGE.name: 1.0}, "latency"), LARGE)):
        records = [record(ZEN5, AVX, {**figures, **more})]
        picks = taken([SMALL, LARGE], records, "Zen 5", AVX)
        assert set(names(picks)) == {winner.name}
        ways = ("gcm", "throughput", "latency") if more else ("throughput",)
        assert all(pick.scores and pick.scores.modes == ways for pick in picks)


def test_a_record_of_the_fastest_alone_decides_what_it_has() -> None:
    """Each kernel at the sizes where it won, as Cascade Lake's: a class's largest size counts."""
    figures = {
        **{(SMALL.name, "throughput", size): 10.0 for size in (16, 64)},
        **{(LARGE.name, "throughput", size): 9.0 for size in (32, 256, 1024, 4096, 16384)},
    }
    records = [record(CASCADE_LAKE, (), figures)]
    picks = taken([SMALL, LARGE], records, "Cascade Lake", AVX)
    assert names(picks) == [SMALL.name] * 2 + [LARGE.name] * 4
    # Its kernels were the fastest; what a small table is worth it cannot say.
    once = taken([SMALL, LARGE], records, "Cascade Lake", AVX, ONCE)
    assert all(pick.scores is None for pick in once)


def test_a_cpu_without_a_record_takes_the_nearest_that_can_run_the_same() -> None:
    """The same kernels first, whoever made the CPU; then a CPU that can run more."""
    entries = [SMALL, LARGE, WIDE]
    rates = {SMALL.name: 1.0, LARGE.name: 2.0}
    intel = record(CASCADE_LAKE, AVX, flat(rates))
    amd = record(ZEN5, ALL, flat({SMALL.name: 2.0, LARGE.name: 1.0, WIDE.name: 0.5}))
    for title in ("other Intel", "other AMD", "other"):
        assert set(names(taken(entries, [intel, amd], title, AVX))) == {SMALL.name}
        assert set(names(taken(entries, [amd], title, AVX))) == {LARGE.name}
        assert set(names(taken(entries, [intel, amd], title, ALL))) == {WIDE.name}
    # A CPU with a record keeps to it, whatever is masked.
    assert set(names(taken(entries, [intel, amd], "Zen 5", AVX))) == {LARGE.name}


def test_a_record_of_a_lesser_machine_decides_for_no_more_than_that() -> None:
    """A Zen 4 whose AVX-512 a hypervisor hid: in its record x4 is the fastest, in Zen 5's x16."""
    entries, core = [SMALL, LARGE, WIDE], core_of(ZEN4)
    assert core
    lesser = record(ZEN4, AVX, flat({SMALL.name: 1.0, LARGE.name: 2.0}))
    # The second: on Zen 5 wide registers are slower, so that every CPU could run what it takes.
    for wide, whole in ((0.5, WIDE), (4.0, LARGE)):
        rates = {SMALL.name: 2.0, LARGE.name: 1.0, WIDE.name: wide}
        zen5 = record(ZEN5, core.features, flat(rates))
        both = [zen5, lesser]
        assert set(names(taken(entries, [zen5], "other AMD", core.features))) == {whole.name}
        assert set(names(taken(entries, both, "Zen 4", core.features))) == {whole.name}
        # The lesser CPU takes its own record's, and others like it the same.
        assert set(names(taken(entries, [zen5], "other AMD", AVX))) == {LARGE.name}
        for title in ("Zen 4", "other AMD", "other"):
            assert set(names(taken(entries, both, title, AVX))) == {SMALL.name}
        # Zen 5 has a record of all, whatever is masked.
        assert set(names(taken(entries, both, "Zen 5", AVX))) == {LARGE.name}
        chooser = Chooser(candidates(entries), both)
        for host in chooser.hosts:
            for features in (frozenset(AVX), core.features):
                rows = [r for r in chooser.rows(LASTING) if host in r.hosts and r.needs <= features]
                assert rows[0].picks == chooser.picks(host, features, LASTING)


def test_a_feature_more_in_the_same_instruction_set_counts_too() -> None:
    """With GFNI there are more kernels of 256 bits than the record's machine could run."""
    plain = entry("avx2", AVX2)
    natural = entry("avx2", (*AVX2, "gfni"), suffix="_natural", order="natural")
    lesser = record(ZEN4, AVX2, flat({plain.name: 1.0}))
    zen5 = record(ZEN5, ALL | {"gfni"}, flat({plain.name: 1.0, natural.name: 0.5}))
    for features, winner in ((AVX2, plain), ((*AVX2, "gfni"), natural)):
        picks = taken([plain, natural], [zen5, lesser], "Zen 4", features)
        assert set(names(picks)) == {winner.name}


def test_a_record_says_nothing_of_kernels_that_its_cpu_lacks() -> None:
    """Wide kernels go by the convention where only narrow ones were measured."""
    intel = record(CASCADE_LAKE, AVX, flat({SMALL.name: 1.0}))
    for title in ("other Intel", "other"):
        picks = taken([SMALL, WIDE], [intel], title, ALL)
        assert set(names(picks)) == {WIDE.name}
        assert all(pick.scores is None for pick in picks)


def test_a_wide_set_without_a_figure_goes_by_the_convention() -> None:
    """As a folder of one's own, with a kernel that no record has beside one that some have."""
    figures = flat({SMALL.name: 1.0})
    picks = taken([SMALL, WIDE], [record(ZEN5, ALL, figures)], "Zen 5", ALL)
    assert set(names(picks)) == {WIDE.name}


def test_polyval_goes_by_the_ghash_kernel_of_the_same_axes() -> None:
    entries = [entry("avx", AVX, blocks=b, table=t, op="polyval") for b, t in ((4, 192), (16, 768))]
    figures = flat({SMALL.name: 2.0, LARGE.name: 1.0})
    picks = taken(entries, [record(ZEN5, AVX, figures)], "Zen 5", AVX)
    assert set(names(picks)) == {"polyval_avx_winograd_clmul1_x16"}


def test_wiping_is_not_chosen_by_speed() -> None:
    wiping = entry("avx", AVX, blocks=4, table=64, suffix="_wipe", wipe=True)
    figures = flat({SMALL.name: 2.0, wiping.name: 1.0})
    records = [record(ZEN5, AVX, figures)]
    assert set(names(taken([SMALL, wiping], records, "Zen 5", AVX))) == {SMALL.name}
    assert set(names(taken([wiping], records, "Zen 5", AVX))) == {wiping.name}


# --- Uses


def test_a_table_for_one_message_counts_its_set_up() -> None:
    figures = flat({SMALL.name: 0.5, LARGE.name: 0.25}, "latency")
    figures |= {(SMALL.name, "init", 0): 50.0, (LARGE.name, "init", 0): 300.0}
    picks = taken([SMALL, LARGE], [record(ZEN5, AVX, figures)], "Zen 5", AVX, ONCE)
    # 250 cycles more are worth it from 1000 bytes on: 4 KiB and beyond, of these classes.
    ends = {pick.up_to: pick.candidate.blocks for pick in picks}
    assert ends == {16: 4, 64: 4, 256: 4, 1024: 4, 4096: 16, None: 16}


def test_segments_need_kernels_that_have_them() -> None:
    other = entry("avx", AVX, suffix="_segments", segments=True)
    assert taken([SMALL], [], "other", AVX, SEGMENTS) == ()
    assert names(taken([SMALL, other], [], "other", AVX, SEGMENTS)) == [other.name]


def test_tables_that_nobody_timed_are_filled_after_twice_their_bytes() -> None:
    figures = {
        key: value
        for key, value in flat({SMALL.name: 1.0, LARGE.name: 0.5}).items()
        if key[1] != "init" and (key[0] == LARGE.name) == (key[2] > 64)
    }
    picks = taken([SMALL, LARGE], [record(ZEN5, AVX, figures)], "Zen 5", AVX)
    assert [pick.fill_at for pick in picks] == [0, 0, *[2 * 768] * 4]


# --- The convention


def test_every_isa_has_a_place() -> None:
    assert set(isas(DEFAULT)) <= set(PREFERENCE["isa"])


def test_the_convention_is_wider_first_and_the_fewest_products() -> None:
    order = sorted(without_needless_wipes(candidates(shipped())), key=lambda c: c.rank)
    ghash = [c for c in order if c.given == "ghash"]
    places = [PREFERENCE["isa"].index(c.isa) for c in ghash]
    assert places == sorted(places)
    for isa in PREFERENCE["isa"]:
        first = next(c for c in ghash if c.isa == isa)
        assert first.name == f"ghash_{isa}_winograd_clmul1_x16"


# --- Figures of other code


def digested(one: Record, digests: Mapping[str, str]) -> Record:
    """A record that says which code it has measured."""
    subjects = {
        name: replace(subject, digest=digests.get(name, ""))
        for name, subject in one.results.subjects.items()
    }
    return replace(one, results=replace(one.results, subjects=subjects))


@pytest.mark.parametrize(
    ("digest", "decides"), [("", True), (LARGE.object.text_sha256, True), ("other code", False)]
)
def test_a_record_of_other_code_does_not_decide(digest: str, decides: bool) -> None:
    rates = {SMALL.name: 1.0, LARGE.name: 0.5}
    one = digested(record(ZEN5, AVX, flat(rates)), {LARGE.name: digest})
    want = LARGE if decides else SMALL
    assert set(names(taken([SMALL, LARGE], [one], "Zen 5", AVX))) == {want.name}
    said = changed_since([one], candidates([SMALL, LARGE]))
    assert bool(said) is not decides
    assert ("1 on Zen 5 without AVX-512; ghashgen bench --record measures again" in said) is (
        not decides
    )


def test_a_cpus_own_record_of_older_code_decides_before_another_cpus() -> None:
    pool, rates = [SMALL, LARGE], {SMALL.name: 1.0, LARGE.name: 2.0}
    changed = dict.fromkeys(rates, "other code")
    own = digested(record(ZEN5, AVX, flat(rates)), changed)
    other = record(CASCADE_LAKE, AVX, flat({SMALL.name: 2.0, LARGE.name: 1.0}))
    picks = taken(pool, [own, other], "Zen 5", AVX)
    assert set(names(picks)) == {SMALL.name}
    assert all(pick.scores and pick.scores.older for pick in picks)
    assert set(names(taken(pool, [own, other], "other", AVX))) == {LARGE.name}


def test_polyval_goes_by_the_code_of_the_kernel_that_was_measured() -> None:
    """By that of GHASH with its axes, where the folder has it."""
    other = entry("avx", AVX, blocks=16, table=768, op="polyval")
    small = entry("avx", AVX, blocks=4, table=192, op="polyval")
    one = digested(
        record(ZEN5, AVX, flat({SMALL.name: 1.0, LARGE.name: 0.5})), {LARGE.name: "other code"}
    )
    pool = candidates([SMALL, LARGE, other, small])
    assert of_other_code(one, [c for c in pool if c.given == "polyval"]) == {LARGE.name}
    assert of_other_code(one, candidates([other, small])) == frozenset()


def test_only_code_as_it_is_measured_is_compared() -> None:
    """The other convention's code differs from what was measured in any case."""
    one = digested(record(ZEN5, AVX, flat({LARGE.name: 0.5})), {LARGE.name: "other code"})
    for changed in (
        structs.replace(LARGE, axes={**LARGE.axes, "abi": "win64"}),
        structs.replace(LARGE, table=structs.replace(LARGE.table, align=16)),
    ):
        assert of_other_code(one, candidates([changed])) == frozenset()


def test_what_another_back_end_made_goes_unmeasured_and_unsaid() -> None:
    one = digested(record(ZEN5, AVX, flat({LARGE.name: 0.5})), {LARGE.name: "other code"})
    pool = candidates([structs.replace(LARGE, axes={**LARGE.axes, "backend": "peachpy"})])
    assert of_other_code(one, pool) == {LARGE.name}
    assert changed_since([one], pool) == ""

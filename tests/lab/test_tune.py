"""Tuning: the space, the store, the sweep and the choice. No timing decides a test."""

import json
import sqlite3
from dataclasses import fields, replace
from itertools import pairwise
from pathlib import Path

import pytest
from helpers.tuning import (
    ANY,
    AVX,
    COARSE,
    FINE,
    SMALL,
    SSE,
    Fake,
    candidate,
    host,
    lasting,
    per_group,
)

from ghashgen.choice.chosen import MEASURED, MODEL, dump
from ghashgen.choice.classes import CLASSES
from ghashgen.choice.rule import take
from ghashgen.kernels.hash.catalogue import catalogue
from ghashgen.kernels.hash.kernel import Kernel
from ghashgen.kernels.selection import Choice
from ghashgen.lab.store import Store, complete, open_store
from ghashgen.lab.tune.choose import Decision, chosen, combined, decide
from ghashgen.lab.tune.goals import cells_of, goals
from ghashgen.lab.tune.measure import Batch, Host
from ghashgen.lab.tune.space import Candidate, distinct, neighbours, space
from ghashgen.lab.tune.sweep import Here, Plan, Swept, sweep
from ghashgen.lab.tune.table import as_json, remarks, rows
from ghashgen.support.errors import GhashgenError

HERE = host()
USES = lasting(*SMALL)
HASH = goals()["hash"]
PLAN = Plan(uses=USES, coarse=COARSE, fine=FINE, finalists=2, batch=2)
CANDIDATES = tuple(candidate("avx", n) for n in (1, 2, 4, 8, 16))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "new" / "tune.sqlite"


def run(store: Store, fake: Fake, plan: Plan = PLAN, items: tuple = CANDIDATES) -> Swept:  # type: ignore[type-arg]
    return sweep(items, Here(fake.where, fake), store, plan)


# --- space


def test_the_space_is_the_catalogue_less_what_speed_must_not_choose() -> None:
    found = space(Choice(isa=("avx",)), "catalogue", HASH)
    wanted = [
        k for k in catalogue() if (k.isa, k.op, k.wipe, k.alias) == ("avx", "ghash", False, "")
    ]
    assert list(found) == wanted
    assert {k.wipe for k in space(Choice(isa=("avx",), wipe=(True,)), "catalogue", HASH)} == {True}


def test_the_wide_space_is_one_axis_away() -> None:
    narrow = space(Choice(isa=("sse",), multiply=("k",)), "catalogue", HASH)
    wide = space(Choice(isa=("sse",), multiply=("k",)), "wide", HASH)
    assert set(narrow) < set(wide)
    assert {k.blocks for k in wide} == set(range(1, 49))
    assert {(k.isa, k.multiply) for k in wide} == {("sse", "k")}
    base = set(catalogue())
    for kernel in wide[len(narrow) :]:
        near = min(
            sum(getattr(kernel, f.name) != getattr(other, f.name) for f in fields(Kernel))
            for other in base
        )
        assert near == 1
    shipped = Kernel("avx", "winograd", "clmul1", 8)
    around = tuple(
        neighbours((shipped, replace(shipped, swap="stack"), replace(shipped, op="polyval")), HASH)
    )
    assert {k.swap for k in around} == {"register", "stack"}
    assert {k.op for k in around} == {"ghash", "polyval"}
    assert all(k.op == "ghash" or k.swap == "register" for k in around)


def test_refusals_of_the_space() -> None:
    with pytest.raises(GhashgenError, match="no space is called 'huge'"):
        space(Choice(), "huge", HASH)
    with pytest.raises(GhashgenError, match="unknown isa"):
        space(Choice(isa=("mmx",)), "wide", HASH)


def test_the_same_code_is_measured_once() -> None:
    plain = candidate("avx", 8, "same")
    other = candidate("avx", 4, "same")
    assert distinct((plain, other, candidate("avx", 1))) == (other, candidate("avx", 1))


# --- store and sweep


def test_a_sweep_is_coarse_then_fine_and_is_not_repeated(path: Path) -> None:
    fake = Fake(HERE)
    with open_store(path) as store:
        swept = run(store, fake)
        names = [c.unit.name for c in CANDIDATES]
        coarse = [units for stage, units in fake.asked if stage == "coarse"]
        fine = [units for stage, units in fake.asked if stage == "fine"]
        assert [name for units in coarse for name in units] == names
        assert [len(units) for units in coarse] == [2, 2, 1]
        # The two best of short and of long messages, in turns in one process.
        assert [set(units) for units in fine] == [{names[0], names[1], names[3], names[4]}]
        assert (swept.measured, swept.kept, swept.failures) == (9, 0, [])
    with open_store(path) as store:
        again = Fake(HERE)
        swept = run(store, again)
        assert again.asked == []
        assert (swept.measured, swept.kept) == (0, 9)


def test_an_interrupted_sweep_goes_on(path: Path) -> None:
    with open_store(path) as store, pytest.raises(KeyboardInterrupt):
        run(store, Fake(HERE, stop_after=1))
    with open_store(path) as store:
        fake = Fake(HERE)
        run(store, fake)
        names = [c.unit.name for c in CANDIDATES]
        assert [units for stage, units in fake.asked if stage == "coarse"] == [
            tuple(names[2:4]),
            (names[4],),
        ]
        assert all(
            complete(store.figures(HERE, COARSE), c.unit.code, cells_of(USES)) for c in CANDIDATES
        )


def test_a_killed_writer_leaves_whole_measurements(path: Path) -> None:
    """Rows of a measurement that was not committed are not there, and the store works."""
    with open_store(path) as store:
        run(store, Fake(HERE))
        before = store.figures(HERE, COARSE)
        other = sqlite3.connect(path)
        other.execute(
            "insert into session select 99, at, cpu, features, clock_ghz, git, missing,"
            " method, stage from session limit 1"
        )
        other.execute("insert into subject values (99, 'x', 'kernel', 1, 'x', '', 0)")
        assert store.figures(HERE, COARSE) == before
        other.close()
    with open_store(path) as store:
        assert store.figures(HERE, COARSE) == before
        assert store.last() < 99


def test_what_counts_as_measured(path: Path) -> None:
    """Another code, CPU, feature, method or effort is measured; the same one is not."""
    with open_store(path) as store:
        run(store, Fake(HERE))
        changed = (*CANDIDATES[:-1], candidate("avx", 16, "other code"))
        fake = Fake(HERE)
        run(store, fake, items=changed)
        assert {name for _, units in fake.asked for name in units} == {changed[-1].unit.name}
        for where in (host("CPU B"), host(features=(*AVX, "avx2")), Host("CPU A", AVX, "m")):
            fake = Fake(where)
            assert run(store, fake).kept == 0
            assert len(fake.asked) == 4
        fake = Fake(HERE)
        run(store, fake, replace(PLAN, coarse=replace(COARSE, effort=replace(ANY, samples=9))))
        assert {stage for stage, _ in fake.asked} == {"coarse"}


def test_stale_code_does_not_enter_the_choice(path: Path) -> None:
    """A kernel whose code changed is not credited with what its old code took."""
    with open_store(path) as store:
        fast = Fake(HERE, lambda name, size: 1.0 if name.endswith("x16") else 50.0)
        run(store, fast)
        changed = (*CANDIDATES[:-1], candidate("avx", 16, "slower code"))
        slow = Fake(HERE, lambda name, size: 90.0 if name.endswith("x16") else 50.0)
        run(store, slow, items=changed)
        old = decide(CANDIDATES, [HERE], store, (FINE, COARSE), USES)
        new = decide(changed, [HERE], store, (FINE, COARSE), USES)
        assert {d.winner.kernel.blocks for d in old} == {16}
        assert 16 not in {d.winner.kernel.blocks for d in new}


def test_fresh_measures_everything_again(path: Path) -> None:
    with open_store(path) as store:
        run(store, Fake(HERE))
        fake = Fake(HERE, lambda name, size: 3 * per_group(name, size))
        swept = run(store, fake, replace(PLAN, fresh=True))
        assert (swept.measured, swept.kept) == (9, 0)
        old = decide(CANDIDATES, [HERE], store, (FINE,), USES, 0)
        new = decide(CANDIDATES, [HERE], store, (FINE,), USES, swept.since)
        # The newest counts, with and without.
        assert [d.cycles for d in old] == [d.cycles for d in new]


def test_a_spent_budget_is_said_and_goes_on(path: Path) -> None:
    with open_store(path) as store:
        fake = Fake(HERE)
        swept = run(store, fake, replace(PLAN, budget=0))
        assert swept.out_of_time
        assert fake.asked == []
        assert not run(store, fake).out_of_time


def test_only_machines_that_have_the_isa_measure(path: Path) -> None:
    fake = Fake(host(features=SSE))
    with open_store(path) as store:
        run(store, fake, items=(*CANDIDATES, candidate("sse", 4)))
    assert {name for _, units in fake.asked for name in units} == {candidate("sse", 4).unit.name}


def test_sizes_without_a_quiet_moment_are_named_and_measured_again(path: Path) -> None:
    class Loud(Fake):
        def __call__(self, batch: Batch):  # type: ignore[no-untyped-def]
            found = super().__call__(batch)
            cells = tuple(c for c in found.cells if c.size != 64)
            return replace(found, cells=cells)

    with open_store(path) as store:
        swept = run(store, Loud(HERE))
        assert set(swept.failures) == {
            f"no quiet moment for some kernels: {mode}, 64 bytes"
            for mode in ("gcm", "latency", "throughput")
        }
        assert [d.size_class for d in decide(CANDIDATES, [HERE], store, (COARSE,), USES)] == [
            SMALL[1]
        ]
        assert run(store, Fake(HERE)).measured == 9


def test_a_file_that_is_no_store_is_left_alone(tmp_path: Path) -> None:
    notes = tmp_path / "notes.txt"
    notes.write_text("these are my notes, and they are longer than a header of SQLite" * 20)
    before = notes.read_bytes()
    with pytest.raises(GhashgenError, match="it is not a store"), open_store(notes):
        pass
    assert notes.read_bytes() == before
    foreign, old = tmp_path / "other.sqlite", tmp_path / "s.sqlite"
    with sqlite3.connect(foreign) as db:
        db.execute("create table mine (a)")
    db.close()
    with open_store(old) as store:
        store.db.execute("pragma user_version = 2")
    for path in (foreign, old):
        with pytest.raises(GhashgenError, match="not a store of this version"), open_store(path):
            pass


# --- choice


def test_ties_go_to_the_least_code_for_all_lengths_together() -> None:
    one, four, eight = (candidate("avx", n) for n in (1, 4, 8))

    def taken(*tables: dict[Candidate, float]) -> list[Candidate]:
        return take(tables, lambda item: item.simplicity)

    assert taken({one: 200.0, four: 110.0, eight: 100.0}) == [eight]
    assert taken({one: 200.0, four: 104.9, eight: 100.0}) == [four]
    assert taken({one: 104.9, four: 104.9, eight: 100.0}) == [one]
    assert taken({eight: 100.0}, {one: 104.9, four: 104.9, eight: 100.0}) == [eight] * 2
    # A tie is a tie with the best, not with the next.
    assert taken({one: 108.0, four: 104.0, eight: 100.0}) == [four]


def test_several_machines_are_combined_by_what_each_loses() -> None:
    one, four = candidate("avx", 1), candidate("avx", 4)
    assert combined([{one: 7.0}]) == {one: 7.0}
    both = combined([{one: 100.0, four: 200.0}, {one: 30.0, four: 10.0}])
    assert both[one] == pytest.approx(3**0.5)
    assert both[four] == pytest.approx(2**0.5)
    assert set(combined([{one: 1.0, four: 1.0}, {four: 1.0}])) == {four}


def decisions(path: Path, where: Host = HERE) -> list[Decision]:
    with open_store(path) as store:
        run(store, Fake(where))
        return decide(CANDIDATES, [where], store, (FINE, COARSE), USES)


def test_decisions_say_what_they_rest_on(path: Path) -> None:
    short, long = decisions(path)
    assert [d.winner.kernel.blocks for d in (short, long)] == [1, 8]
    assert (long.basis, long.stage, long.on, long.peer) == (MEASURED, "fine", "CPU A", "peer")
    assert long.fastest.kernel.blocks == 16
    assert 1 < long.behind < 1.05
    assert long.is_noise
    assert long.peer_ratio == pytest.approx(2048 / long.cycles)
    # What init takes, by what a byte saves.
    saved = (per_group("_x1", 1024) - per_group("_x8", 1024)) / 1024
    assert 0 <= long.fill_at - per_group("_x8", 0) / saved < 16
    assert short.fill_at == 0
    assert any("within 5%" in remark for remark in remarks(long))
    table = rows((short, long), MEASURED)
    assert all(len(row) == len(table.columns) for row in table.rows)
    assert rows((short, long), MODEL).rows == ()
    assert json.loads(json.dumps(as_json(long)))["noise"] is True


def test_the_chosen_set_is_the_same_bytes_whatever_the_order(path: Path) -> None:
    found = chosen(decisions(path))
    (item,) = found.sets
    assert [(p.up_to, p.kernel.blocks) for p in item.picks] == [(64, 1), (None, 8)]
    with open_store(path) as store:
        again = decide(CANDIDATES[::-1], [HERE], store, (FINE, COARSE), USES)
    assert dump(chosen(again)) == dump(found)
    # Without a kernel for every class there is no set.
    assert chosen(again[:1]).sets == ()


def test_sets_follow_the_convention_and_measured_ones_their_speed(path: Path) -> None:
    short, long = decisions(path)

    def of(isa: str, basis: str, cycles: float) -> list[Decision]:
        winner = candidate(isa, 8)
        return [replace(d, winner=winner, basis=basis, cycles=cycles) for d in (short, long)]

    found = [
        *of("sse", MEASURED, 100.0),
        *of("avx512", MODEL, 1.0),
        *of("avx2", MEASURED, 300.0),
        *of("avx", MEASURED, 200.0),
    ]
    assert [s.isa for s in chosen(found).sets] == ["avx512", "sse", "avx", "avx2"]
    tie = [*of("sse", MEASURED, 100.0), *of("avx", MEASURED, 104.0)]
    assert [s.isa for s in chosen(tie).sets] == ["avx", "sse"]


def test_classes_rise_and_their_sizes_lie_within() -> None:
    assert CLASSES[-1].up_to is None
    edges = [0, *(item.up_to for item in CLASSES[:-1] if item.up_to), 1 << 30]
    assert len(edges) == len(CLASSES) + 1
    for (low, high), item in zip(pairwise(edges), CLASSES, strict=True):
        assert all(low < size <= high for size in item.sizes)

"""What the records that are checked in decide: each core gets what its own record says."""

import itertools
import math
from collections.abc import Mapping

import pytest
from helpers.dispatching import shipped

from ghashgen.choice.candidate import Candidate, candidates, levels, without_needless_wipes
from ghashgen.choice.choice import Chooser, Pick
from ghashgen.choice.cores import host_of, record_features
from ghashgen.choice.families.hash import LASTING, USES
from ghashgen.choice.families.registry import questions
from ghashgen.choice.figures import of_other_code
from ghashgen.choice.questions import Use
from ghashgen.choice.rule import TIE
from ghashgen.output.dispatcher import recorded
from ghashgen.records.cpus import core_of, lacking
from ghashgen.records.records import Record


def score(cycles: Mapping[tuple[str, str, int], float], name: str, pick: Pick) -> float | None:
    """A kernel's score in a pick's class, from a record's cells directly."""
    assert pick.scores is not None
    at = itertools.product(pick.scores.modes, pick.scores.sizes)
    found = [cycles.get((name, mode, size)) for mode, size in at]
    logs = [math.log(value) for value in found if value is not None]
    return math.exp(sum(logs) / len(logs)) if len(logs) == len(found) else None


def whole_records() -> list[Record]:
    """Records with most of the catalogue."""
    return [r for r in recorded() if len(r.results.subjects) > len(shipped()) / 2]


def current() -> list[Candidate]:
    """The shipped kernels of GHASH of which records have measured this code and no other.

    The others wait for the next record, and go by the convention until then.
    """
    pool = [c for c in candidates(shipped()) if c.given == "ghash"]
    known = frozenset[str]().union(*(one.results.subjects for one in recorded()))
    changed = frozenset[str]().union(*(of_other_code(one, pool) for one in recorded()))
    return [c for c in pool if c.measured_as in known - changed]


def test_a_recorded_core_gets_what_is_within_the_rule_of_its_best() -> None:
    pool = current()
    checked = 0
    for one in whole_records():
        cycles = {(c.name, c.mode, c.size): c.cycles for c in one.results.cells}
        chooser = Chooser(pool, recorded())
        (host,) = (host for host in chooser.hosts if host.title == one.core)
        for features in levels(pool):
            if not features <= record_features(one):
                continue
            able = without_needless_wipes([c for c in pool if c.needs <= features])
            for pick in chooser.picks(host, features, LASTING):
                assert pick.scores is not None
                # Of two machines with this core, one with less and one with all, either may decide.
                assert pick.scores.record.core == one.core
                if pick.scores.record != one:
                    continue
                own = score(cycles, pick.candidate.name, pick)
                all_scores = [value for c in able if (value := score(cycles, c.name, pick))]
                assert own is not None
                assert own < TIE * min(all_scores)
                checked += 1
    assert checked > 20


def test_wide_groups_lead_where_they_were_measured_faster() -> None:
    """Long messages do not take 16 blocks per group where more are faster by what is no noise.

    The convention takes 16. It decides for a core on record only if the record is of other code.
    """
    pool = [c for c in candidates(shipped()) if c.given == "ghash"]
    chooser, checked = Chooser(pool, recorded()), 0
    for one in recorded():
        (host,) = (host for host in chooser.hosts if host.title == one.core)
        last = chooser.picks(host, record_features(one), LASTING)[-1]
        if last.scores is None or last.scores.record != one:
            assert of_other_code(one, pool), one.title
            continue
        scored = last.scores.by_candidate
        few = min((v for c, v in scored.items() if c.blocks <= 16), default=math.inf)
        if few >= TIE * min(scored.values()):
            assert last.candidate.blocks > 16, one.title
            checked += 1
    assert checked > 0


def lesser_machines(family: str) -> list[Record]:
    """The records of a family whose machine hid features of its core."""
    machines = ((one, one.results.machine) for one in recorded(family))
    return [one for one, machine in machines if lacking(machine.cpu, machine.features)]


@pytest.mark.parametrize("family", [name for name in questions() if lesser_machines(name)])
def test_records_of_lesser_machines_change_nothing_for_whole_cores(family: str) -> None:
    """What a core takes that can run all its kernels: with those records, and without them."""
    question, records = questions()[family], recorded(family)
    lesser = lesser_machines(family)
    whole = [one for one in records if one not in lesser]
    checked = 0
    for value in question.values:
        pool = [c for c in candidates(shipped(), family) if c.given == value and c.abi == "sysv"]
        every, less = Chooser(pool, records), Chooser(pool, whole)
        for one in lesser:
            core = core_of(one.results.machine.cpu)
            assert core
            host, other = (
                host_of(each.hosts, one.results.machine.cpu, core.vendor) for each in (every, less)
            )
            assert host.title == core.title
            for use in question.dispatched:
                taken_now = every.picks(host, core.features, use)
                assert taken_now == less.picks(other, core.features, use)
                # There, its own record decides what any does, or that of the whole machine where
                # both can run the same kernels of this use.
                own = every.picks(host, record_features(one), use)
                decided = [pick.scores.record for pick in own if pick.scores]
                assert all(record.core == one.core for record in decided)
                checked += decided.count(one)
    assert checked > 10


@pytest.mark.parametrize("use", USES, ids=lambda use: use.name)
def test_rows_are_the_picks_of_every_host(use: Use) -> None:
    """The table that C reads says what `picks` says: of its rows the first that fits wins."""
    pool: list[Candidate] = [c for c in candidates(shipped()) if c.given == "ghash"]
    chooser = Chooser(pool, recorded())
    rows = chooser.rows(use)
    for host in chooser.hosts:
        for features in levels(pool):
            fitting = [r for r in rows if host in r.hosts and r.needs <= features]
            assert (fitting[0].picks if fitting else ()) == chooser.picks(host, features, use)

"""docs/hosts.md: what trials found, said from their records."""

import copy
from collections.abc import Mapping
from typing import Any

import pytest
from helpers.summarizing import gather_entries

from ghashgen.lab.host_goals import BARE, CORE, GOALS, LENGTHS
from ghashgen.lab.hosts import PAGE, SLOWER, host_parts, load_trials
from ghashgen.lab.pages import BEGIN, END
from ghashgen.lab.speeds.core import Measured, load_measured
from ghashgen.output.hosts.registry import hosts
from ghashgen.support.paths import project_root

Trials = dict[str, Any]


@pytest.fixture(scope="module")
def measured() -> Mapping[str, Measured]:
    return load_measured(project_root(), gather_entries().values())


@pytest.fixture
def trials() -> Trials:
    return copy.deepcopy(load_trials(project_root()))


def times(trials: Trials, host: str, length: int, rekeyed: bool = False) -> dict[str, Any]:
    found: dict[str, Any]
    (found,) = (
        time
        for time in trials[host]["times"]
        if (time["length"], time["rekeyed"]) == (length, rekeyed)
    )
    return found


def said(trials: Trials, measured: Mapping[str, Measured]) -> str:
    return "\n\n".join(part for part in host_parts(trials, measured) if part)


def test_the_page_has_what_the_records_say(
    trials: Trials, measured: Mapping[str, Measured]
) -> None:
    page = (project_root() / PAGE).read_text(encoding="utf-8")
    block = page.partition(f"{BEGIN}\n")[2].partition(END)[0]
    assert block.strip() == said(trials, measured)


def test_every_goal_is_of_a_host_that_is_tried_and_of_a_rival_that_it_times() -> None:
    known = hosts()
    for goal in GOALS:
        trial = known[goal.host.partition("@")[0]].trial
        assert trial is not None
        assert goal.rival in trial.rivals
        assert [*goal.lengths] == sorted(goal.lengths)


def test_a_goal_is_reached_only_if_each_length_reaches_it(
    trials: Trials, measured: Mapping[str, Measured]
) -> None:
    def reached(ratio: float) -> str:
        for length in LENGTHS:
            times(trials, "nettle", length)["ratio"]["nettle"] = ratio if length == 256 else 50.0
        rows = said(trials, measured).splitlines()
        (line,) = (row for row in rows if row.startswith("| nettle | nettle | 256 |"))
        return line.split("|")[-2].strip()

    assert (reached(2.0), reached(1.99)) == ("yes", "no")
    del trials["nettle"]
    assert "| nettle |" not in said(trials, measured)


def test_where_a_goal_is_missed_the_kernel_binds_or_the_calls_do(
    trials: Trials, measured: Mapping[str, Measured]
) -> None:
    def binding(bare: float) -> str:
        time, plain = times(trials, "nettle", 16384), times(trials, BARE, 16384)
        time |= {"ours": 800.0, "own": {"nettle": 4000.0}, "ratio": {"nettle": 5.0}}
        plain["ours"] = bare
        (part,) = (
            part.partition("\n- **go")[0]
            for part in host_parts(trials, measured)
            if part.startswith("- **nettle beside nettle.**")
        )
        return " ".join(part.split())

    wanted = "At 16384, nettle takes 4000 ns, so we wanted 400. We take 800, and"
    kernel, calls = binding(401.0), binding(399.0)
    assert "the kernel itself takes longer than we wanted" in kernel
    assert f"{wanted} 401 in plain C. Our AES-CTR alone, without GHASH, takes " in kernel
    assert "the host's calls take too long" in calls
    assert calls.endswith(f"{wanted} 399 in plain C.")
    assert f"We set the goals on a {CORE}, where" in said(trials, measured)


def test_nothing_binds_where_every_goal_is_reached(
    trials: Trials, measured: Mapping[str, Measured]
) -> None:
    for trial in trials.values():
        for time in trial["times"]:
            time["ratio"] = dict.fromkeys(time["ratio"], 20.0)
    page = said(trials, measured)
    for words in ("What binds", "We set the goals", "is faster by more"):
        assert words not in page


def test_lengths_where_the_hosts_own_code_is_faster_are_named(
    trials: Trials, measured: Mapping[str, Measured]
) -> None:
    for each in trials.values():
        for time in each["times"]:
            time["ratio"] = dict.fromkeys(time["ratio"], 1.0)
    for length, rekeyed, ratio in ((16, False, 0.94), (64, False, SLOWER), (256, True, 0.5)):
        times(trials, "linux", length, rekeyed)["ratio"]["Linux"] = ratio
    page = " ".join(said(trials, measured).split())
    (items,) = page.split("Where a host's own code is faster by more than 5%: ")[1:]
    assert items.startswith(
        "- **linux**, at 16 B with a key set once and at 256 B with a key set each message."
    )
    assert items.partition(" ## ")[0].count("**") == 2


def test_the_cpu_is_named_once_if_it_is_one(
    trials: Trials, measured: Mapping[str, Measured]
) -> None:
    (cpu,) = {trial["cpu"] for trial in trials.values()}
    assert " ".join(said(trials, measured).split()).count(cpu) == 1
    trials["c"]["cpu"] = "another: Zen 5"
    page = " ".join(said(trials, measured).split())
    assert page.count(cpu) == len(trials) - 1
    assert page.count(", on another: Zen 5.") == 1


def test_a_section_is_short_and_lists_stay_in_the_record(
    trials: Trials, measured: Mapping[str, Measured]
) -> None:
    sections = said(trials, measured).split("\n## ")[2:]
    assert [section.partition("\n")[0] for section in sections] == [*trials]
    for section, trial in zip(sections, trials.values(), strict=True):
        assert len(section.splitlines()) <= 30
        for symbol in {symbol for calls in trial["called"].values() for symbol in calls}:
            assert symbol not in section
        for line in trial["tests"]:
            assert " ".join(line.split()) in " ".join(section.split())

"""docs/hosts.md: what trials found, said from their records."""

import copy

from ghashgen.lab.hosts import GOALS, PAGE, host_parts, load_trials
from ghashgen.lab.pages import BEGIN, END
from ghashgen.output.hosts.registry import hosts
from ghashgen.support.paths import project_root


def test_the_page_has_what_the_records_say() -> None:
    root = project_root()
    page = (root / PAGE).read_text(encoding="utf-8")
    block = page.partition(f"{BEGIN}\n")[2].partition(END)[0]
    assert block.strip() == "\n\n".join(host_parts(load_trials(root)))


def test_every_goal_is_of_a_host_that_is_tried_and_of_a_rival_that_it_times() -> None:
    known = hosts()
    for host, rival, lengths, _, _ in GOALS:
        trial = known[host.partition("@")[0]].trial
        assert trial is not None
        assert rival in trial.rivals
        assert [*lengths] == sorted(lengths)


def test_a_goal_is_reached_only_if_each_length_reaches_it() -> None:
    trials = copy.deepcopy(load_trials(project_root()))
    once = [time for time in trials["nettle"]["times"] if not time["rekeyed"]]

    def said(ratio: float) -> str:
        for time in once:
            time["ratio"]["nettle"] = ratio if time["length"] == 256 else 50.0
        goals = next(part for part in host_parts(trials) if part.startswith("| host |"))
        (line,) = (
            line for line in goals.splitlines() if line.startswith("| nettle | nettle | 256 |")
        )
        return line.split("|")[-2].strip()

    assert (said(2.0), said(1.99)) == ("yes", "no")
    del trials["nettle"]
    assert "| nettle |" not in "\n".join(host_parts(trials))

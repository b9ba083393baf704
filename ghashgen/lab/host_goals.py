"""The goals for our kernels in hosts: which are reached, and what binds where one is missed.

What binds is found by the trial of plain C, whose calls cost next to nothing: where its time alone
is above what a goal asks for, the kernel binds, and otherwise the host's calls do.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ghashgen.lab.pages import item, markdown_table, wrapped
from ghashgen.lab.speeds.core import Measured
from ghashgen.records.core import CRYPT
from ghashgen.support.wording import joined

Trial = Mapping[str, Any]
Trials = Mapping[str, Trial]
"""The recorded trials by host (`ghashgen vendor --try HOST --json`)."""

ONCE, EACH = "once", "each message"
"""When the key is set."""

BARE = "c"
"""The host whose calls have no border."""

CORE = "Zen 5"
"""The core that the goals were set on."""

_ALONE = {"gcm": ("seal", 128), "hash": ("throughput", 0), "ctr": (CRYPT, 128)}
"""By family: the mode and the key of a message in the records of `bench`."""

LENGTHS = (16, 64, 256, 1024, 1536, 4096, 16384)


@dataclass(frozen=True)
class Goal:
    """A ratio that is wanted at some lengths."""

    host: str
    """Or a version of it, as HOST@VERSION."""
    rival: str
    lengths: tuple[int, ...]
    """In bytes, rising."""
    key: str
    ratio: float
    also: str = ""
    """Another host beside the same rival."""
    why: str = ""
    """What else is to say where it is missed."""

    def times(self, trials: Trials, host: str = "") -> Sequence[Mapping[str, Any]]:
        """Return the times of a message that it is about, in its host or another."""
        return [
            time
            for time in trials[host or self.host]["times"]
            if time["length"] in self.lengths and time["rekeyed"] == (self.key == EACH)
        ]


@dataclass(frozen=True)
class Figure:
    """A time by `bench`."""

    cycles: float
    clock_ghz: float

    @property
    def ns(self) -> float:
        """The time in ns."""
        return self.cycles / self.clock_ghz


GOALS = (
    Goal(*("nettle", "nettle", (16384,), ONCE, 10.0)),
    Goal(*("nettle", "nettle", (256,), ONCE, 2.0)),
    Goal(*("go", "crypto/cipher", LENGTHS, ONCE, 4.0), also="go-asm"),
    Goal(
        *("rust", "ring", LENGTHS[1:], ONCE, 2.0),
        why="ring 0.17.14 has BoringSSL's code for VAES, which its earlier versions lacked.",
    ),
    Goal(*("rust", "aws-lc-rs", (16384,), ONCE, 1.1)),
    Goal(*("openssl@4.0", "OpenSSL", LENGTHS[:4], ONCE, 1.0)),
    Goal(*("openssl@4.0", "OpenSSL", LENGTHS[:4], EACH, 1.0)),
    Goal(*("openssl@4.0", "OpenSSL", LENGTHS[4:], ONCE, 1.2)),
    Goal(*("openssl@4.0", "OpenSSL", LENGTHS[4:], EACH, 1.2)),
)


def goal_parts(trials: Trials, measured: Mapping[str, Measured]) -> Iterator[str]:
    """Yield the table of the goals, and what binds where one is missed.

    `measured` has the records of `bench` by family.
    """
    of = [goal for goal in GOALS if goal.host in trials]
    yield markdown_table(
        ("host", "beside", ">bytes", "key set", ">goal", ">least ratio measured", "reached"),
        [_row(goal, goal.times(trials)) for goal in of],
    )
    missed = [goal for goal in of if _least(goal, trials) < goal.ratio]
    if not missed or BARE not in trials:
        return
    core = trials[BARE]["cpu"].rpartition(": ")[2]
    here, there = (_alone(measured, title) for title in (core, CORE))
    yield f"What binds where a goal is missed (plain C is the host `{BARE}`):"
    yield "\n".join(item(_binding(goal, trials, here.get("AES-CTR"))) for goal in missed)
    if here and there and core != CORE:
        yield wrapped(
            f"We set the goals on a {CORE}, where our kernels are faster: {LENGTHS[-1]} bytes take "
            f"{_said(there)}. On a {core} they take {_said(here)}."
        )


def _least(goal: Goal, trials: Trials) -> float:
    return min(float(time["ratio"][goal.rival]) for time in goal.times(trials))


def _row(goal: Goal, times: Sequence[Mapping[str, Any]]) -> tuple[str, ...]:
    least = min(time["ratio"][goal.rival] for time in times)
    reached = "yes" if least >= goal.ratio else "no"
    said = goal.key, f"{goal.ratio:.1f}", f"{least:.2f}", reached
    return goal.host, goal.rival, _span(times), *said


def _span(times: Sequence[Mapping[str, Any]]) -> str:
    lengths = [time["length"] for time in times]
    return f"{lengths[0]}" + (f" to {lengths[-1]}" if lengths[1:] else "")


def _binding(goal: Goal, trials: Trials, alone: Figure | None) -> str:
    """Return what keeps a goal from being reached: the kernel, the host's calls, or either."""
    bare = {time["length"]: time["ours"] for time in goal.times(trials, BARE)}
    missed = [time for time in goal.times(trials) if time["ratio"][goal.rival] < goal.ratio]
    kernel = [time for time in missed if _asked(goal, time) < bare[time["length"]]]
    calls = [time for time in missed if time not in kernel]
    texts = [f"**{goal.host} beside {goal.rival}.**"]
    if kernel:
        texts.append(f"At {_span(kernel)} bytes, the kernel itself takes longer than we wanted.")
        texts.append(_compared(goal, kernel[-1], bare))
        if alone and kernel[-1]["length"] == LENGTHS[-1]:
            texts.append(f"Our AES-CTR alone, without GHASH, takes {alone.ns:.0f}.")
    if calls:
        texts.append(f"At {_span(calls)} bytes, the host's calls take too long.")
        texts.append(_compared(goal, calls[0], bare))
    if goal.also in trials:
        ratios = sorted(time["ratio"][goal.rival] for time in goal.times(trials, goal.also))
        texts.append(f"`{goal.also}` reaches {ratios[0]:.2f} to {ratios[-1]:.2f}.")
    return " ".join((*texts, *filter(None, [goal.why])))


def _compared(goal: Goal, time: Mapping[str, Any], bare: Mapping[int, float]) -> str:
    length = time["length"]
    return (
        f"At {length}, {goal.rival} takes {time['own'][goal.rival]:.0f} ns, so we wanted "
        f"{_asked(goal, time):.0f}. We take {time['ours']:.0f}, and {bare[length]:.0f} in plain C."
    )


def _asked(goal: Goal, time: Mapping[str, Any]) -> float:
    return float(time["own"][goal.rival]) / goal.ratio


def _alone(measured: Mapping[str, Measured], core: str) -> Mapping[str, Figure]:
    """Return what the longest message takes on a core, by the kernel to take."""
    return {
        measured[family].speed.function: Figure(cell.cycles, one.record.results.machine.clock_ghz)
        for family, how in _ALONE.items()
        for one in measured[family].standings
        if one.record.title == core and (cell := one.kernel(LENGTHS[-1], *how)) is not None
    }


def _said(figures: Mapping[str, Figure]) -> str:
    return joined(f"{each.cycles:.0f} cycles for {name}" for name, each in figures.items())

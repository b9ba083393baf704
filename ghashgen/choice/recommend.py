"""Recommends a kernel for a CPU: the dispatcher's choice there, with its figures and the reason.

It reads the catalogue's manifest and the measurement records, and runs nothing.
"""

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from math import log

from ghashgen.arch.features import FEATURES_OFF
from ghashgen.arch.registry import DEFAULT, arches, isas
from ghashgen.choice.candidate import Candidate
from ghashgen.choice.choice import Chooser, Pick, pick_at
from ghashgen.choice.cores import host_of, record_features, vendor_of
from ghashgen.choice.figures import Figures
from ghashgen.choice.questions import Question, Use
from ghashgen.choice.rule import level
from ghashgen.records.core import IMIX, Cell, size_name
from ghashgen.records.cpus import CORES, VENDORS, core_of
from ghashgen.records.machine import cpu_model, cpuinfo
from ghashgen.records.records import Record
from ghashgen.support.errors import GhashgenError
from ghashgen.support.wording import did_you_mean, joined

FEATURES = tuple(arches()[DEFAULT].features)
"""CPU features of the architecture that has records."""

_LINUX = {"aes": "aesni"}
"""Features that /proc/cpuinfo names differently."""


@dataclass(frozen=True)
class Machine:
    """The CPU in question."""

    cpu: str
    """In the system's words, or as asked for."""
    core: str
    """The core's name; empty if unknown."""
    vendor: str
    features: frozenset[str]


@dataclass(frozen=True)
class Speed:
    """A figure of a record."""

    mode: str
    size: int
    cycles: float
    messages: int | None
    """Messages of a key, each with its share of key set-up in the cycles; None without."""
    peer: str
    """The record's fastest comparable peer; empty if there is none."""
    ratio: float | None
    """The peer's time divided by the kernel's: above 1, the kernel is faster."""


@dataclass(frozen=True)
class Advice:
    """The kernel for a range of message lengths."""

    above: int
    """The range begins above this length in bytes; -1 if it begins with 0."""
    up_to: int | None
    candidate: Candidate
    record: str
    """The deciding record; empty for the convention."""
    own: bool
    """Whether the record is of this core."""
    asked: tuple[Record, ...]
    """The records that were asked, up to the deciding one."""
    on: str
    """The machine that the record is of; empty for the convention."""
    init: float | None
    """Core cycles of key set-up."""
    speeds: tuple[Speed, ...]
    """A figure for each deciding mode; none for the convention."""
    why: str
    beside: "Beside | None" = None

    @property
    def speed(self) -> Speed | None:
        """The figure of the first mode."""
        return self.speeds[0] if self.speeds else None

    @property
    def lengths(self) -> str:
        """The range in words."""
        if self.up_to is None:
            return "any length" if self.above < 0 else f"more than {size_name(self.above)}"
        if self.above < 0:
            return f"to {size_name(self.up_to)}"
        return f"{self.above + 1} to {self.up_to} bytes"


@dataclass(frozen=True)
class Beside:
    """The kernel of another use that is told too."""

    use: Use
    advice: Advice
    ratio: float | None
    """The time of the kernel that it stands beside, in the same mode, divided by its own; None if
    it is the same kernel.
    """


def machine(name: str, records: Sequence[Record]) -> Machine:
    """Return the CPU of this name: a record's or a core's, a list of features, or "" for this one.

    On this CPU, features named in the environment variable FEATURES_OFF are ignored.

    Raises:
        GhashgenError: the name is unknown, or this system does not list its features.
    """
    if not name:
        return _here()
    low = _plain(name)
    for record in records:
        if low in (_plain(record.slug), _plain(record.title)):
            cpu = record.results.machine.cpu
            return Machine(cpu, record.core, vendor_of(record), record_features(record))
    for core in CORES:
        if low in map(_plain, (core.title, *core.names)):
            place = f"cpu family {core.family}, model {core.models[0]}"
            cpu = f"{core.title} ({place}, stepping {core.steppings[0]})"
            return Machine(cpu, core.title, core.vendor, core.features)
    named = frozenset(word.strip() for word in name.lower().split(","))
    if name.lower() in isas():
        raise _set(name.lower())
    if named <= set(FEATURES):
        return Machine(f"a CPU with {' '.join(sorted(named))}", "", "", named)
    if "," in name:
        unknown = min(named - set(FEATURES))
        raise GhashgenError(
            f"no CPU feature is called {unknown!r}",
            did_you_mean(unknown, FEATURES, f"choose from {', '.join(FEATURES)}"),
        )
    titles = [*(record.title for record in records), *(core.title for core in CORES)]
    known = dict.fromkeys((*titles, *(name for core in CORES for name in core.names), *FEATURES))
    features = f"or CPU features, as avx,pclmulqdq from {', '.join(FEATURES)}"
    raise GhashgenError(
        f"no CPU core, record or CPU feature is called {name!r}",
        did_you_mean(name, known, f"choose {', '.join(dict.fromkeys(titles))}, {features}"),
    )


def _set(name: str) -> GhashgenError:
    """Return the refusal of an instruction set given as a CPU."""
    isa = isas()[name]
    cause = f"{name} is an instruction set of kernels, not a CPU"
    listed = f"ghashgen list --isa {name} lists its kernels"
    if not set(isa.features) <= set(FEATURES):
        return GhashgenError(cause, listed)
    return GhashgenError(
        cause,
        f"name a core, as 'Zen 5', or what a CPU has: --cpu {','.join(isa.features)}; {listed}",
    )


def _plain(name: str) -> str:
    """Return a name in lower case without spaces and signs, so that zen5 is Zen 5."""
    return "".join(filter(str.isalnum, name.lower()))


def _here() -> Machine:
    said = cpuinfo()
    flags = {_LINUX.get(flag, flag) for flag in said.get("flags", "").split()}
    if not flags:
        raise GhashgenError(
            "this system does not list its CPU's features (/proc/cpuinfo)",
            "name a CPU: --cpu 'Zen 5'",
        )
    off = {name for name in os.environ.get(FEATURES_OFF, "").split(",") if name}
    if unknown := sorted(off - set(FEATURES)):
        raise GhashgenError(
            f"{FEATURES_OFF} names {unknown[0]!r}, which is not a CPU feature",
            f"choose from {', '.join(FEATURES)}",
        )
    features = flags & set(FEATURES) - off
    cpu = cpu_model()
    core = core_of(cpu)
    vendor = VENDORS.get(said.get("vendor_id", ""), "")
    return Machine(cpu, core.title if core else "", vendor, frozenset(features))


def recommend(
    here: Machine,
    pool: Iterable[Candidate],
    records: Sequence[Record],
    question: Question,
    use: Use,
    *,
    size: int | None = None,
) -> tuple[Advice, ...]:
    """Return the kernels for a use, by range of lengths; for `size` alone if given.

    All of `pool` have one family, given and calling convention.

    Raises:
        GhashgenError: no kernel has the functions that the use needs, the CPU can run none, or no
            message may be as long as `size`.
    """
    if size is not None and size > question.longest:
        raise GhashgenError(
            f"{question.limit}: at most {question.longest} bytes, not {size}",
            "give a length up to that",
        )
    every = tuple(pool)
    pool = [candidate for candidate in every if candidate.exports(use.exports)]
    if not pool:
        value = f" for {question.given} {every[0].given}" if every else ""
        raise GhashgenError(
            f"no kernel of the catalogue{value} has {joined(sorted(use.exports))}, which use "
            f"{use.name} needs",
            f"choose another --use, or make one: ghashgen generate --family {question.family}",
        )
    chooser = Chooser(pool, records)
    host = host_of(chooser.hosts, here.cpu, here.vendor)
    picks = chooser.picks(host, here.features, use)
    if not picks:
        raise GhashgenError(
            f"{here.cpu} can run no kernel: each needs {question.least}", question.instead
        )
    wanted = None if size is None else pick_at(picks, size)
    out, above = list[Advice](), -1
    for run in _runs(picks):
        last = use.up_to if run[-1].up_to is None else run[-1].up_to
        if wanted is None or wanted in run:
            out.append(_advice(wanted or run[-1], above, last, here, use, size))
        above = last if last is not None else above
    if use.beside:
        other = question.use(use.beside)
        (more,) = recommend(here, pool, records, question, other, size=size)
        out = [_with(item, other, more, records) for item in out]
    return tuple(out)


def _with(item: Advice, other: Use, more: Advice, records: Sequence[Record]) -> Advice:
    """Return advice with that of another use, if the latter's kernel has what that use prefers."""
    if not more.candidate.exports(other.prefers):
        return item
    speed, ratio = more.speed, None
    if speed and item.candidate != more.candidate:
        results = next(r for r in records if r.slug == more.record).results
        cell = results.cell(item.candidate.measured_as, speed.size, speed.mode)
        ratio = cell.cycles / speed.cycles if cell else None
    return replace(item, beside=Beside(other, more, ratio))


def for_every_cpu(
    pool: Iterable[Candidate], records: Sequence[Record], use: Use
) -> tuple[Candidate, ...]:
    """Return the kernels that a use takes on CPUs of no known kind, sorted by name.

    With these a program serves any CPU: for most uses, one kernel of each instruction set. All of
    `pool` have one family, given and calling convention.
    """
    chooser = Chooser(pool, records)
    unknown = chooser.hosts[-1]
    rows = [row for row in chooser.rows(use) if unknown in row.hosts]
    taken = {pick.candidate for row in rows for pick in row.picks}
    return tuple(sorted(taken, key=lambda candidate: candidate.name))


def _runs(picks: Sequence[Pick]) -> list[list[Pick]]:
    """Group neighbouring classes with the same kernel and source."""
    runs: list[list[Pick]] = []
    for pick in picks:
        if runs and (runs[-1][-1].candidate, _slug(runs[-1][-1])) == (pick.candidate, _slug(pick)):
            runs[-1].append(pick)
        else:
            runs.append([pick])
    return runs


def _slug(pick: Pick) -> str:
    return pick.scores.record.slug if pick.scores else ""


def _advice(
    pick: Pick, above: int, last: int | None, here: Machine, use: Use, size: int | None
) -> Advice:
    found = pick.scores
    if found is None:
        question = pick.candidate.question
        small = use.messages == 1 and question.grows
        rest = "a table a quarter of the message" if small else question.convention
        if use.prefers:
            rest = f"{' and '.join(sorted(use.prefers, reverse=True))}, then {rest}"
        why = f"nothing was measured: by convention the widest registers, then {rest}"
        return Advice(above, last, pick.candidate, "", False, pick.asked, "", None, (), why)
    subjects = found.record.results.subjects
    peers = {name for name, subject in subjects.items() if subject.kind == "peer"}
    measured = Figures(found.record, peers | {pick.candidate.measured_as})
    own = found.record.core == here.core
    shown = size or use.shown_at or max(found.sizes)
    return Advice(
        above,
        last,
        pick.candidate,
        found.record.slug,
        own,
        pick.asked,
        found.record.title,
        measured.cycles(pick.candidate.measured_as, "init", 0),
        tuple(
            speed
            for mode in found.modes
            if (speed := _speed(pick, measured, mode, use, shown, here.features))
        ),
        _why(pick, own, found.record),
    )


def _why(pick: Pick, own: bool, record: Record) -> str:
    assert pick.scores is not None
    scored = pick.scores.by_candidate
    equal = level(scored)
    best = min(scored, key=lambda candidate: (scored[candidate], candidate.simplicity))
    sizes = ", ".join(map(size_name, pick.scores.sizes)) if any(pick.scores.sizes) else "key set-up"
    sizes = "IMIX" if pick.scores.modes[0] == IMIX else sizes
    measured = len(scored) + pick.scores.left_out
    if measured == 1:
        text = f"the only kernel on record at {sizes}"
    elif pick.candidate == best:
        text = f"the fastest of {measured} measured at {sizes}"
    else:
        text = (
            f"one of {len(equal)} within 5% of the fastest ({best.name}) of {measured} measured "
            f"at {sizes}: the least code for all lengths together decides"
        )
    if pick.scores.left_out:
        text += f"; {pick.scores.left_out} of them too slow at one of these lengths"
    if not own:
        text += f"; no record of this CPU decides it: {record.title} is the nearest that does"
    if pick.scores.older:
        text += "; figures of older code count too, for lack of others"
    if pick.candidate.measured_as != pick.candidate.name:
        text += f"; as {pick.candidate.measured_as}, {pick.candidate.question.differs}"
    return text


def _speed(
    pick: Pick, measured: Figures, mode: str, use: Use, size: int, features: frozenset[str]
) -> Speed | None:
    """Return the figure at the recorded size nearest to `size`, if the kernel has one.

    Only peers with the kernel's key size count, and only if this CPU has all features of the
    record's, because most peers choose their code at run time.
    """
    assert pick.scores is not None
    results = pick.scores.record.results
    alike = record_features(pick.scores.record) <= features
    name = pick.candidate.measured_as
    sizes = sorted({s for m, s in results.rows() if m == mode})
    known = [s for s in sizes if measured.cycles(name, mode, s, use.messages) is not None]
    if not known:
        return None
    at = min(known, key=lambda s: (abs(log(max(s, 1) / max(size, 1))), s))
    cycles = measured.cycles(name, mode, at, use.messages)
    assert cycles is not None
    peers: list[Cell] = [
        cell
        for cell in results.of_kind(("peer",), at, mode, results.subjects[name].key)
        if alike and set(results.subjects[cell.name].needs) <= features
    ]
    times = [(t, c.name) for c in peers if (t := measured.cycles(c.name, mode, at, use.messages))]
    peer = min(times, default=None)
    return Speed(
        mode, at, cycles, use.messages, peer[1] if peer else "", peer[0] / cycles if peer else None
    )

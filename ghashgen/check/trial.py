"""Tries kernels in a host's own sources: `ghashgen vendor --try`.

The host is built with our kernels in a scratch folder, and with its own code too if ours replaces
that. Three things must hold: the host's own tests pass; each kernel's object is proved, as the
host's build made it; and our functions are called, by one of these tests and by the program that
is timed. To count calls, the host is built once more, with a counter at the entry of each function.
"""

import re
import shutil
import struct
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from ghashgen import __version__
from ghashgen.arch.elf import GLOBAL, read_elf
from ghashgen.check import evidence, vendoring
from ghashgen.check.vendoring import Order, Prepared
from ghashgen.output.folder import write as write_files
from ghashgen.output.hosting import values_of
from ghashgen.output.hosts.trial import Edit, Trial
from ghashgen.records.cpus import title_of
from ghashgen.records.machine import cpu_model
from ghashgen.run import debian
from ghashgen.run.commands import do, lines_of, outputs, require_programs
from ghashgen.support.errors import GhashgenError, require
from ghashgen.support.templates import environment

LENGTHS = (16, 64, 256, 1024, 1536, 4096, 16384)
"""Lengths of the timed messages, in bytes."""

_TURNS = 5
_INTO = "--try"


@dataclass(frozen=True)
class Time:
    """The time of a message in ns, with our kernels and by each rival."""

    length: int
    rekeyed: bool
    """Whether each message has a new key."""
    ours: float
    own: Mapping[str, float]

    @property
    def ratio(self) -> Mapping[str, float]:
        """How many times as long each rival takes."""
        return {name: round(time / self.ours, 3) for name, time in self.own.items()}


@dataclass(frozen=True)
class Tried:
    """What was found."""

    host: str
    source: str
    version: str
    """Of ghashgen."""
    cpu: str
    tests: tuple[str, ...]
    """What the tests said."""
    watched: str
    """One of the host's tests,"""
    called: Mapping[str, Mapping[str, int]]
    """and how often it and the timed program called each function of the kernels."""
    times: tuple[Time, ...]
    proofs: Mapping[str, str]
    """How each kernel's object is proved, as the host's build made it."""


def run(
    order: Order, source: Path | None, reprove: bool, say: Callable[[str], None] = lambda line: None
) -> Tried:
    """Try an order's kernels in its host's sources: those of Debian, or a copy of `source`.

    Raises:
        GhashgenError: a program or the sources are missing; or something fails, and then the
            scratch folder with the logs is kept.
    """
    trial, host = order.host.trial, order.host.name
    assert trial is not None, "a host with a trial"
    require_programs(trial.programs)
    with _scratch() as scratch:
        log = scratch / "log"
        say(f"{host}: {source or trial.package or 'made from packages'}, in {scratch}")
        found, version = _sources(trial, host, source, scratch, log)
        own, ours = scratch / "own", scratch / "ours"
        sides = {"with our kernels": ours} | ({"with its own code": own} if trial.replaces else {})
        values = {**values_of(order.host, order.target, order.kernels), "lengths": LENGTHS}
        for copy in sides.values():
            shutil.copytree(found, copy, symlinks=True, ignore=shutil.ignore_patterns(".git"))
            for path, template in trial.files.items():
                (copy / path).parent.mkdir(parents=True, exist_ok=True)
                text = environment().get_template(template).render(values)
                (copy / path).write_text(text, encoding="utf-8")
        for edit in trial.edits:
            _edit(ours / edit.file, edit)
        prepared = vendoring.prepare(order, ours / trial.folder, False)
        write_files(ours / trial.folder, prepared.files, (), _INTO)
        for name, copy in sides.items():
            say(f"build {host} {name}")
            do(trial.configure, copy, log)
            do(trial.make, copy, log)
        told = " ".join(outputs(trial.version, ours)[0].split())
        version = ", ".join(filter(None, [version, told]))
        say("run the host's tests")
        before = len([*lines_of(log)])
        for command in trial.tests:
            do(command, ours, log)
        said = [line.strip() for line in [*lines_of(log)][before:]]
        tests = tuple(line for line in said if re.fullmatch(trial.passed, line))
        say("prove the objects that its build made")
        proofs = _proofs(trial, prepared, ours, scratch, reprove)
        say("measure")
        times = _times(trial, own if trial.replaces else ours, ours)
        say("count calls")
        called = _called(trial, prepared, ours, log)
    cpu = cpu_model()
    where = f"{cpu}: {title_of(cpu)}"
    return Tried(*(host, version, __version__, where, tests, trial.watched, called, times, proofs))


@contextmanager
def _scratch() -> Iterator[Path]:
    """Give a new folder; it stays if a command failed, because it has the log."""
    folder = Path(tempfile.mkdtemp(prefix="ghashgen-try-"))
    try:
        yield folder
    except GhashgenError as refusal:
        if str(folder) not in str(refusal):
            shutil.rmtree(folder)
        raise
    except BaseException:
        shutil.rmtree(folder)
        raise
    shutil.rmtree(folder)


def _sources(
    trial: Trial, host: str, given: Path | None, scratch: Path, log: Path
) -> tuple[Path, str]:
    if given is not None:
        require(given.is_dir(), f"{given}: no such folder", "name the host's sources with --source")
        found, version = given, _version(given)
    elif trial.package:
        found, version = debian.source_of(trial.package, scratch, log)
        version = f"{trial.package} {version}, Debian's sources"
    elif trial.marks:
        raise GhashgenError(
            f"the sources of {host} are in no package", "name their folder with --source"
        )
    else:
        found, version = scratch / "none", ""
        found.mkdir()
    if missing := [mark for mark in trial.marks if not (found / mark).is_file()]:
        raise GhashgenError(
            f"{found} has no {missing[0]}, so it is not the sources of {host}",
            "name the folder of its sources with --source",
        )
    return found, version


def _version(folder: Path) -> str:
    """Return a checkout's commit, or a folder's name: its path would name somebody's machine."""
    if not (folder / ".git").exists():
        return folder.resolve().name
    require_programs({"git": "git"})
    told = outputs(["git", "describe", "--tags", "--always", "--dirty"], folder)[0]
    return f"checkout {told.strip()}"


def _edit(path: Path, edit: Edit) -> None:
    text = path.read_text(encoding="utf-8")
    if text.count(f"{edit.below}\n") != 1:
        raise GhashgenError(
            f"{edit.file} has no line that ends in {edit.below!r}, or several",
            "take a version that the host's page names",
        )
    path.write_text(text.replace(f"{edit.below}\n", f"{edit.below}\n\n{edit.line}\n"), "utf-8")


def _proofs(
    trial: Trial, prepared: Prepared, ours: Path, scratch: Path, reprove: bool
) -> dict[str, str]:
    """Prove the objects that the host's build made; return how each is proved."""
    objects = _objects(trial, ours, scratch) if trial.objects else {}
    made = {}
    for entry in prepared.entries if trial.objects else ():
        symbol = entry.symbols["init"]
        found = [path for path, names in objects.items() if symbol in names]
        if len(found) != 1:
            raise GhashgenError(
                f"{len(found)} objects in {trial.objects} define {symbol}, and not one: the host "
                "was built without our kernels",
                "report this",
            )
        made[entry.name] = found[0]
    planned = evidence.plan(prepared.artefacts, reprove)
    planned = evidence.of_objects(planned, made) if trial.objects else planned
    known = evidence.prove(planned, prepared.order.unproved)
    how = {True: "on record for these bytes", False: "proved now, or by a kept verdict"}
    return {
        artefact.kernel.name: each.refused or how[bool(each.record)]
        for artefact, each in zip(prepared.artefacts, known, strict=True)
    }


def _objects(trial: Trial, ours: Path, scratch: Path) -> dict[Path, set[str]]:
    """Return the objects that the build made, and what each defines."""
    found = []
    for number, path in enumerate(sorted(ours.glob(trial.objects))):
        folder = scratch / f"objects-{number}"
        folder.mkdir()
        if path.read_bytes().startswith(b"!<arch>"):
            outputs(["ar", "x", str(path.absolute())], folder)
        else:
            shutil.copy(path, folder)
        found += sorted(folder.iterdir())
    return {
        path: {e.name for e in read_elf(content).symbols if e.binding == GLOBAL and e.section}
        for path in found
        if (content := path.read_bytes()).startswith(b"\x7fELF")
    }


def _times(trial: Trial, own: Path, ours: Path) -> tuple[Time, ...]:
    """Return the least times of all programs, which run in turns."""
    programs = {"": (trial.timed, ours)} | {n: (each, own) for n, each in trial.rivals.items()}
    least: dict[tuple[str, int, int], float] = {}
    for _ in range(_TURNS):
        for name, (command, side) in programs.items():
            for line in outputs(command, side)[0].splitlines():
                rekeyed, length, time = line.split()
                key = name, int(rekeyed), int(length)
                least[key] = min(float(time), least.get(key, float(time)))
    return tuple(
        Time(
            *(length, bool(new), least["", new, length]),
            {name: least[name, new, length] for name in trial.rivals},
        )
        for new in (0, 1)
        for length in LENGTHS
    )


def _called(trial: Trial, prepared: Prepared, ours: Path, log: Path) -> dict[str, dict[str, int]]:
    """Build the host with counters; return how often our functions are called."""
    symbols = [symbol for entry in prepared.entries for symbol in entry.symbols.values()]
    counts = log.with_name("counts")
    _add_counters(trial, prepared, ours / trial.folder, symbols, counts)
    do(trial.make, ours, log)
    found = {}
    for command in (trial.watched, trial.timed):
        counts.write_bytes(bytes(8 * len(symbols)))
        do(command, ours, log)
        numbers = struct.unpack(f"<{len(symbols)}Q", counts.read_bytes())
        found[command] = {s: n for s, n in zip(symbols, numbers, strict=True) if n}
        if not found[command]:
            raise GhashgenError(
                f"{command} calls none of our functions on this CPU: {', '.join(symbols)}",
                "choose kernels that this CPU can run: ghashgen recommend",
            )
    return found


def _add_counters(
    trial: Trial, prepared: Prepared, folder: Path, symbols: Sequence[str], counts: Path
) -> None:
    order = prepared.order
    if trial.counting is not None:
        made = trial.counting(prepared.artefacts, prepared.files, symbols, counts)
        for name, text in made.items():
            (folder / name).write_text(text, encoding="utf-8")
        return
    count = order.target.syntax.tally
    label = re.compile(f"^{trial.entry.format('|'.join(sorted(symbols)))}$", re.MULTILINE)
    for artefact in prepared.artefacts:
        path = folder / order.host.place(artefact.file)
        text, number = label.subn(
            lambda found: f"{found[0]}\n{count.format(at=8 * symbols.index(found[1]))}",
            path.read_text(encoding="utf-8"),
        )
        if not number:
            raise GhashgenError(f"{path.name} has no function to count", "report this")
        path.write_text(text, encoding="utf-8")
    path = folder / order.host.place(trial.counts_in.format(library=order.target.library))
    template = environment().get_template("hosts/trial/counts.c.j2")
    more = template.render(symbols=symbols, path=counts)
    before = path.read_text(encoding="utf-8") if path.exists() else ""
    path.write_text(before + more, encoding="utf-8")

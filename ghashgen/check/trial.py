"""Tries kernels in a host's own sources: `ghashgen vendor --try`.

The host is built twice in a scratch folder, with its own code and with our kernels. Four things
must hold of the second: its own tests pass; its library has our functions, and they are called; a
test of its own fails when they trap; and each kernel's object is proved, as it lies in that
library.
"""

import re
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from ghashgen import __version__
from ghashgen.check import evidence, vendoring
from ghashgen.check.vendoring import Order, Prepared
from ghashgen.output.artefact import Artefact
from ghashgen.output.folder import write as write_files
from ghashgen.output.hosting import values_of
from ghashgen.output.hosts.trial import Edit, Trial
from ghashgen.records.cpus import title_of
from ghashgen.records.machine import cpu_model
from ghashgen.run import debian
from ghashgen.run.commands import do, ends_well, lines_of, outputs, require_programs
from ghashgen.support.errors import GhashgenError
from ghashgen.support.templates import environment
from ghashgen.support.toolchain import compile_c, find_cc, link

LENGTHS = (16, 64, 256, 1024, 1536, 4096, 16384)
"""Lengths of the timed messages, in bytes."""

_TURNS = 5
_TRAP = "ud2"
_INTO = "--try"


@dataclass(frozen=True)
class Time:
    """The time of a message in ns: the host's own, and with our kernels."""

    length: int
    rekeyed: bool
    """Whether each message has a new key."""
    own: float
    ours: float

    @property
    def ratio(self) -> float:
        """How many times as long the host's own code takes."""
        return self.own / self.ours


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
    called: Mapping[str, int]
    """How often the timed program called each function of the kernels."""
    trapped: str
    """The host's test that failed when these functions trapped."""
    times: tuple[Time, ...]
    proofs: Mapping[str, str]
    """How each kernel's object in the host's library is proved."""


def run(
    order: Order, source: Path | None, reprove: bool, say: Callable[[str], None] = lambda line: None
) -> Tried:
    """Try an order's kernels in its host's sources: those of Debian, or a copy of `source`.

    Raises:
        GhashgenError: the host has no trial, or a program or the sources are missing; or something
            fails, and then the scratch folder with the logs is kept.
    """
    trial, host = order.host.trial, order.host.name
    if trial is None:
        raise GhashgenError(f"host {host} has no trial", "leave out --try")
    require_programs(trial.programs)
    with _scratch() as scratch:
        log = scratch / "log"
        say(f"{host}: {source or 'the Debian source package'}, in {scratch}")
        found, version = _sources(trial, source, scratch, log)
        own, ours = scratch / "own", scratch / "ours"
        for copy in (own, ours):
            shutil.copytree(found, copy, symlinks=True, ignore=shutil.ignore_patterns(".git"))
        for edit in trial.edits:
            _edit(ours / edit.file, edit)
        prepared = vendoring.prepare(order, ours / trial.folder, False)
        write_files(ours / trial.folder, prepared.files, (), _INTO)
        for name, copy in (("with its own code", own), ("with our kernels", ours)):
            say(f"build {host} {name}")
            do(trial.configure, copy, log)
            do(trial.make, copy, log)
        say("run the host's tests")
        before = len([*lines_of(log)])
        for command in trial.tests:
            do(command, ours, log)
        said = [line.strip() for line in [*lines_of(log)][before:]]
        tests = tuple(line for line in said if re.fullmatch(trial.passed, line))
        say("prove the objects in its library")
        proofs = _proofs(trial, prepared, ours, scratch, reprove)
        say("count calls, and measure")
        called = _called(trial, prepared, ours, scratch)
        times = _times(trial, prepared, own, ours, scratch)
        say("let our functions trap, and run one of its tests")
        _require_trap(trial, prepared, ours, log)
    cpu = cpu_model()
    where = f"{cpu}: {title_of(cpu)}"
    return Tried(host, version, __version__, where, tests, called, trial.watched, times, proofs)


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


def _sources(trial: Trial, given: Path | None, scratch: Path, log: Path) -> tuple[Path, str]:
    if given is None:
        found, version = debian.source_of(trial.package, scratch, log)
        version = f"{trial.package} {version}, Debian's sources"
    else:
        found, version = given, str(given)
    if missing := [mark for mark in trial.marks if not (found / mark).is_file()]:
        raise GhashgenError(
            f"{found} has no {missing[0]}, so it is not the sources of {trial.package}",
            "name the folder of its sources with --source",
        )
    return found, version


def _edit(path: Path, edit: Edit) -> None:
    text = path.read_text(encoding="utf-8")
    if text.count(f"{edit.below}\n") != 1:
        raise GhashgenError(
            f"{edit.file} has no line that ends in {edit.below!r}, or several",
            "take a version that the host's page names",
        )
    path.write_text(text.replace(f"{edit.below}\n", f"{edit.below}\n\n{edit.line}\n"), "utf-8")


def _symbols(prepared: Prepared) -> dict[str, str]:
    """Return the functions of all kernels: symbol to function."""
    return {symbol: name for e in prepared.entries for name, symbol in e.symbols.items()}


def _proofs(
    trial: Trial, prepared: Prepared, ours: Path, scratch: Path, reprove: bool
) -> dict[str, str]:
    """Prove the objects that the host's library has; return how each is proved."""
    members = scratch / "members"
    members.mkdir()
    objects = {a.kernel.name: members / f"{_stem(a)}.o" for a in prepared.artefacts}
    for path in objects.values():
        outputs(["ar", "x", str((ours / trial.library).absolute()), path.name], members)
        if not path.is_file():
            raise GhashgenError(
                f"{trial.library} has no {path.name}: the host was built without our kernels",
                "report this",
            )
    planned = evidence.plan(prepared.artefacts, prepared.order.elf, reprove)
    planned = evidence.of_objects(planned, objects)
    known = evidence.prove(planned, prepared.order.unproved)
    how = {True: "on record for these bytes", False: "proved now, or by a kept verdict"}
    return {
        artefact.kernel.name: each.refused or how[bool(each.record)]
        for artefact, each in zip(prepared.artefacts, known, strict=True)
    }


def _stem(artefact: Artefact) -> str:
    return Path(artefact.file).stem


def _called(trial: Trial, prepared: Prepared, ours: Path, scratch: Path) -> dict[str, int]:
    """Run the timed program with a counter before each of our functions; return the counts."""
    symbols = _symbols(prepared)
    defined = outputs(["nm", "--defined-only", trial.library], ours)[0]
    missing = [name for name in symbols if not re.search(rf"\s{name}$", defined, re.MULTILINE)]
    if missing:
        raise GhashgenError(f"{trial.library} does not define {missing[0]}", "report this")
    program = _program(trial, prepared, ours, scratch / "count", tuple(symbols))
    said = outputs([str(program)], ours)[1]
    counts = {name: int(n) for name, n in re.findall(r"^(\w+) (\d+)$", said, re.MULTILINE)}
    called = {name: counts[name] for name in symbols if counts.get(name)}
    if not called:
        raise GhashgenError(
            f"the host calls none of our functions on this CPU: {', '.join(symbols)}",
            "choose kernels that this CPU can run: ghashgen recommend",
        )
    return called


def _program(
    trial: Trial, prepared: Prepared, side: Path, folder: Path, counted: Sequence[str] = ()
) -> Path:
    """Compile the timed program and link it with a side's library, by its path."""
    cc, flags = find_cc(), tuple(f"-I{side}" if flag == "-I." else flag for flag in trial.flags)
    order = prepared.order
    values = {**values_of(order.host, order.target, order.kernels), "lengths": LENGTHS}
    folder.mkdir()
    texts = {"measure": trial.measure}
    if counted:
        texts["count"] = "hosts/trial/count.c.j2"
    objects = []
    for name, template in texts.items():
        text = environment().get_template(template).render(**values, symbols=counted)
        (folder / f"{name}.c").write_text(text, encoding="utf-8")
        objects.append(folder / f"{name}.o")
        compile_c(cc, folder / f"{name}.c", objects[-1], flags=("-O2", *flags))
    wrapped = [f"-Wl,--wrap={name}" for name in counted]
    link(cc, [*objects, side / trial.library], folder / "program", flags=wrapped)
    return folder / "program"


def _times(
    trial: Trial, prepared: Prepared, own: Path, ours: Path, scratch: Path
) -> tuple[Time, ...]:
    """Return the least times of both sides, which run in turns."""
    sides = [
        (side, _program(trial, prepared, side, scratch / f"measure-{side.name}"))
        for side in (own, ours)
    ]
    least: dict[tuple[str, int, int], float] = {}
    for _ in range(_TURNS):
        for side, program in sides:
            for line in outputs([str(program)], side)[0].splitlines():
                rekeyed, length, time = line.split()
                key = side.name, int(rekeyed), int(length)
                least[key] = min(float(time), least.get(key, float(time)))
    return tuple(
        Time(length, bool(new), least[own.name, new, length], least[ours.name, new, length])
        for new in (0, 1)
        for length in LENGTHS
    )


def _require_trap(trial: Trial, prepared: Prepared, ours: Path, log: Path) -> None:
    """Let all functions but init trap, and require that the host's own test fails then."""
    labels = {symbol for symbol, name in _symbols(prepared).items() if name != "init"}
    for artefact in prepared.artefacts:
        path = ours / trial.folder / prepared.order.host.place(artefact.file)
        text = path.read_text(encoding="utf-8")
        found = re.compile(rf"^({'|'.join(sorted(labels))}):$", re.MULTILINE)
        path.write_text(found.sub(rf"\1:\n{_TRAP}", text), encoding="utf-8")
        if not found.search(text):
            raise GhashgenError(f"{path.name} has no function to let trap", "report this")
    do(trial.make, ours, log)
    if ends_well(trial.watched, ours, log):
        raise GhashgenError(
            f"{trial.watched} passes although our functions trap: it does not call them",
            f"see {log}",
        )

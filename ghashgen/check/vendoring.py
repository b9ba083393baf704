"""Vendoring: puts proved kernels, and the files that they need, into another project's tree.

There are three steps, so that nothing is written before everything is known to be right: `prepare`
makes the files, `ghashgen.check.evidence` proves the kernels among them from their bytes, `write`
writes them with the record.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from ghashgen.check.evidence import Evidence, unprovable
from ghashgen.check.verdicts import sources_sha256
from ghashgen.choice.rule import RULE
from ghashgen.kernels.core import Point
from ghashgen.kernels.families import families
from ghashgen.kernels.manifest import Entry
from ghashgen.kernels.selection import catalogue
from ghashgen.kernels.target import OWN, Target
from ghashgen.output import layouts, vendored
from ghashgen.output.artefact import Artefact, manifest_entry, sha256
from ghashgen.output.dispatcher import render_all
from ghashgen.output.folder import require_writable
from ghashgen.output.folder import write as write_files
from ghashgen.output.generate import HEADER, header, made
from ghashgen.output.hosting import named, render_host
from ghashgen.output.hosts.core import BUILD_FILES, Host
from ghashgen.output.maker import LICENCE, Maker, maker
from ghashgen.output.render import command
from ghashgen.output.threads import render_threads
from ghashgen.output.vendored import Record
from ghashgen.support.errors import GhashgenError
from ghashgen.support.paths import project_root
from ghashgen.support.templates import environment
from ghashgen.support.toolchain import find_assembler

INTO = "--into"
"""The option that names the folder, for remedies."""


FATES = NEW, REWRITTEN, UNCHANGED, REMOVED = "new", "rewritten", "unchanged", "removed"
"""What becomes of a file."""

IDLE = f"no dispatcher: another kernel is taken on every CPU, {RULE}"
"""What is said of a kernel that its family's dispatcher never uses."""

GIVEN_TAG = "tag_length"
"""The role of a parameter that only functions with a given tag have."""


@dataclass(frozen=True)
class Order:
    """What to vendor, and for which target."""

    kernels: tuple[Point, ...]
    targets: tuple[Target, ...]
    """One for each object format."""
    host: Host
    options: tuple[str, ...]
    """The words of the command with these choices."""
    threads: bool = False
    unproved: bool = False
    """Whether to accept kernels that are not proved."""
    any_cpu: bool = False
    """Whether to write a dispatcher for a single kernel too, because it checks the CPU."""
    build_files: bool = True
    """Whether to write the host's build files."""

    @property
    def target(self) -> Target:
        """The target of the first format."""
        return self.targets[0]

    @property
    def elfs(self) -> tuple[Target, ...]:
        """The targets with ELF as their format, which is what is proved: one a convention."""
        fmt = self.kernels[0].instruction_set.arch.default_format
        return tuple({t.abi.name: replace(t, fmt=fmt) for t in self.targets}.values())

    def place(self, target: Target, file: str) -> str:
        """Return a kernel's path: several formats have a folder each."""
        above = f"{target.fmt.name}/" if len(self.targets) > 1 else ""
        return above + self.host.place(file)


@dataclass(frozen=True)
class Prepared:
    """The files of a folder, except the record, by path below it."""

    order: Order
    artefacts: tuple[Artefact, ...]
    """The kernels as ELF, once for each of `Order.elfs`: the prover reads no other format."""
    entries: tuple[Entry, ...]
    """In the order of the artefacts."""
    files: dict[str, str]
    callers: tuple[str, ...]
    """For each kernel the path of the dispatcher that calls it, or ""."""

    @property
    def idle(self) -> tuple[str, ...]:
        """Names of the kernels that their family's dispatcher never uses."""
        with_one = {e.family for e, file in zip(self.entries, self.callers, strict=True) if file}
        return tuple(
            dict.fromkeys(
                entry.name
                for entry, file in zip(self.entries, self.callers, strict=True)
                if not file and entry.family in with_one
            )
        )


def this_maker() -> Maker:
    """Return this version, including its prover."""
    return maker(sources_sha256())


def prepare(
    order: Order, into: Path, force: bool, on_done: Callable[[Point], None] = lambda kernel: None
) -> Prepared:
    """Make the files of an order and check that they may be written; write nothing.

    Raises:
        GhashgenError: the folder cannot be written, or holds a file that was edited or that no
            record lists; a kernel cannot be made; or one cannot be proved and the order does not
            accept that.
    """
    require_writable(into, INTO)
    if not order.unproved:
        for kernel in order.kernels:
            if why := unprovable(kernel):
                raise GhashgenError(why, "pass --unproved to take it anyway")
    in_c = order.host.assembled is None
    if order.threads and not in_c:
        raise GhashgenError(
            f"the thread pool is in C, and host {order.host.name} takes no C", "leave out --threads"
        )
    old = vendored.read(into)
    target = order.target
    tool = find_assembler(target.syntax.assembler)
    every = {one: made(order.kernels, one, tool, on_done) for one in order.targets}
    artefacts = tuple(
        a for elf in order.elfs for a in every.get(elf) or made(order.kernels, elf, tool)
    )
    entries = tuple(manifest_entry(artefact, tool) for artefact in artefacts)
    ordered = sorted(entries, key=lambda entry: entry.name)
    number = Counter(kernel.family for kernel in order.kernels)
    # With one kernel of a family, a dispatcher has nothing to choose, and only checks the CPU.
    several = [entry for entry in ordered if order.any_cpu or number[entry.family] > 1]
    portable = order.host.portable
    dispatchers = render_all(several, target.library, portable=portable) if several and in_c else {}
    files = {target.prefix + HEADER: header(ordered, target.library, vendored.NAME)} if in_c else {}
    files[target.library + layouts.SUFFIX] = layouts.dump(
        (entry, _paths(order, entry)) for entry in ordered
    )
    files |= dispatchers
    if order.threads:
        files |= render_threads(ordered, target.library, dispatchers)
    files[LICENCE] = _licence()
    if target.hidden:
        files = {name: _hidden(text) if name[-2:] == ".h" else text for name, text in files.items()}
    placed = {order.host.place(name): text for name, text in files.items()}
    kernels = (
        {order.place(t, a.file): a.text for t, found in every.items() for a in found}
        if order.host.assembled is None
        else {
            order.host.place(n): text for n, text in order.host.assembled(artefacts, tool).items()
        }
    )
    placed = kernels | placed
    placed |= render_host(
        order.host,
        tuple(placed),
        order.targets,
        order.kernels,
        threads=order.threads,
        build_files=order.build_files,
    )
    spare = named(order.host.build_files, target)
    vendored.require_own(into, old, placed, _stale(old, placed), force, spare)
    callers = tuple(
        _caller(entry, dispatchers, order.host) if in_c else order.host.caller for entry in entries
    )
    return Prepared(order, artefacts, entries, placed, callers)


def _paths(order: Order, entry: Entry) -> dict[str, str]:
    """Return a kernel's paths by object format, in its entry's convention."""
    return {
        t.fmt.name: order.place(t, entry.file) for t in order.targets if t.abi.name == entry.abi
    }


_LAST_INCLUDE = "#include <stdint.h>\n"


def _hidden(header: str) -> str:
    """Return a header whose functions a shared library keeps to itself."""
    only = ("#if defined(__ELF__) || defined(__APPLE__)", "#endif")
    push, pop = (
        "\n".join((only[0], f"#pragma GCC visibility {word}", only[1], ""))
        for word in ("push(hidden)", "pop")
    )
    before, include, after = header.partition(_LAST_INCLUDE)
    body, guard, _ = after.rpartition("#endif\n")
    return f"{before}{include}\n{push}{body}{pop}\n{guard}"


def _caller(entry: Entry, dispatchers: Mapping[str, str], host: Host) -> str:
    """Return the dispatcher's file that names a kernel's functions, or ""."""
    word = re.compile(rf"\b{entry.symbols['init']}\b")
    found = [name for name, text in dispatchers.items() if name[-2:] == ".c" and word.search(text)]
    return host.place(found[0]) if found else ""


def _licence() -> str:
    text = (project_root() / LICENCE).read_text(encoding="utf-8")
    return environment().get_template(f"{LICENCE}.j2").render(mit=text.rstrip())


def write(
    prepared: Prepared, evidence: Sequence[Evidence], into: Path, force: bool
) -> dict[str, str]:
    """Write the files and their record; remove files of an earlier run that are no longer needed.

    Return what became of each file (`fates`). With `force`, edited files are overwritten. If the
    record was edited, it is ignored, and nothing that it lists is removed.

    Raises:
        GhashgenError: a file was edited meanwhile, or cannot be written; nothing is written then.
    """
    old = vendored.read(into)
    vendored.require_own(into, old, prepared.files, _stale(old, prepared.files), force)
    hashes = {name: sha256(text.encode()) for name, text in prepared.files.items()}
    order = prepared.order
    record = Record(this_maker(), order.host.name, order.options, hashes)
    # Moved last, so that after an interruption the folder does not match its record.
    files = {**prepared.files, vendored.NAME: vendored.dump(record, _said(prepared, evidence))}
    found = fates(files, into)
    if set(found.values()) != {UNCHANGED}:
        write_files(into, files, _stale(old, prepared.files), INTO)
    return found


def fates(files: Mapping[str, str], into: Path) -> dict[str, str]:
    """Return what becomes of each file of a folder: new, rewritten, unchanged or removed."""
    stale = _stale(vendored.read(into), files)
    return {
        **{name: _fate(into / name, text) for name, text in files.items()},
        **{name: REMOVED for name in stale if (into / name).exists()},
    }


def _stale(old: Record | None, files: Iterable[str]) -> tuple[str, ...]:
    return tuple(sorted(old.files.keys() - {*files})) if old is not None and old.whole else ()


def _fate(path: Path, text: str) -> str:
    if not path.exists():
        return NEW
    return UNCHANGED if path.read_bytes() == text.encode() else REWRITTEN


def _said(prepared: Prepared, evidence: Sequence[Evidence]) -> str:
    order, target = prepared.order, prepared.order.target
    of_host = named({**order.host.files, **order.host.build_files}, target)
    items = [
        {
            "entry": entry,
            "line": families()[entry.family].line(entry.axes),
            "file": ", ".join((paths := _paths(order, entry)).values()),
            "elf": artefact.target.fmt.name in paths and order.host.assembled is None,
            "symbols": _symbols(entry),
            "caller": caller or (IDLE if entry.name in prepared.idle else ""),
            "evidence": known,
            "again": _command("prove", artefact.kernel, artefact.target),
            "object": _of_an_object(artefact.kernel, artefact.target),
        }
        for artefact, entry, caller, known in zip(
            prepared.artefacts, prepared.entries, prepared.callers, evidence, strict=True
        )
    ]
    return (
        environment()
        .get_template(f"{vendored.NAME}.j2")
        .render(
            maker=this_maker(),
            build=order.host.build(sorted(prepared.files.keys() - of_host.keys()), order.targets),
            several=len(order.targets) > 1,
            build_files=order.build_files and order.host.build_files == BUILD_FILES,
            threads=order.threads,
            assembled=order.host.assembled is not None,
            library=target.library,
            kernels=items,
            proved=any(not known.refused for known in evidence),
            recorded=next((known.record for known in evidence if known.record), ""),
            elf=order.host.assembled is None and any(each.fmt.elf for each in order.targets),
            others=[each.fmt.name for each in order.targets if not each.fmt.elf],
            compares=_compares(prepared.entries),
            wipe=any(getattr(kernel, "wipe", False) for kernel in order.kernels),
            sources=sorted(name for name in prepared.files if name.endswith(".c")),
        )
    )


def _symbols(entry: Entry) -> str:
    """Return a kernel's symbols in words."""
    own = all(symbol == f"{entry.base}_{name}" for name, symbol in entry.symbols.items())
    listed = ", ".join(entry.symbols if own else entry.symbols.values())
    return f"{entry.base}_{{ {listed} }}" if own else listed


def _compares(entries: Iterable[Entry]) -> list[str]:
    """Return the functions that compare a tag with a given one; their time may reveal whether they
    match.
    """
    return list(
        dict.fromkeys(
            name
            for entry in entries
            for name, function in families()[entry.family].functions().items()
            if name in entry.symbols and GIVEN_TAG in function.roles
        )
    )


def _command(verb: str, kernel: Point, target: Target) -> str:
    """Return a verb's command line for a kernel, by its name if it is in the catalogue."""
    words = command(verb, kernel, target)
    if kernel not in catalogue():
        return words
    chosen = len(command(verb, kernel, Target()).split())
    rest = words.split()[chosen:]
    return " ".join([f"ghashgen {verb} --name {kernel.name}", *rest])


def _of_an_object(kernel: Point, target: Target) -> str:
    """Return the command that proves the user's object to be this kernel."""
    plain = replace(target, syntax=Target().syntax, prefix="", backend=OWN)
    words = _command("prove-object NAME.o", kernel, plain)
    return f"{words} --symbol {target.symbol(kernel.name)}" if target.prefix else words

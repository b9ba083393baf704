"""Writes kernels to an output folder: all of them or none.

Everything is made first (compiled, rendered, assembled, audited), then written (`output.folder`).
Files that were edited by hand are not overwritten.
"""

import difflib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from ghashgen.arch.registry import arches
from ghashgen.choice.chosen import Chosen
from ghashgen.kernels import manifest
from ghashgen.kernels.core import Function, Point
from ghashgen.kernels.families import families, functions_of, in_order
from ghashgen.kernels.target import Target
from ghashgen.output.artefact import Artefact, make, manifest_entry, sha256
from ghashgen.output.dispatcher import every_name, render_all
from ghashgen.output.folder import require_no_folders, require_writable, write
from ghashgen.output.threads import SUFFIXES, render_threads
from ghashgen.support.errors import GhashgenError
from ghashgen.support.parallel import run
from ghashgen.support.templates import environment
from ghashgen.support.toolchain import Tool, find_assembler

HEADER = "ghashgen.h"
"""The header's name, without a prefix."""

OTHERS = {"PROOFS.json"}
"""Files of the checked-in folder that other verbs write."""


@dataclass(frozen=True)
class Output:
    """A folder's files by path, and the artefacts that they come from."""

    files: dict[str, str]
    artefacts: tuple[Artefact, ...]
    stale: tuple[str, ...]
    """Files of the old manifest that the new one lacks."""
    prefix: str = ""


def _make(target: Target, assembler: Tool, kernel: Point) -> Artefact:
    return make(kernel, target, assembler)


def produce(
    kernels: Sequence[Point],
    target: Target,
    old: dict[str, manifest.Entry],
    whole: bool,
    on_done: Callable[[Point], None] = lambda kernel: None,
    chosen: Chosen | None = None,
    threads: bool = False,
) -> Output:
    """Make every kernel; if `whole`, entries of `old` that are not made again are stale.

    The dispatcher's order comes from the records or from `chosen`; `threads` adds the thread pool.
    """
    assembler = find_assembler(target.syntax.assembler)
    artefacts = made(kernels, target, assembler, on_done)
    fresh = {a.kernel.name: manifest_entry(a, assembler) for a in artefacts}
    fresh = {name: _keep_assembler(entry, old.get(name)) for name, entry in fresh.items()}
    entries = fresh if whole else {**old, **fresh}
    ordered = [entries[name] for name in sorted(entries)]
    files = {a.file: a.text for a in artefacts}
    dispatchers = render_all(ordered, target.library, chosen)
    beside = {target.prefix + HEADER: header(ordered, target.library), **dispatchers}
    if threads:
        beside |= render_threads(ordered, target.library, dispatchers)
    files |= beside
    hashes = {name: sha256(text.encode()) for name, text in beside.items()}
    files[manifest.NAME] = manifest.dump(ordered, hashes)
    kept = {entry.file for entry in ordered}
    made_before = {entry.file for entry in old.values()}
    for prefix in {entry.prefix for entry in old.values()}:
        made_before |= {prefix + name for name in (HEADER, *every_name())}
    stale = tuple(sorted(made_before - kept - beside.keys()))
    return Output(files, artefacts, stale, target.prefix)


def made(
    kernels: Sequence[Point],
    target: Target,
    assembler: Tool,
    on_done: Callable[[Point], None] = lambda kernel: None,
) -> tuple[Artefact, ...]:
    """Make every kernel in parallel; return them in order.

    Raises:
        GhashgenError: as `output.artefact.make`.
    """
    return tuple(run(partial(_make, target, assembler), kernels, on_done))


def header(entries: Sequence[manifest.Entry], library: str, record: str = manifest.NAME) -> str:
    """Return the text of these kernels' header; `record` names the file with more details.

    A kernel in several conventions has an entry in each, and is declared once.
    """
    abis: dict[str, str] = {}
    for entry in entries:
        abis[entry.name] = f"{abis[entry.name]} or {entry.abi}" if entry.name in abis else entry.abi
    entries = [*{entry.name: entry for entry in reversed(entries)}.values()][::-1]
    return (
        environment()
        .get_template(f"{HEADER}.j2")
        .render(
            entries=entries,
            abis=abis,
            notes=_notes(entries),
            cpuid=_cpuid(entries),
            families=families(),
            functions_of=_functions,
            library=library,
            record=record,
        )
    )


def _functions(entry: manifest.Entry) -> Mapping[str, Function[Any]]:
    """Return the functions of a kernel; of one that this version no longer has, its family's."""
    try:
        return functions_of(entry.kernel)
    except GhashgenError:
        return families()[entry.family].functions()


def _cpuid(entries: Sequence[manifest.Entry]) -> dict[str, str]:
    """Return where CPUID has the features that these kernels need."""
    needed = {feature for entry in entries for feature in entry.cpu_features}
    every = {name: at for arch in arches().values() for name, at in arch.cpuid.items()}
    return {name: at for name, at in every.items() if name in needed}


def _notes(entries: Sequence[manifest.Entry]) -> list[str]:
    """Return the header's notes on its kernels, by family."""
    lines: list[str] = []
    for family in in_order():
        if own := [entry.axes for entry in entries if entry.family == family.name]:
            lines += ["", *family.notes(own)] if lines else family.notes(own)
    return lines


def _keep_assembler(entry: manifest.Entry, old: manifest.Entry | None) -> manifest.Entry:
    """Keep the recorded nasm version if another version made the same bytes."""
    same = old is not None and old.object.text_sha256 == entry.object.text_sha256
    return entry.by(old.object.assembler) if old is not None and same else entry


def generate(
    kernels: Sequence[Point],
    target: Target,
    out: Path,
    *,
    whole: bool = False,
    force: bool = False,
    on_done: Callable[[Point], None] = lambda kernel: None,
    chosen: Chosen | None = None,
    threads: bool = False,
) -> Output:
    """Make the kernels and write them to `out`; `chosen` sets the dispatcher's order.

    `threads` adds the thread pool; a folder that has it keeps it.

    Raises:
        GhashgenError: the folder is not writable, a file was edited by hand, or a tool is missing;
            nothing is written then.
    """
    require_writable(out, "--out")
    old = manifest.load(out)
    if not whole:
        _refuse_another_prefix(out, old, target)
    if not force:
        _refuse_edited(out, old)
    threads = threads or any(target.library + s in manifest.companions(out) for s in SUFFIXES)
    output = produce(kernels, target, old, whole, on_done, chosen, threads)
    # Other files beside the kernels that an earlier version emitted.
    gone = sorted(manifest.companions(out).keys() - output.files.keys())
    output = replace(output, stale=(*output.stale, *gone))
    require_no_folders(out, (*output.files, *output.stale))
    if not force:
        _refuse_unknown(out, old, output)
    write(out, output.files, output.stale, "--out")
    return output


def _refuse_another_prefix(out: Path, old: dict[str, manifest.Entry], target: Target) -> None:
    """Refuse a second prefix: a folder is one library with one header and one dispatcher."""
    for prefix in sorted({entry.prefix for entry in old.values()} - {target.prefix}):
        raise GhashgenError(
            f"{out} holds kernels with {f'the prefix {prefix!r}' if prefix else 'no prefix'}",
            "choose another --out",
        )


def _refuse_edited(out: Path, old: dict[str, manifest.Entry]) -> None:
    emitted = {entry.file: entry.sha256 for entry in old.values()}
    emitted |= manifest.companions(out)
    for name, digest in emitted.items():
        path = out / name
        if path.is_file() and sha256(path.read_bytes()) != digest:
            raise GhashgenError(
                f"{path} was edited by hand: it differs from {manifest.NAME}",
                "move the change to the generator, or pass --force to overwrite it",
            )


def _refuse_unknown(out: Path, old: dict[str, manifest.Entry], output: Output) -> None:
    """Refuse to overwrite a file that no manifest lists."""
    vouched = {entry.file for entry in old.values()} | {manifest.NAME}
    vouched |= {output.prefix + name for name in (HEADER, *every_name())}
    vouched |= manifest.companions(out).keys()
    for name, text in output.files.items():
        path = out / name
        if name not in vouched and path.exists() and path.read_text(encoding="utf-8") != text:
            raise GhashgenError(
                f"{path} exists and {manifest.NAME} does not list it",
                "move it away, or pass --force to overwrite it",
            )


def differences(
    kernels: Sequence[Point],
    target: Target,
    out: Path,
    on_done: Callable[[Point], None] = lambda kernel: None,
) -> list[str]:
    """Regenerate everything and return how the folder differs, one line for each file."""
    output = produce(kernels, target, {}, True, on_done)
    lines = []
    present = {str(path.relative_to(out)) for path in sorted(out.rglob("*")) if path.is_file()}
    present -= OTHERS
    for name in sorted(present - output.files.keys()):
        lines.append(f"{name}: not emitted by this version")
    for name, text in sorted(output.files.items()):
        path = out / name
        if not path.exists():
            lines.append(f"{name}: missing")
        elif (found := path.read_text(encoding="utf-8")) != text:
            if name == manifest.NAME and manifest.same(found, text):
                continue
            lines.append(f"{name}: {_first_difference(found, text)}")
    return lines


def _first_difference(found: str, wanted: str) -> str:
    diff = difflib.unified_diff(found.splitlines(), wanted.splitlines(), lineterm="", n=0)
    changed = [line for line in diff if line[:1] in "+-" and line[:3] not in ("+++", "---")]
    return f"{len(changed)} lines differ, first: {changed[0].strip()}"

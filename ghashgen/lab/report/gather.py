"""Gathers the report's data: manifest, objects, proofs and a measurement become one value."""

import os
from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path

from ghashgen.arch.registry import uarches
from ghashgen.check.ledger import NAME as PROOFS
from ghashgen.check.ledger import load as load_proofs
from ghashgen.check.verdicts import Verdict
from ghashgen.kernels import manifest
from ghashgen.kernels.core import Point
from ghashgen.kernels.target import target
from ghashgen.lab.report.bounds import examine
from ghashgen.lab.report.data import Examined, Report, Speed, Theorem, Variant
from ghashgen.lab.report.families.hash import TOPIC as HASH
from ghashgen.lab.report.speed import read, speeds
from ghashgen.lab.report.topics import Topic
from ghashgen.lab.standing import standings
from ghashgen.records.records import folder_of, load_records
from ghashgen.support.errors import GhashgenError
from ghashgen.support.paths import GENERATED, in_clone, project_root
from ghashgen.support.toolchain import find_assembler
from ghashgen.support.wording import counted, first_of

Progress = Callable[[str, int], AbstractContextManager[Callable[[object], None]]]
"""Opens a progress bar, given its title and number of items; yields the function to call after each
item.
"""


def _silent(what: str, total: int) -> AbstractContextManager[Callable[[object], None]]:
    return nullcontext(lambda item: None)


@dataclass(frozen=True)
class Sources:
    """Where the data are."""

    root: Path
    """Paths are shown relative to this."""
    kernels: Path
    """A folder with MANIFEST.json, and PROOFS.json if there are proofs."""
    objects: Path
    """The folder of assembled objects."""
    bench: tuple[Path, ...]
    """Measurements, one for each CPU; usually the records."""
    session: int | None = None
    """The session of a store; the last by default."""
    topic: Topic = HASH


def shown(path: Path, root: Path) -> str:
    """Return a path as shown on the page: relative if below the project, else its name."""
    resolved = path.resolve()
    return (
        resolved.relative_to(root.resolve()).as_posix()
        if resolved.is_relative_to(root.resolve())
        else path.name
    )


def gather(sources: Sources, progress: Progress = _silent) -> Report:
    """Gather everything.

    What is missing or stale becomes a note of the report.

    Raises:
        GhashgenError: there is no manifest, a kernel was edited by hand, or a file is malformed.
    """
    found = manifest.read(sources.kernels)
    own = [entry for entry in found.kernels if entry.family == sources.topic.name] if found else []
    if found is None:
        raise GhashgenError(f"{sources.kernels} has no {manifest.NAME}", "run ghashgen generate")
    if not own:
        title = sources.topic.title
        raise GhashgenError(f"{sources.kernels} has no {title} kernel", "run ghashgen generate")
    ordered = sorted(own, key=lambda entry: entry.name)
    # First, because a file that is no measurement is refused at once then.
    measured = tuple(_speeds(sources, ordered))
    examined, why = _examined(ordered, sources, progress)
    proofs, proofs_why = _proofs_beside(sources.kernels, examined)
    variants = tuple(
        _variant(entry, examined.get(entry.name), proofs.get(entry.name)) for entry in ordered
    )
    return Report(
        topic=sources.topic,
        generator=found.generator,
        assemblers=tuple(sorted({entry.object.assembler for entry in ordered})),
        folder=shown(sources.kernels, sources.root),
        variants=variants,
        uarches={uarch.name: uarch.title for uarch in uarches().values()},
        ports={uarch.name: uarch.ports for uarch in uarches().values()},
        speeds=measured,
        notes=tuple(_notes(variants, measured, why, proofs_why)),
    )


def _speeds(sources: Sources, entries: list[manifest.Entry]) -> Iterable[Speed]:
    """Yield the measurements; which kernel to take, records that are not shown decide too."""
    found = [read(path, shown(path, sources.root), sources.session) for path in sources.bench]
    records = [source.record for source in found]
    slugs = {record.slug for record in records}
    kept = load_records(project_root() / folder_of(sources.topic.name)) if found else ()
    records += [record for record in kept if record.slug not in slugs]
    for source, one in zip(found, standings(records, entries, sources.topic.name), strict=False):
        yield from speeds(source, one, sources.topic)


def kernel_of(entry: manifest.Entry) -> Point:
    """Return the kernel of a manifest entry.

    Raises:
        GhashgenError: its functions are not named after it, as with --prefix.
    """
    if entry.prefix:
        raise GhashgenError(
            f"the functions of {entry.name} have a prefix",
            "report on a folder generated without one",
        )
    return entry.kernel


def _examined(
    entries: list[manifest.Entry], sources: Sources, progress: Progress
) -> tuple[Mapping[str, Examined], str]:
    """Return what the objects tell by kernel, or why there are none."""
    try:
        find_assembler(target().syntax.assembler)
    except GhashgenError as refusal:
        return {}, str(refusal)
    found: dict[str, Examined] = {}
    with progress("assemble and examine", len(entries)) as advance:
        for abi in sorted({entry.abi for entry in entries}):
            own = [(kernel_of(entry), entry) for entry in entries if entry.abi == abi]
            found |= examine(own, target(abi), sources.kernels, sources.objects, advance)
    return found, ""


def _proofs_beside(
    kernels: Path, examined: Mapping[str, Examined]
) -> tuple[dict[str, Verdict], str]:
    """Return the verdicts for a folder of kernels by kernel, and why there are none."""
    if (kernels / PROOFS).exists() or in_clone():
        return _proofs(kernels / PROOFS)
    # A wheel contains the catalogue's proofs; they are only of use if compared with the bytes.
    found, why = _proofs(project_root() / GENERATED / PROOFS)
    return {name: verdict for name, verdict in found.items() if name in examined}, why


def _proofs(path: Path) -> tuple[dict[str, Verdict], str]:
    """Return the verdicts by kernel, and why there are none."""
    if not path.exists():
        return {}, f"There is no {path.name}: nothing is recorded as proved."
    return {verdict.kernel: verdict for verdict in load_proofs(path)}, ""


def _theorems(verdict: Verdict) -> Iterable[Theorem]:
    for function in verdict.functions:
        for theorem in function.theorems:
            yield Theorem(function.operation, theorem.what, theorem.lengths, theorem.method)


def _state(examined: Examined | None, verdict: Verdict | None) -> str:
    if verdict is None:
        return "missing"
    if examined is not None and verdict.code_sha256 != examined.image_sha256:
        return "stale"
    if not verdict.proved:
        return "refuted"
    return "recorded" if examined is None else "proved"


def _variant(entry: manifest.Entry, examined: Examined | None, verdict: Verdict | None) -> Variant:
    state, group = _state(examined, verdict), entry.counts.group
    counted = state in ("proved", "recorded") and verdict is not None
    return Variant(
        name=entry.name,
        axes=entry.axes,
        file=entry.file,
        features=entry.cpu_features,
        blocks=int(entry.axes["blocks"]),
        table_bytes=entry.table.bytes,
        code_bytes=sum(entry.code_bytes.values()),
        instructions=group.instructions,
        classes=dict(group.classes),
        theorems=tuple(_theorems(verdict)) if counted and verdict is not None else (),
        proof=state,
        examined=examined,
    )


def _notes(
    variants: tuple[Variant, ...], speeds: tuple[Speed, ...], unexamined: str, unproved: str
) -> Iterable[str]:
    if unexamined:
        yield (
            f"No port bounds, and proofs not compared with the bytes, since nothing could be "
            f"assembled: {unexamined}."
        )
    if unproved:
        yield f"{unproved} Run ghashgen prove --write."
    else:
        yield from _proof_notes(variants)
    if not speeds:
        yield "No measurement: run ghashgen bench --record."
    digests = {v.name: v.examined.text_sha256 for v in variants if v.examined}
    for speed in speeds:
        other = {
            t.name
            for t in speed.timings
            if t.digest and digests.get(t.name, "") not in ("", t.digest)
        }
        if other and not unexamined:
            yield (
                f"{speed.title}: {counted(len(other), 'kernel')} measured as other bytes than "
                f"those here ({first_of(sorted(other), 3)}): measure again, with ghashgen bench."
            )
        if not speed.spread:
            yield (
                f"{speed.title}: {speed.source} holds figures without spread and without a hash of "
                "what was measured."
            )


def _proof_notes(variants: tuple[Variant, ...]) -> Iterable[str]:
    sentences = {
        "stale": "proved as other bytes than those here",
        "missing": "without a recorded proof",
        "refuted": "refuted",
    }
    for state, sentence in sentences.items():
        names = {variant.name for variant in variants if variant.proof == state}
        if names:
            kernels = counted(len(names), "kernel")
            yield f"{kernels} {sentence} ({first_of(sorted(names), 3)}): ghashgen prove --write."


def relative(path: Path, start: Path) -> str:
    """Return the link from a page in folder `start` to a path."""
    return Path(os.path.relpath(path.resolve(), start.resolve())).as_posix()

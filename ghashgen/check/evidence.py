"""What is known of the kernels of a vendored folder: what is proved of each, or why nothing is.

A proof that PROOFS.json records for the same object is used again (`ghashgen.check.recorded`).
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from ghashgen.arch.elf import read_elf
from ghashgen.check import ledger, proofs, ranges, recorded
from ghashgen.check.recorded import Recorded
from ghashgen.check.verdicts import Verdict
from ghashgen.kernels.core import Point
from ghashgen.kernels.selection import catalogue
from ghashgen.output.artefact import Artefact, sha256
from ghashgen.run.built import Built, build_made
from ghashgen.support.errors import GhashgenError
from ghashgen.support.paths import cache_folder, project_root
from ghashgen.verify.report import shown
from ghashgen.verify.theorems import FunctionProof


@dataclass(frozen=True)
class Evidence:
    """What is known of one kernel: what is proved, line by line, or why it is not."""

    lines: tuple[str, ...]
    refused: str = ""
    constants: str = ""
    """SHA-256 of .rodata of the proved object, "" if it has none."""
    record: str = ""
    """SHA-256 of the PROOFS.json that records the proof; "" if it was proved for this folder."""


Key = tuple[Point, str]
"""A kernel and its calling convention."""


def _key(built: Built[Point]) -> Key:
    return built.kernel, built.abi


@dataclass(frozen=True)
class Plan:
    """The objects of a folder's kernels, and which of their proofs are on record."""

    artefacts: tuple[Artefact, ...]
    built: tuple[Built[Point], ...]
    """Those that the prover can handle."""
    on_record: Mapping[Key, Verdict]
    record: Recorded
    fresh: bool
    """Whether nothing that was proved before counts."""

    @property
    def unrecorded(self) -> tuple[Built[Point], ...]:
        """Those without a recorded proof."""
        return tuple(each for each in self.built if _key(each) not in self.on_record)


def unprovable(kernel: Point) -> str:
    """Return why the prover cannot handle a kernel, or ""."""
    try:
        proofs.require_provable((kernel,))
    except GhashgenError as refusal:
        return refusal.cause
    return ""


def plan(artefacts: tuple[Artefact, ...], reprove: bool) -> Plan:
    """Assemble the kernels, made as ELF in one or more conventions, and look up the proofs.

    With `reprove`, no recorded proof and no cached verdict or certificate counts.
    """
    able = [a for a in artefacts if not unprovable(a.kernel)]
    targets = {artefact.target.abi.name: artefact.target for artefact in able}
    built = tuple(
        each
        for abi, target in targets.items()
        for each in build_made(
            [a for a in able if a.target.abi.name == abi],
            *(target, cache_folder() / "obj"),
            fresh=reprove,
        )
    )
    record = Recorded({}) if reprove else recorded.read()
    return Plan(artefacts, built, _on_record(record, built), record, reprove)


def _on_record(record: Recorded, built: Iterable[Built[Point]]) -> dict[Key, Verdict]:
    found = {_key(each): recorded.covering(record, each) for each in built}
    return {key: verdict for key, verdict in found.items() if verdict is not None}


def of_objects(planned: Plan, objects: Mapping[str, Path]) -> Plan:
    """Return the plan for other objects of the same kernels, by kernel, such as a host's build has.

    Their code must be that of the artefacts; `prove` refuses others.
    """
    built = tuple(replace(each, obj=objects[each.name]) for each in planned.built)
    return replace(planned, built=built, on_record=_on_record(planned.record, built))


def prove(
    planned: Plan, unproved: bool, on_done: Callable[[object], None] = lambda built: None
) -> tuple[Evidence, ...]:
    """Prove every kernel from the bytes of its file, unless that proof is on record.

    Raises:
        GhashgenError: a kernel is not proved, and `unproved` does not accept that.
    """
    todo, cache = planned.unrecorded, cache_folder()
    proved = (
        proofs.prove(todo, cache / "proofs", cache / "certificates", on_done, planned.fresh)
        if todo
        else None
    )
    verdicts = dict(zip(map(_key, todo), proved.verdicts if proved else (), strict=True))
    constants = {_key(each): _constants(each.obj.read_bytes()) for each in planned.built}
    keys = [(artefact.kernel, artefact.target.abi.name) for artefact in planned.artefacts]
    found = tuple(
        replace(
            _evidence(a, planned.on_record.get(key) or verdicts.get(key)),
            constants=constants.get(key, ""),
            record=planned.record.sha256 if key in planned.on_record else "",
        )
        for a, key in zip(planned.artefacts, keys, strict=True)
    )
    if not unproved:
        _require_proved(planned.artefacts, found)
    return found


def _require_proved(artefacts: Sequence[Artefact], found: Sequence[Evidence]) -> None:
    for artefact, evidence in zip(artefacts, found, strict=True):
        if evidence.refused:
            raise GhashgenError(
                f"{artefact.kernel.name} is not proved: {evidence.refused}",
                "choose another kernel; nothing was written",
            )


def _constants(obj: bytes) -> str:
    elf = read_elf(obj)
    index = elf.named(".rodata")
    return "" if index is None else sha256(elf.sections[index].content)


def _evidence(artefact: Artefact, verdict: Verdict | None) -> Evidence:
    if verdict is None:
        return Evidence((), unprovable(artefact.kernel))
    if verdict.text_sha256 != sha256(artefact.code):
        return Evidence((), "the object that was proved has other code than the file")
    if not verdict.proved:
        why = verdict.refutation or {}
        said = [why.get("category"), why.get("symbol"), why.get("message")]
        return Evidence((), ": ".join(str(each) for each in said if each))
    names = [kernel.name for kernel in catalogue()]
    expected = project_root() / ledger.EXPECTED
    if differ := ledger.mismatches([verdict], expected, names, whole=False):
        return Evidence((), f"{differ[0].report().splitlines()[0]} ({ledger.EXPECTED})")
    if other := ranges.others([verdict], project_root() / ranges.EXPECTED):
        return Evidence((), other[0])
    base = f"{artefact.target.symbol(artefact.kernel.name)}_"
    return Evidence(tuple(line for each in verdict.functions for line in _lines(each, base)))


def _lines(function: FunctionProof, base: str) -> Iterable[str]:
    """Yield what is proved of a function: theorems, and the method for each range of lengths."""
    ranges: dict[str, list[str]] = {}
    for theorem in function.theorems:
        ranges.setdefault(shown(theorem), []).append(theorem.what)
    alike: dict[str, list[str]] = {}
    for known, whats in ranges.items():
        alike.setdefault(" ".join(whats), []).append(known)
    for theorems, parts in alike.items():
        yield f"{function.symbol.removeprefix(base)}: {theorems}"
        yield from (f"  {part}" for part in parts)

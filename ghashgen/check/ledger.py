"""PROOFS.json, the record of what is proved, and `EXPECTED`, the hand-kept list of what must be.

The record names every theorem and the bytes that it is about. It contains its own hash, so an
edited or truncated record is not read. An attacker can compute that hash too; `ghashgen prove`
detects this, because it compares the record with what it has proved.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import msgspec

from ghashgen.check.claims.registry import claims
from ghashgen.check.verdicts import Verdict
from ghashgen.kernels.families import in_order
from ghashgen.kernels.manifest import Entry
from ghashgen.output.artefact import sha256
from ghashgen.support.documents import Document
from ghashgen.support.errors import GhashgenError
from ghashgen.verify.theorems import THEOREMS, FunctionProof

NAME = "PROOFS.json"
EXPECTED = Path("docs") / "expected-theorems.txt"
WRITE = "run ghashgen prove --write"


class _Record(msgspec.Struct, frozen=True):
    sha256: str
    proofs: tuple[Verdict, ...]


_FILE = Document(_Record, "is no list of proofs", WRITE)


COSTS = ("seconds", "instructions")
"""What a proof took, which depends on the machine and on its certificates."""


def as_data(verdicts: Iterable[Verdict]) -> Any:
    """Return verdicts as data, in the given order."""
    kept = [msgspec.structs.replace(verdict, report="") for verdict in verdicts]
    return json.loads(msgspec.json.encode(kept))


def recorded(verdicts: Iterable[Verdict]) -> Any:
    """Return what a record says of verdicts: all but what they cost."""
    return _costless(as_data(verdicts))


def _costless(item: Any) -> Any:
    if isinstance(item, dict):
        return {key: _costless(value) for key, value in item.items() if key not in COSTS}
    return [_costless(value) for value in item] if isinstance(item, list) else item


def _seal(proofs: Any) -> str:
    return sha256(json.dumps(proofs, ensure_ascii=False, sort_keys=True).encode())


def dump(verdicts: Iterable[Verdict]) -> str:
    """Return the text of PROOFS.json."""
    proofs = recorded(sorted(verdicts, key=lambda verdict: verdict.kernel))
    body = {"sha256": _seal(proofs), "proofs": proofs}
    return json.dumps(body, indent=1, ensure_ascii=False) + "\n"


def load(path: Path) -> tuple[Verdict, ...]:
    """Read PROOFS.json.

    Raises:
        GhashgenError: it is missing, is not a record, or was changed.
    """
    return _loaded(path, _FILE.content_of(path))


@lru_cache(maxsize=4)
def _loaded(path: Path, data: bytes) -> tuple[Verdict, ...]:
    record = _FILE.parse(data, str(path))
    # The hash covers everything in the file, also what is not read.
    if record.sha256 != _seal(json.loads(data)["proofs"]):
        raise GhashgenError(f"{path} was changed: its hash differs", WRITE)
    return record.proofs


def require_fresh(path: Path, verdicts: Iterable[Verdict], entries: Mapping[str, Entry]) -> None:
    """Refuse a record whose kernels or code differ from the manifest's.

    Raises:
        GhashgenError: a kernel is in only one of them, or its code has another hash.
    """
    about = {verdict.kernel: verdict.text_sha256 for verdict in verdicts}
    _refuse_others(path, about, entries, about.keys() | entries.keys())


def unrecorded(
    path: Path, verdicts: Iterable[Verdict], entries: Mapping[str, Entry]
) -> tuple[str, ...]:
    """Return the names of the manifest's kernels that the record lacks.

    No proof of these is recorded; whoever shows the record must say so.

    Raises:
        GhashgenError: a recorded kernel is not listed, or its code has another hash.
    """
    about = {verdict.kernel: verdict.text_sha256 for verdict in verdicts}
    _refuse_others(path, about, entries, about.keys())
    return tuple(sorted(entries.keys() - about.keys()))


def _refuse_others(
    path: Path, about: Mapping[str, str], entries: Mapping[str, Entry], names: Iterable[str]
) -> None:
    """Refuse if record and manifest disagree about the code of one of these names."""
    listed = {name: entry.object.text_sha256 for name, entry in entries.items()}
    if other := sorted(name for name in names if about.get(name) != listed.get(name)):
        raise GhashgenError(
            f"{path} and MANIFEST.json disagree about the code of {some(other)}: not proved", WRITE
        )


def require_same(path: Path, verdicts: Iterable[Verdict]) -> None:
    """Refuse a record that differs from these verdicts.

    Raises:
        GhashgenError: they differ, or `load` refuses the file.
    """
    then, now = (
        {proof["kernel"]: proof for proof in recorded(found)} for found in (load(path), verdicts)
    )
    names = then.keys() | now.keys()
    if other := sorted(name for name in names if then.get(name) != now.get(name)):
        raise GhashgenError(f"{path} differs from what was proved now, for {some(other)}", WRITE)


def some(names: Sequence[str]) -> str:
    """Return one name, or the number of names and the first."""
    return f"{len(names)} kernels, first {names[0]}" if len(names) > 1 else names[0]


def theorems(verdicts: Iterable[Verdict]) -> set[str]:
    """Return what was proved, one line for each kernel, function and theorem."""
    return {
        f"{verdict.kernel} {_name(verdict, function)} {theorem.what}"
        for verdict in verdicts
        if verdict.proved
        for function in verdict.functions
        for theorem in function.theorems
    }


def _name(verdict: Verdict, function: FunctionProof) -> str:
    """Return a function's name: its symbol without the kernel's name and prefix."""
    return function.symbol.rpartition(f"{verdict.kernel}_")[2]


@dataclass(frozen=True)
class _Line:
    text: str
    kernel: str
    theorems: frozenset[str]


def kept_lines(path: Path) -> Iterator[tuple[int, str, str]]:
    """Yield the lines of a hand-kept list that say something: number, whole, without a comment.

    Raises:
        GhashgenError: the file is missing.
    """
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except OSError as error:
        raise GhashgenError(f"{path}: {error.strerror}", "restore it from the repository") from None
    for number, line in enumerate(lines, 1):
        if text := line.partition("#")[0].strip():
            yield number, line, text


def _lines(path: Path) -> list[_Line]:
    """Read the hand-kept list, with lines `kernel: function function … = theorem theorem …`.

    Raises:
        GhashgenError: the file is missing or a line is invalid.
    """
    out = []
    for number, line, text in kept_lines(path):
        kernel, colon, rest = text.partition(":")
        functions, equals, whats = rest.partition("=")
        if not (colon and equals and functions.split() and whats.split()):
            raise GhashgenError(
                f"{path}:{number}: invalid line {line!r}", "write kernel: functions = theorems"
            )
        named = {f"{kernel} {f} {what}" for f in functions.split() for what in whats.split()}
        out.append(_Line(line, kernel, frozenset(named)))
    return out


def functions_listed(path: Path) -> dict[str, set[str]]:
    """Return the functions of each kernel in the hand-kept list.

    Raises:
        GhashgenError: the file is missing or a line is invalid.
    """
    out: dict[str, set[str]] = {}
    for line in _lines(path):
        out.setdefault(line.kernel, set()).update(item.split()[1] for item in line.theorems)
    return out


@dataclass(frozen=True)
class Mismatch:
    """A kernel for which the list and the proofs differ."""

    kernel: str
    lost: tuple[str, ...]
    """Listed and not proved, as lines of the list."""
    new: tuple[str, ...]
    """Proved and not listed."""
    take_out: tuple[str, ...]
    """Lines of the list about this kernel that the lines of `add` would replace."""
    add: tuple[str, ...]

    def report(self) -> str:
        """Return both sides in words, and the lines that would make the list agree."""
        said = [f"listed and not proved: {item}" for item in self.lost]
        said += [f"proved and not listed: {item}" for item in self.new]
        take_out = [f"  - {line}" for line in self.take_out if line not in self.add]
        add = [f"  + {line}" for line in self.add if line not in self.take_out]
        return "\n".join([*said, *take_out, *add])


def mismatches(
    verdicts: Sequence[Verdict], path: Path, catalogue: Iterable[str], whole: bool
) -> list[Mismatch]:
    """Return where the list and the verdicts differ, by kernel.

    Only the kernels of this run are compared. Kernels outside the catalogue need not be listed.
    Only a run of the `whole` catalogue finds lines about kernels that do not exist.
    """
    lines = _lines(path)
    listed = {line.kernel for line in lines}
    given = {verdict.kernel for verdict in verdicts}
    found = theorems(verdicts)
    out = []
    for name in sorted(given & (listed | set(catalogue)) | (listed if whole else set())):
        own = [line for line in lines if line.kernel == name]
        wanted = frozenset().union(*(line.theorems for line in own))
        proved = {item for item in found if item.split()[0] == name}
        if wanted != proved:
            out.append(
                Mismatch(
                    name,
                    tuple(_written(name, wanted - proved)),
                    tuple(_written(name, proved - wanted)),
                    tuple(line.text for line in own),
                    tuple(_written(name, proved)),
                )
            )
    return out


def _written(kernel: str, proved: Iterable[str]) -> Iterable[str]:
    """Yield lines that list these theorems of a kernel; functions with the same theorems share
    one.
    """
    whats: dict[str, set[str]] = {}
    for item in proved:
        _, function, what = item.split()
        whats.setdefault(function, set()).add(what)
    groups: dict[tuple[str, ...], list[str]] = {}
    for function in (name for name in _functions() if name in whats):
        own = whats[function]
        order = [what for what in THEOREMS if what in own] + sorted(own - {*THEOREMS})
        groups.setdefault(tuple(order), []).append(function)
    for named, alike in groups.items():
        yield f"{kernel}: {' '.join(alike)} = {' '.join(named)}"


def _functions() -> dict[str, None]:
    """Return the names of all functions, family by family in the order of emission."""
    return dict.fromkeys(name for family in in_order() for name in family.functions())


def provable(entries: Mapping[str, Entry]) -> dict[str, Entry]:
    """Return the entries of families that the prover knows. A record must contain these."""
    return {name: e for name, e in entries.items() if e.family in claims()}

"""What is recorded as proved, PROOFS.json, and the hand-kept list of what must be, `EXPECTED`.

The record names every theorem and the bytes that it is about. It carries a hash of itself, so that
one that was edited or cut short is not read; who means to deceive can compute that hash too, and is
found out by `ghashgen prove`, which compares the record with what it has proved.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
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
from ghashgen.verify.prove import THEOREMS, FunctionProof

NAME = "PROOFS.json"
EXPECTED = Path("docs") / "expected-theorems.txt"
WRITE = "run ghashgen prove --write"


class _Record(msgspec.Struct, frozen=True):
    sha256: str
    proofs: tuple[Verdict, ...]


_FILE = Document(_Record, "is no list of proofs", WRITE)


def recorded(verdicts: Iterable[Verdict]) -> Any:
    """Return verdicts as data of a file, in the order given."""
    kept = [msgspec.structs.replace(verdict, report="") for verdict in verdicts]
    return json.loads(msgspec.json.encode(kept))


def _seal(proofs: Any) -> str:
    return sha256(json.dumps(proofs, ensure_ascii=False, sort_keys=True).encode())


def dump(verdicts: Iterable[Verdict]) -> str:
    """Return the text of PROOFS.json; seconds are those of the run that proved."""
    proofs = recorded(sorted(verdicts, key=lambda verdict: verdict.kernel))
    body = {"sha256": _seal(proofs), "proofs": proofs}
    return json.dumps(body, indent=1, ensure_ascii=False) + "\n"


def load(path: Path) -> tuple[Verdict, ...]:
    """Read PROOFS.json.

    Raises:
        GhashgenError: it is missing, is no record, or is not as it was written.
    """
    data = _FILE.content_of(path)
    record = _FILE.parse(data, str(path))
    # The hash is of all that the file says, whatever of it is read.
    if record.sha256 != _seal(json.loads(data)["proofs"]):
        raise GhashgenError(f"{path} is not as it was written: its hash differs", WRITE)
    return record.proofs


def require_fresh(path: Path, verdicts: Iterable[Verdict], entries: Mapping[str, Entry]) -> None:
    """Refuse a record that is not of the kernels, and of the code, that the manifest lists.

    Raises:
        GhashgenError: a kernel is in one of them only, or its code has another hash.
    """
    about = {verdict.kernel: verdict.text_sha256 for verdict in verdicts}
    _refuse_others(path, about, entries, about.keys() | entries.keys())


def unrecorded(
    path: Path, verdicts: Iterable[Verdict], entries: Mapping[str, Entry]
) -> tuple[str, ...]:
    """Return which kernels that the manifest lists the record says nothing of, by name.

    Nothing is proved of those, as far as is recorded, and whoever shows the record says so.

    Raises:
        GhashgenError: a recorded kernel is not listed, or its code has another hash.
    """
    about = {verdict.kernel: verdict.text_sha256 for verdict in verdicts}
    _refuse_others(path, about, entries, about.keys())
    return tuple(sorted(entries.keys() - about.keys()))


def _refuse_others(
    path: Path, about: Mapping[str, str], entries: Mapping[str, Entry], names: Iterable[str]
) -> None:
    """Refuse where record and manifest do not have the same code under one of these names."""
    listed = {name: entry.object.text_sha256 for name, entry in entries.items()}
    if other := sorted(name for name in names if about.get(name) != listed.get(name)):
        raise GhashgenError(
            f"{path} and MANIFEST.json differ on the code of {some(other)}: not proved", WRITE
        )


def require_same(path: Path, verdicts: Iterable[Verdict]) -> None:
    """Refuse a record that differs from these verdicts in more than the seconds they took.

    Raises:
        GhashgenError: as said, or `load` refuses the file.
    """
    then, now = (
        {proof["kernel"]: _timeless(proof) for proof in recorded(found)}
        for found in (load(path), verdicts)
    )
    names = then.keys() | now.keys()
    if other := sorted(name for name in names if then.get(name) != now.get(name)):
        raise GhashgenError(f"{path} is not what was proved now, of {some(other)}", WRITE)


def _timeless(item: Any) -> Any:
    if isinstance(item, dict):
        return {key: _timeless(value) for key, value in item.items() if key != "seconds"}
    return [_timeless(value) for value in item] if isinstance(item, list) else item


def some(names: Sequence[str]) -> str:
    """Return one name, or how many there are and the first."""
    return f"{len(names)} kernels, first {names[0]}" if len(names) > 1 else names[0]


def theorems(verdicts: Iterable[Verdict]) -> set[str]:
    """Return what was proved, one line a kernel, function and theorem."""
    return {
        f"{verdict.kernel} {_name(verdict, function)} {theorem.what}"
        for verdict in verdicts
        if verdict.proved
        for function in verdict.functions
        for theorem in function.theorems
    }


def _name(verdict: Verdict, function: FunctionProof) -> str:
    """Return a function's name: what its symbol has after the kernel's, whatever its prefix."""
    return function.symbol.rpartition(f"{verdict.kernel}_")[2]


@dataclass(frozen=True)
class _Line:
    text: str
    kernel: str
    theorems: frozenset[str]


def _lines(path: Path) -> list[_Line]:
    """Read the hand-kept list: `kernel: function function … = theorem theorem …` a line.

    Raises:
        GhashgenError: the file is missing or a line has no meaning.
    """
    out = []
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except OSError as error:
        raise GhashgenError(f"{path}: {error.strerror}", "restore it from the repository") from None
    for number, line in enumerate(lines, 1):
        text = line.partition("#")[0].strip()
        if not text:
            continue
        kernel, colon, rest = text.partition(":")
        functions, equals, whats = rest.partition("=")
        if not (colon and equals and functions.split() and whats.split()):
            raise GhashgenError(f"{path}:{number}: {line!r}", "write kernel: functions = theorems")
        named = {f"{kernel} {f} {what}" for f in functions.split() for what in whats.split()}
        out.append(_Line(line, kernel, frozenset(named)))
    return out


@dataclass(frozen=True)
class Mismatch:
    """One kernel of which the list says something else than was proved."""

    kernel: str
    lost: tuple[str, ...]
    """Listed and not proved, as lines of the list."""
    new: tuple[str, ...]
    """Proved and not listed."""
    take_out: tuple[str, ...]
    """Lines of the list about this kernel, if they are to become those of `add`."""
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

    A run speaks of the kernels that it was given; one that is neither of the catalogue nor listed
    need not be. Only a run of the `whole` catalogue finds what is listed of no kernel at all.
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
    """Yield the lines that list these theorems of a kernel, functions with the same ones in one."""
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
    """Return the entries of families that the prover knows: what a record must hold."""
    return {name: e for name, e in entries.items() if e.family in claims()}

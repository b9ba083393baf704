"""VENDORED, the record of a folder of vendored files: what made them, and how to check them.

All lines but the files' hashes begin with #, so `sha256sum --check VENDORED` can read it. The last
line is the hash of all lines before it; a record that was edited is not trusted.
"""

import re
import shlex
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from ghashgen.output.artefact import sha256
from ghashgen.output.folder import require_no_folders
from ghashgen.output.maker import Maker
from ghashgen.support.errors import GhashgenError

NAME = "VENDORED"

NO_BUILD_FILES = "--no-build-files"
"""The option that leaves out build files, for remedies."""

_RESTORE = "restore it from your repository, or move it away"
_SEAL = "# the lines above: sha256 "
_HASH = re.compile(r"([0-9a-f]{64})  (.+)")
_SAID = re.compile(r"# (version|sources|prover|host|options): (.*)")


@dataclass(frozen=True)
class Record:
    """The content of a folder's VENDORED."""

    maker: Maker
    host: str
    options: tuple[str, ...]
    """The options of `ghashgen vendor`: which kernels, made how."""
    files: Mapping[str, str]
    """SHA-256 of the other files, by path below the folder."""
    whole: bool = True
    """Whether the record is as it was written."""


def dump(record: Record, said: str) -> str:
    """Return the text of VENDORED; `said` is the part for human readers."""
    maker = record.maker
    values = {
        "version": maker.version,
        "sources": maker.sources,
        "prover": maker.prover,
        "host": record.host,
        "options": shlex.join(record.options),
    }
    told = re.sub(r"\n{3,}", "\n\n", said).strip()
    lines = [f"# {line}".rstrip() for line in told.splitlines()]
    lines += ["#", *(f"# {name}: {value}" for name, value in values.items()), "#"]
    lines += [f"{digest}  {name}" for name, digest in sorted(record.files.items())]
    text = "".join(f"{line}\n" for line in lines)
    return f"{text}{_SEAL}{sha256(text.encode())}\n"


def read(folder: Path) -> Record | None:
    """Return a folder's record, or None if it has none.

    Raises:
        GhashgenError: this program cannot have written the record.
    """
    path = folder / NAME
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is no text"
        raise GhashgenError(f"{path}: {why}", _RESTORE) from None
    body, mark, seal = text.rpartition(_SEAL)
    said = {m[1]: m[2] for m in map(_SAID.fullmatch, body.splitlines()) if m}
    files = {m[2]: m[1] for m in map(_HASH.fullmatch, body.splitlines()) if m}
    missing = {"version", "sources", "prover", "host", "options"} - said.keys()
    if not mark or missing or not all(map(_is_below, files)):
        raise GhashgenError(f"{path} is not a record of vendored files", _RESTORE)
    try:
        options = tuple(shlex.split(said["options"]))
    except ValueError as error:
        raise GhashgenError(
            f"{path}: options: {error}", "restore it from your repository"
        ) from None
    made_by = Maker(said["version"], said["sources"], said["prover"])
    whole = seal == f"{sha256(body.encode())}\n"
    return Record(made_by, said["host"], options, files, whole)


def _is_below(name: str) -> bool:
    path = PurePosixPath(name)
    return not path.is_absolute() and ".." not in path.parts and name != NAME


UNCHANGED, EDITED, MISSING = "unchanged", "edited by hand", "missing"


def states(folder: Path, record: Record, now: Maker) -> dict[str, str]:
    """Return for each file, by path below the folder, whether it is what `now` makes.

    It is if it is as it was written, by a version with the same sources. Different sources may make
    the same file too, but only writing it again would tell.
    """
    found = {}
    for name, digest in (*sorted(record.files.items()), (NAME, "")):
        path = folder / name
        then, here = record.maker, now
        if name != NAME:
            # What is proved appears only in VENDORED.
            then, here = _emitter(then), _emitter(here)
        edited = not record.whole if name == NAME else not is_as_written(path, digest)
        if not path.exists():
            found[name] = MISSING
        elif edited:
            found[name] = EDITED
        else:
            found[name] = UNCHANGED if then == here else _other(then, here)
    return found


def _emitter(maker: Maker) -> Maker:
    return Maker(maker.version, maker.sources, "")


def _other(then: Maker, now: Maker) -> str:
    if then.version == now.version:
        return f"other sources of version {then.version}"
    older = _numbers(then.version) < _numbers(now.version)
    return f"{'older' if older else 'newer'} version, {then.version}"


def _numbers(version: str) -> list[int]:
    return [int(number) for number in re.findall(r"\d+", version)]


def is_as_written(path: Path, digest: str) -> bool:
    """Return whether a file has this hash."""
    return path.is_file() and sha256(path.read_bytes()) == digest


def require_own(
    folder: Path,
    record: Record | None,
    files: Mapping[str, str],
    stale: Iterable[str],
    force: bool,
    spare: Collection[str] = (),
) -> None:
    """Refuse to overwrite or remove files that no record lists.

    Files that already have their new content are skipped, so that the next run can finish one that
    was cut off. With `force` only a folder in a file's place is refused. `spare` are the build
    files, which an option leaves out.

    Raises:
        GhashgenError: names the first file that was edited, or all that are others'.
    """
    require_no_folders(folder, (*files, *stale, NAME))
    if force:
        return
    vouched = record.files if record else {}
    if record is not None and not record.whole:
        raise _edited(folder / NAME)
    others = []
    for name in (*files, *stale):
        path = folder / name
        if not path.exists() or is_as_written(path, vouched.get(name, "")):
            continue
        if name in files and is_as_written(path, sha256(files[name].encode())):
            continue
        if name in vouched:
            raise _edited(path)
        others.append(name)
    if others:
        raise _foreign(folder, others, spare)


def _foreign(folder: Path, names: Sequence[str], spare: Collection[str]) -> GhashgenError:
    where = folder / names[0] if len(names) == 1 else f"{', '.join(names)} in {folder}"
    is_there, it = ("exists", "it") if len(names) == 1 else ("exist", "them")
    without = "" if {*names} - {*spare} else f"leave out ours with {NO_BUILD_FILES}, "
    return GhashgenError(
        f"{where} {is_there} and {NAME} does not list {it}",
        f"{without}move {it} away, vendor into another folder, or pass --force to overwrite {it}",
    )


def _edited(path: Path) -> GhashgenError:
    return GhashgenError(
        f"{path} was edited by hand: it differs from {NAME}",
        "keep your change elsewhere, or pass --force to overwrite it",
    )

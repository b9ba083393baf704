"""Fetches a Debian source package, with lists of its own: the system's files stay as they are."""

import os
import re
import shutil
from pathlib import Path

from ghashgen.run.commands import do, ends_well, outputs, require_programs
from ghashgen.support.errors import GhashgenError

_ETC = Path("/etc/apt")
_OTHERWISE = "give the sources: --source PATH"


def source_of(package: str, scratch: Path, log: Path) -> tuple[Path, str]:
    """Return the folder of a package's sources, patched as Debian builds it, and its version.

    The system's list of archives, read for sources instead of programs, says where from.

    Raises:
        GhashgenError: there is no apt-get or no such package, or it cannot be fetched.
    """
    if shutil.which("apt-get") is None:
        raise GhashgenError("apt-get not found", _OTHERWISE)
    require_programs({"dpkg-source": "dpkg-dev"})
    lists = scratch / "lists"
    for folder in (lists / "parts", lists / "state" / "partial", lists / "cache"):
        folder.mkdir(parents=True)
    for path in (_ETC / "sources.list", *sorted((_ETC / "sources.list.d").glob("*"))):
        if path.is_file() and path.suffix in (".list", ".sources"):
            (lists / "parts" / path.name).write_text(_for_sources(path), encoding="utf-8")
    apt = [
        "apt-get",
        *("-o", "Dir::Etc::sourcelist=/dev/null", "-o", f"Dir::Etc::sourceparts={lists}/parts"),
        *("-o", f"Dir::State::lists={lists}/state", "-o", f"Dir::Cache={lists}/cache"),
        *("-o", "APT::Sandbox::User=root" if os.geteuid() == 0 else "APT::Get::List-Cleanup=0"),
    ]
    # One archive may have no sources; then the others serve.
    ends_well([*apt, "update"], scratch, log)
    # An archive's newest version may be gone before its list says so; then an older one serves.
    listed = outputs(["apt-cache", *apt[1:], "madison", package], scratch)[0]
    every = [f"{package}={line.split('|')[1].strip()}" for line in listed.splitlines()]
    if not any(ends_well([*apt, "source", name], scratch, log) for name in (package, *every)):
        do([*apt, "source", package], scratch, log, f"{_OTHERWISE}; {log} has more")
    folders = [each for each in scratch.glob(f"{package}-*") if each.is_dir()]
    versions = [each.stem.partition("_")[2] for each in scratch.glob(f"{package}_*.dsc")]
    if len(folders) != 1 or len(versions) != 1:
        raise GhashgenError(f"apt-get source {package} unpacked no sources", _OTHERWISE)
    return folders[0], versions[0]


def _for_sources(path: Path) -> str:
    text = path.read_text(encoding="utf-8", errors="replace")
    if path.suffix == ".sources":
        return re.sub(r"(?m)^Types:.*$", "Types: deb-src", text)
    return re.sub(r"(?m)^deb\s", "deb-src ", text)

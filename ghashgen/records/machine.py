"""The machine and the sources of a measurement."""

import os
import platform
import subprocess
from collections.abc import Iterable
from pathlib import Path

from ghashgen.records.cpus import slug_of
from ghashgen.support.paths import in_clone, project_root


def cpu_model() -> str:
    """Return the CPU's model name, or the architecture if the system does not say."""
    fields = cpuinfo()
    name = fields.get("model name", platform.machine())
    place = [f"{key} {fields[key]}" for key in ("cpu family", "model", "stepping") if key in fields]
    return f"{name} ({', '.join(place)})" if place else name


def cpu_slug(features: Iterable[str] = ()) -> str:
    """Return the name of this CPU's records, such as intel-6-85-7 or amd-26-2-1; see `slug_of`."""
    return slug_of(cpu_model(), cpuinfo().get("vendor_id", platform.machine()), features)


def cpuinfo() -> dict[str, str]:
    """Return the system's description of the first CPU; empty if there is none."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return {}
    pairs = [line.partition(":") for line in reversed(lines)]
    return {key.strip(): value.strip() for key, _, value in pairs}


def git_commit() -> str:
    """Return the short commit of the sources, with + if the tree has changes; "" outside a
    clone.
    """
    # An installed or unpacked package may lie in another project's repository.
    if not (in_clone() and (project_root() / ".git").exists()):
        return ""
    commit = _git("rev-parse", "--short=12", "HEAD")
    if not commit:
        return ""
    return commit + ("+" if _git("status", "--porcelain", "--untracked-files=no") else "")


def _git(*arguments: str) -> str:
    try:
        answer = subprocess.run(
            ["git", *arguments],
            cwd=project_root(),
            env={**os.environ, "LC_ALL": "C"},
            capture_output=True,
            text=True,
            timeout=30,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return answer.stdout.strip() if answer.returncode == 0 else ""

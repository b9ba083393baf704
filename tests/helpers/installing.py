"""Copies of the project, in a folder of their own, its requirements, and every verb in its quickest
form.
"""

import os
import re
import shutil
import subprocess
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path

ROOT = Path(__file__).parents[2]

TOML = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
PROJECT, BUILD = TOML["project"], TOML["build-system"]
OPTIONAL = PROJECT["optional-dependencies"]

SMALL = "ghash_sse_k_clmul1_x1"
"""The kernel that the verbs are tried with."""

QUICKEST: Mapping[str, str] = {
    "attack": f"--part mutants --name {SMALL} --count 2 --keep found",
    "audit": f"--name {SMALL}",
    "bench": f"--name {SMALL} --quick --sizes 16 --mode throughput",
    "bench-tool": "",
    "compare": "solaris --quick --sizes 16",
    "doctor": "",
    "generate": f"--name {SMALL} --out kernels",
    "list": f"--name {SMALL}",
    "model": "",
    "prove": f"--name {SMALL}",
    "prove-object": f"kernel.o --name {SMALL}",
    "recommend": "--cpu avx,pclmulqdq",
    "report": "--kernels kernels --out page",
    "summary": "",
    "tune": f"--name {SMALL} --finalists 1",
    "validate": f"--name {SMALL}",
    "vendor": f"--name {SMALL} --into vendored",
}
"""For each verb, its words; they write below the working folder. `generate` makes what
`prove-object` and `report` read."""

ORDER = ("generate", *(verb for verb in QUICKEST if verb != "generate"))

CUT = f"""
import sys
from ghashgen.cli import main as cli
from ghashgen.kernels import selection
from ghashgen.kernels.hash import catalogue
kernels = tuple(kernel for kernel in selection.catalogue() if kernel.name == {SMALL!r})
catalogue.catalogue = selection.catalogue = lambda: kernels
if sys.argv[1] == "model":
    from ghashgen.cli.verbs import model
    names = ({SMALL!r}, "gcm128_sse_k_clmul1_x8_short")
    model.OURS = [
        (kind, selection.Choice(name=(name,)))
        for (kind, _), name in zip(model.OURS, names, strict=True)
    ]
cli.main()
"""
"""The command line with one kernel of each family that a verb takes the whole of; of a family
without one, kernels would be made."""

WHOLE = ("bench-tool", "model")

SLOW = ("model", "summary", "tune")
"""Verbs that take seconds even so."""

IGNORED = (".git", ".venv", "build", "__pycache__", "*.egg-info", ".*_cache", ".hypothesis")
"""What .gitignore keeps out of a clone, and git's own folder: a tree need not have it."""


def copy_of_the_project(folder: Path, without: Sequence[str] = ()) -> Path:
    """Copy what a clone holds, as far as it is told without git, and return the folder."""
    ignored = shutil.ignore_patterns(*IGNORED, *without)
    shutil.copytree(ROOT, folder, ignore=ignored, symlinks=True)
    return folder


def call(
    verb: str, python: Sequence[str | Path], cwd: Path, env: Mapping[str, str]
) -> subprocess.CompletedProcess[str]:
    """Run a verb in its quickest form; `env` holds what differs from this environment."""
    program = ("-c", CUT) if verb in WHOLE else ("-m", "ghashgen")
    return run([*python, *program, verb, *QUICKEST[verb].split()], cwd, env)


def run(
    words: Sequence[str | Path], cwd: Path, env: Mapping[str, str]
) -> subprocess.CompletedProcess[str]:
    """Run a program with nothing of this project in its environment."""
    ours = ("PYTHONPATH", "GHASHGEN_CACHE", "XDG_CACHE_HOME")
    kept = {name: value for name, value in os.environ.items() if name not in ours}
    return subprocess.run(
        [str(word) for word in words],
        cwd=cwd,
        env={**kept, **env},
        capture_output=True,
        text=True,
        check=False,
    )


def files_below(folder: Path) -> set[str]:
    """Return the files below a folder, by their path there."""
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}


def name_of(requirement: str) -> str:
    """Return the name of a requirement's package, without version, extras and marker."""
    found = re.match(r"[\w.-]+", requirement)
    assert found is not None
    return found[0]

"""Runs the commands of another project's build, and keeps what they say in a file."""

import os
import shutil
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from ghashgen.support.errors import GhashgenError
from ghashgen.support.toolchain import first_error

_SECONDS = 3600


def require_programs(programs: Mapping[str, str]) -> None:
    """Refuse if one of these programs is missing; each has its Debian package.

    Raises:
        GhashgenError: names the first.
    """
    for program, package in programs.items():
        if shutil.which(program) is None:
            raise GhashgenError(f"{program} not found", f"install it: apt-get install {package}")


def ends_well(command: str | Sequence[str], cwd: Path, log: Path) -> bool:
    """Run a command, a line for a shell or words, and add what it says to a file.

    Return whether its exit status is 0.

    Raises:
        GhashgenError: it cannot be started, or does not end.
    """
    try:
        with log.open("a", encoding="utf-8") as out:
            out.write(f"$ {command if isinstance(command, str) else ' '.join(command)}\n")
            out.flush()
            done = subprocess.run(
                command,
                shell=isinstance(command, str),
                cwd=cwd,
                env=_environment(),
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=subprocess.STDOUT,
                timeout=_SECONDS,
                check=False,
            )
    except subprocess.TimeoutExpired:
        raise GhashgenError(f"{command} did not end in {_SECONDS} s", f"see {log}") from None
    except OSError as error:
        raise GhashgenError(f"{command} cannot be run: {error.strerror}", f"see {log}") from None
    return done.returncode == 0


def _environment() -> dict[str, str]:
    """Return the environment, without what a make around this one leaves for its own makes."""
    own = ("MAKEFLAGS", "MFLAGS", "MAKELEVEL")
    return {name: v for name, v in os.environ.items() if name not in own} | {"LC_ALL": "C"}


def do(command: str | Sequence[str], cwd: Path, log: Path, remedy: str = "") -> None:
    """Run a command as `ends_well`.

    Raises:
        GhashgenError: as `ends_well`; or it fails: with the first error that it reports.
    """
    start = log.stat().st_size if log.exists() else 0
    if not ends_well(command, cwd, log):
        said = log.read_bytes()[start:].decode(errors="replace").partition("\n")[2]
        name = command if isinstance(command, str) else command[0]
        raise GhashgenError(
            f"{name} failed: {first_error(said) or 'it says nothing'}", remedy or f"see {log}"
        )


def outputs(command: str | Sequence[str], cwd: Path) -> tuple[str, str]:
    """Return what a command, as of `ends_well`, writes to its standard output and standard error.

    Raises:
        GhashgenError: it fails.
    """
    done = subprocess.run(
        command,
        shell=isinstance(command, str),
        cwd=cwd,
        capture_output=True,
        text=True,
        errors="replace",
        check=False,
    )
    if done.returncode != 0:
        said = first_error(done.stderr) or f"exit status {done.returncode}"
        name = command if isinstance(command, str) else Path(command[0]).name
        raise GhashgenError(f"{name} failed: {said}", "report this")
    return done.stdout, done.stderr


def lines_of(log: Path) -> Iterable[str]:
    """Return the lines that commands have written to a file."""
    return log.read_text(encoding="utf-8", errors="replace").splitlines()
